import { execFile } from "node:child_process";
import { wordsOf } from "../../../window/deeds/command-lines.js";
import type { Deed } from "../../../window/deeds/deed.js";
import type { WindowAction } from "../../../window/wire.js";
import { programPath } from "../program-path.js";

/** Milliseconds that a command may take. */
const PATIENCE = 300_000;
/** Characters of what it prints. */
const MOST = 4 * 1024 * 1024;
/** Programs that run at a time. */
const AT_A_TIME = 4;

const PROGRAMS = ["compute-cluster", "compute-agent"] as const;

/** Does what is asked for on the page by running the commands that the page shows for it. */
export class CommandDeeds {
  #running = 0;

  /**
   * Something that is done by the commands of its action, one after the other.
   * @param found codes with which they end, besides 0, when they have done what they were asked
   */
  deed(action: WindowAction, found: readonly number[] = []): Deed {
    return {
      action,
      run: async (body) => {
        const lines: string[] = [];
        for (const command of action.commands) {
          lines.push(...(await this.#run(wordsOf(command, body), found)));
        }
        return { lines };
      },
    };
  }

  async #run([name, ...args]: readonly string[], found: readonly number[]): Promise<readonly string[]> {
    const program = PROGRAMS.find((each) => each === name);
    if (program === undefined) {
      throw new Error(`${name} is no program of this package`);
    }
    if (this.#running >= AT_A_TIME) {
      throw new Error(`${AT_A_TIME} commands run already: try again when one has ended`);
    }
    this.#running += 1;
    try {
      return await output([programPath(program), ...args], found);
    } finally {
      this.#running -= 1;
    }
  }
}

function output(args: readonly string[], found: readonly number[]): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const options = { timeout: PATIENCE, maxBuffer: MOST };
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
