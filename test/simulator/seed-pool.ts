import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SimulateOptions } from "./options.js";
import type { SeedResult } from "./seed-result.js";

const WORKER = fileURLToPath(new URL("./worker.js", import.meta.url));

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
  const children = new Set<ChildProcess>();
  const stop = () => {
    for (const child of children) {
      child.kill("SIGKILL");
    }
  };
  process.once("exit", stop);
  await Promise.all(
    Array.from({ length: Math.min(options.jobs, options.seeds) }, async () => {
      let child = start(children);
      for (let done = 1; next <= last && !ended(); done += 1) {
        const seed = next;
        next += 1;
        onResult(await ask(child, seed, options));
        if (done % SEEDS_A_PROCESS === 0) {
          end(child, children);
          child = start(children);
        }
      }
      end(child, children);
    }),
  );
  process.off("exit", stop);
}

function start(children: Set<ChildProcess>): ChildProcess {
  const child = fork(WORKER, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  children.add(child);
  return child;
}

function end(child: ChildProcess, children: Set<ChildProcess>): void {
  children.delete(child);
  child.kill();
}

function ask(child: ChildProcess, seed: number, options: SimulateOptions): Promise<SeedResult> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) =>
      reject(new Error(`the process that simulated seed ${seed} ended with ${code}`));
    child.once("exit", onExit);
    child.once("message", (answer: SeedResult | { readonly failed: string }) => {
      child.off("exit", onExit);
      if ("failed" in answer) {
        reject(new Error(`seed ${seed}: ${answer.failed}`));
      } else {
        resolve(answer);
      }
    });
    child.send({ seed, options });
  });
}
