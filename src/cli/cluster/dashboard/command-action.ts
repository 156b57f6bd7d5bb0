import { execFile, spawn } from "node:child_process";
import { type RunnableAction, wordsOf } from "../../../dashboard/actions.js";
import type { DashboardAction } from "../../../dashboard/wire/messages.js";
import { programPath } from "../own-programs.js";

/** Milliseconds that a command may take. */
const COMMAND_TIMEOUT_MS = 300_000;
/** Characters of what it prints. */
const MAX_OUTPUT_CHARS = 4 * 1024 * 1024;
/** Programs that run at a time. */
const AT_A_TIME = 4;

const PROGRAMS = ["compute-cluster", "compute-agent"] as const;

/** Does what is asked for on the page by running the commands that the page shows for it. */
export class CommandActions {
  readonly #end = new AbortController();
  #running = 0;

  /** Something that is done by the commands of its action, one after the other. */
  toRunnable(action: DashboardAction): RunnableAction {
    return {
      action,
      run: async (body) => {
        const lines: string[] = [];
        for (const command of action.commands) {
          lines.push(...(await this.run(wordsOf(command, body), [])));
        }
        return { lines };
      },
    };
  }

  /** Something that ends this process: its command goes on alone, and nobody waits for it. */
  farewell(action: DashboardAction): RunnableAction {
    return {
      action,
      run: async (body) => {
        for (const command of action.commands) {
          const child = spawn(process.execPath, argumentsOf(wordsOf(command, body)), {
            detached: true,
            stdio: "ignore",
          });
          child.on("error", () => undefined);
          child.unref();
        }
        return { lines: ["the cluster starts again; compute-cluster open begins another session then"] };
      },
    };
  }

  /**
   * @param found codes with which it ends, besides 0, when it has done what it was asked
   * @returns the lines that it has printed. @throws {Error} what it has complained of
   */
  async run(words: readonly string[], found: readonly number[]): Promise<readonly string[]> {
    if (this.#running >= AT_A_TIME) {
      throw new Error(`${AT_A_TIME} commands run already: try again when one has ended`);
    }
    this.#running += 1;
    try {
      return await output(argumentsOf(words), found, this.#end.signal);
    } finally {
      this.#running -= 1;
    }
  }

  /** Ends the commands that run: they would wait for a control plane that waits for them. */
  close(): void {
    this.#end.abort();
  }
}

function argumentsOf([name, ...args]: readonly string[]): readonly string[] {
  const program = PROGRAMS.find((each) => each === name);
  if (program === undefined) {
    throw new Error(`${name} is no program of this package`);
  }
  return [programPath(program), ...args];
}

function output(args: readonly string[], found: readonly number[], signal: AbortSignal): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const options = { timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_CHARS, signal };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code);
      if (code === 0 || found.includes(code)) {
        resolve(stdout.trimEnd().split("\n"));
      } else {
        reject(new Error((stderr.trim() || stdout.trim() || String(error)).slice(-2_000)));
      }
    });
  });
}
