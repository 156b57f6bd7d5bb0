import type { SeedOptions } from "./options.js";
import type { SeedResult } from "./seed-result.js";
import { SeedWorker } from "./seed-worker.js";

/** A seed, and how it is simulated. */
export interface SeedTask {
  readonly seed: number;
  readonly options: SeedOptions;
}

/** Seeds that a process simulates before another takes its place: what one leaves in memory stays small. */
const SEEDS_A_PROCESS = 100;

/** Gives seeds to processes, the next one to each that is free, until there are no more or `ended` says so. */
export async function runSeeds(
  tasks: Iterable<SeedTask>,
  jobs: number,
  ended: () => boolean,
  onResult: (result: SeedResult) => void,
): Promise<void> {
  const left = tasks[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: jobs }, async () => {
      let worker = new SeedWorker();
      for (let done = 1; !ended(); done += 1) {
        const next = left.next();
        if (next.done) {
          break;
        }
        onResult(await worker.simulate(next.value.seed, next.value.options));
        if (done % SEEDS_A_PROCESS === 0) {
          worker.end();
          worker = new SeedWorker();
        }
      }
      worker.end();
    }),
  );
}
