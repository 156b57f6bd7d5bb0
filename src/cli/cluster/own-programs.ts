import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The program of this package, to be started as a process: beside this folder in the source and in what was built of it. */
export function programPath(name: "compute-cluster" | "compute-agent"): string {
  return fileURLToPath(new URL(`../${name}.js`, import.meta.url));
}

/** Milliseconds that a command may take. */
const COMMAND_TIMEOUT_MS = 600_000;

/** Characters of what a command printed that a reason has. */
const MAX_OUTPUT_CHARS = 2_000;

/** Runs `compute-cluster`. @returns why it did not end with the expected code; undefined: it did */
export function runOurs(args: readonly string[], signal?: AbortSignal, expect = 0): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [programPath("compute-cluster"), ...args],
      { timeout: COMMAND_TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024, ...(signal === undefined ? {} : { signal }) },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code;
        const output = `${stdout}${stderr}`.trim().slice(-MAX_OUTPUT_CHARS);
        resolve(code === expect ? undefined : `ended with ${code ?? error?.signal}, expected ${expect}: ${output}`);
      },
    );
  });
}
