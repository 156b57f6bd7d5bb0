import type { SimulateOptions } from "./options.js";
import type { SeedResult } from "./seed-result.js";
import { SeedWorker } from "./seed-worker.js";

/** Seeds that a process simulates before another takes its place: what one leaves in memory stays small. */
const SEEDS_A_PROCESS = 100;

/** Gives seeds to processes, the next one to each that is free, until there are no more or `ended` says so. */
export async function runSeeds(
  options: SimulateOptions,
  ended: () => boolean,
  onResult: (result: SeedResult) => void,
): Promise<void> {
  let next = options.seed;
  const last = options.seed + options.seeds - 1;
  await Promise.all(
    Array.from({ length: Math.min(options.jobs, options.seeds) }, async () => {
      let worker = new SeedWorker();
      for (let done = 1; next <= last && !ended(); done += 1) {
        const seed = next;
        next += 1;
        onResult(await worker.simulate(seed, options));
        if (done % SEEDS_A_PROCESS === 0) {
          worker.end();
          worker = new SeedWorker();
        }
      }
      worker.end();
    }),
  );
}
