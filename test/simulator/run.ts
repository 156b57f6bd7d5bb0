import { cpus } from "node:os";
import { CORPUS_FILE, readCorpus } from "./corpus/corpus-file.js";
import { readOptions, type SimulateOptions, USAGE } from "./options.js";
import { readPlanFile } from "./plan-file.js";
import { describeFailure, Tally } from "./report.js";
import { runPlan } from "./run-seed.js";
import { runSeeds, type SeedTask } from "./seed-pool.js";

const out = (text: string) => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    out(USAGE);
    return 0;
  }
  let options: SimulateOptions;
  try {
    options = readOptions(args, { drawn: Math.floor(Math.random() * 1e9), cores: cpus().length });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
    return 2;
  }
  return options.replay === null ? search(options) : replay(options.replay, options);
}

async function search(options: SimulateOptions): Promise<number> {
  const tally = new Tally();
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  if (!options.json) {
    const which = options.corpus ? "the corpus" : `from seed ${options.seed}, profile ${options.profile}`;
    out(`Simulating ${which}, ${options.jobs} processes`);
  }
  let reportedAt = 0;
  const ended = () => options.limit !== null && performance.now() - began > options.limit;
  const tasks = options.corpus ? corpusTasks(options) : seedsOf(options);
  await runSeeds(tasks, Math.min(options.jobs, options.seeds), ended, (result) => {
    tally.add(result);
    if (options.json) {
      out(JSON.stringify(result));
    } else if (result.breaches.length > 0) {
      out(describeFailure(result));
    } else if (process.stdout.isTTY) {
      process.stdout.write(`\r${tally.progress()}, ${seconds().toFixed(0)} s\x1b[K`);
    } else if (seconds() > reportedAt + 30) {
      reportedAt = seconds();
      out(`${tally.progress()}, ${reportedAt.toFixed(0)} s`);
    }
  });
  if (!options.json) {
    out(`${process.stdout.isTTY ? "\r\x1b[K" : ""}${tally.summary(seconds())}`);
  }
  return tally.failed === 0 ? 0 : 1;
}

function* seedsOf(options: SimulateOptions): Generator<SeedTask> {
  for (let seed = options.seed; seed < options.seed + options.seeds; seed += 1) {
    yield { seed, options };
  }
}

function corpusTasks(options: SimulateOptions): readonly SeedTask[] {
  const { duration, seeds } = readCorpus(CORPUS_FILE);
  return seeds.map(({ seed, profile }) => ({ seed, options: { ...options, duration, profile } }));
}

async function replay(path: string, options: SimulateOptions): Promise<number> {
  const { plan, hash, rule } = readPlanFile(path);
  const result = await runPlan(Number(plan.seed), plan, options, () => performance.now());
  if (result.breaches.length > 0) {
    out(describeFailure(result));
  }
  if (!options.shrink && result.hash !== hash) {
    out(
      `The trace is ${result.hash}; when the file was written it was ${hash}, and the rule ${rule}: the program has changed`,
    );
  } else {
    out(`The trace is ${result.hash}; ${result.breaches.length} rules broken`);
  }
  return result.breaches.length === 0 ? 0 : 1;
}

const SUBCOMMANDS = new Map([
  ["choose-corpus", "./corpus/pick.js"],
  ["planted", "./planted/run.js"],
]);

const subcommand = SUBCOMMANDS.get(process.argv[2] ?? "");
if (subcommand === undefined) {
  process.exitCode = await main(process.argv.slice(2));
} else {
  process.argv.splice(2, 1);
  await import(subcommand);
}
