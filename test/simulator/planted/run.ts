import { cpus } from "node:os";
import { Hunt } from "./hunt.js";
import { type PlantedOptions, readPlantedOptions, USAGE } from "./options.js";
import { type Plant, plantedBugs, plantedMutants } from "./plant.js";
import { PlantedBuild } from "./planted-build.js";
import { HEADER, type PlantedResult, passed, row, summary } from "./report.js";

/** The project's folder; this file is in `dist/test/simulator/planted`. */
const ROOT = new URL("../../../../", import.meta.url);
const HOUR = 3_600_000;

const out = (text: string) => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    out(USAGE);
    return 0;
  }
  let options: PlantedOptions;
  try {
    options = readPlantedOptions(args, cpus().length);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
    return 2;
  }
  const plants = chosen(options);
  if (plants.length === 0) {
    process.stderr.write(`--only ${options.only.join(", ")}: there is no such bug\n`);
    return 2;
  }
  return plantAll(plants, options);
}

function chosen({ only, mutants, draw }: PlantedOptions): readonly Plant[] {
  const all = [...plantedBugs(ROOT), ...plantedMutants(ROOT, mutants, draw)];
  return all.filter(({ name }) => only.length === 0 || only.some((beginning) => name.startsWith(beginning)));
}

async function plantAll(plants: readonly Plant[], options: PlantedOptions): Promise<number> {
  const results: PlantedResult[] = [];
  if (!options.json) {
    out(HEADER);
  }
  for (const plant of plants) {
    showProgress(`${plant.name}: ${plant.what}`);
    const result = await find(plant, options);
    showProgress("");
    results.push(result);
    out(options.json ? JSON.stringify(result) : row(result));
  }
  if (!options.json) {
    out(summary(results));
  }
  return passed(results) ? 0 : 1;
}

async function find(plant: Plant, { hunt: how, keep }: PlantedOptions): Promise<PlantedResult> {
  const build = new PlantedBuild(ROOT, plant);
  const each = { ...how.each, profile: plant.profile ?? how.each.profile };
  const hunt = new Hunt({ worker: build.worker, quirks: plant.quirks }, { ...how, each });
  try {
    await hunt.run();
  } finally {
    if (!keep) {
      build.remove();
    }
  }
  const { name, what, known } = plant;
  const { seeds, virtualTime, processorTime, found, own } = hunt;
  const seconds = processorTime / 1000;
  return { name, what, known, seeds, virtualHours: virtualTime / HOUR, seconds, found, own };
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) {
    process.stderr.write(`\r\x1b[K${text.slice(0, 79)}`);
  }
}

process.exitCode = await main(process.argv.slice(2));
