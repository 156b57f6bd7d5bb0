import { execFile, spawn } from "node:child_process";
import { type RunnableAction, wordsOf } from "../../../dashboard/actions.js";
import type { ActionField, DashboardAction } from "../../../dashboard/wire/messages.js";
import { programPath } from "../own-programs.js";

/** Timeout of a command, in milliseconds. */
const COMMAND_TIMEOUT_MS = 300_000;
/** Maximum characters of a command's output. */
const MAX_OUTPUT_CHARS = 4 * 1024 * 1024;
/** Maximum number of programs that run concurrently. */
const AT_A_TIME = 4;

const PROGRAMS = ["compute-cluster", "compute-agent"] as const;

/** An action that runs a command. */
export interface CommandRow extends Pick<DashboardAction, "name" | "subject" | "label" | "summary" | "requires"> {
  /** Arguments of `compute-cluster`, without those that select the cluster. */
  readonly command: string;
  readonly fields?: readonly ActionField[];
  readonly destructive?: boolean;
  /** The command restarts the cluster, and thereby ends this process. */
  readonly restarts?: boolean;
}

/** Performs actions of the dashboard by running the commands that it displays for them. */
export class CommandActions {
  readonly #end = new AbortController();
  #running = 0;

  /** Creates an action that runs its commands one after the other. */
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

  /** Creates an action that ends this process: its command runs detached, without a result. */
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
        return { lines: ["the cluster restarts; run compute-agent open for a new session"] };
      },
    };
  }

  /**
   * @param found exit codes besides 0 that count as success
   * @returns the lines that the command printed
   * @throws {Error} the command failed; the message is its error output
   */
  async run(words: readonly string[], found: readonly number[]): Promise<readonly string[]> {
    if (this.#running >= AT_A_TIME) {
      throw new Error(`${AT_A_TIME} commands are already running; try again when one has ended`);
    }
    this.#running += 1;
    try {
      return await output(argumentsOf(words), found, this.#end.signal);
    } finally {
      this.#running -= 1;
    }
  }

  /** Ends running commands: they would wait for the control plane, which waits for them. */
  close(): void {
    this.#end.abort();
  }
}

function argumentsOf([name, ...args]: readonly string[]): readonly string[] {
  const program = PROGRAMS.find((each) => each === name);
  if (program === undefined) {
    throw new Error(`${name} is not a program of this package`);
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
