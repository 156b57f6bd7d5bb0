import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { parseInteger } from "../options.js";
import { blockRealIo } from "../real-io.js";
import { runSeed } from "../run-seed.js";
import { type Candidate, choose } from "./choose.js";
import { CORPUS_FILE, type Corpus, type CorpusSeed } from "./corpus-file.js";
import { CoverageMeter } from "./coverage.js";

const USAGE = `npm run simulate choose-corpus -- [--seed N] [--seeds COUNT] [--seconds S]

Simulates seeds of each profile in turn, and writes those to test/simulator/corpus/corpus.json that run most of the product's code.

  --seed N        the first seed; default 1
  --seeds COUNT   how many; default 200
  --seconds S     what the chosen ones may take of one core; default 60`;

/** Without `large`, which costs more than it covers. */
const FROM = ["swarm", "metal", "swarm", "storm"];

/** Virtual milliseconds. */
const DURATION = 600_000;

const { now } = performance;
const real = now.bind(performance);
const out = (text: string) => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      seeds: { type: "string", default: "200" },
      seconds: { type: "string", default: "60" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    out(USAGE);
    return 0;
  }
  const first = parseInteger("seed", values.seed, 0);
  const candidates = await measure(first, parseInteger("seeds", values.seeds, 1));
  const { chosen, blocks, all } = choose(candidates, parseInteger("seconds", values.seconds, 1) * 1000);
  const corpus: Corpus = { duration: DURATION, seeds: chosen };
  writeFileSync(CORPUS_FILE, `${JSON.stringify(corpus, null, 2)}\n`);
  out(`${chosen.length} of ${candidates.length} seeds run ${blocks} of ${all} blocks`);
  return 0;
}

async function measure(first: number, count: number): Promise<readonly Candidate<CorpusSeed>[]> {
  blockRealIo();
  const meter = new CoverageMeter(new URL("../../../", import.meta.url));
  await meter.start();
  const candidates: Candidate<CorpusSeed>[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const profile = FROM[seed % FROM.length] ?? "swarm";
    const options = { duration: DURATION, profile, shrink: false, out: tmpdir() };
    const { processorTime, breaches } = await runSeed(seed, options, real);
    const coverage = await meter.take();
    const [broken] = breaches;
    out(`seed ${seed}, ${profile}: ${(processorTime / 1000).toFixed(1)} s${broken ? `, breaks "${broken.rule}"` : ""}`);
    // A seed with a known failure would fail for all developers.
    if (broken === undefined) {
      candidates.push({ of: { seed, profile }, cost: processorTime, coverage });
    }
  }
  return candidates;
}

process.exitCode = await main();
