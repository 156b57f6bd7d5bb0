import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SeedOptions } from "./options.js";
import type { SeedResult } from "./seed-result.js";

/**
 * A simulation creates many short-lived objects and runs all its code in each seed. V8 must neither collect garbage
 * often nor discard compiled code.
 */
const V8_OPTIONS = ["--min-semi-space-size=64", "--max-semi-space-size=64", "--no-flush-bytecode"];

/** A process that simulates one seed after another. */
export class SeedWorker {
  readonly #child: ChildProcess;
  readonly #end = (): void => this.end();

  /** @param program the worker of another build */
  constructor(program: URL = new URL("./worker.js", import.meta.url)) {
    this.#child = fork(fileURLToPath(program), {
      execArgv: V8_OPTIONS,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    process.once("exit", this.#end);
  }

  /** @throws {Error} if the process ends before the result */
  simulate(seed: number, options: SeedOptions): Promise<SeedResult> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) =>
        reject(new Error(`the process that simulated seed ${seed} ended with ${code}`));
      child.once("exit", onExit);
      child.once("message", (reply: SeedResult | { readonly failed: string }) => {
        child.off("exit", onExit);
        if ("failed" in reply) {
          reject(new Error(`seed ${seed}: ${reply.failed}`));
        } else {
          resolve(reply);
        }
      });
      child.send({ seed, options });
    });
  }

  end(): void {
    process.off("exit", this.#end);
    this.#child.kill("SIGKILL");
  }
}
