import type { SeedOptions } from "./options.js";
import type { SeedResult } from "./seed-result.js";
import { SeedWorker } from "./seed-worker.js";

/** A seed and its options. */
export interface SeedTask {
  readonly seed: number;
  readonly options: SeedOptions;
}

/** The number of seeds after which a process is replaced, to limit its memory. */
const SEEDS_A_PROCESS = 100;

/**
 * Distributes seeds to processes, the next one to each idle process, until there are no more or `ended` returns true.
 */
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
