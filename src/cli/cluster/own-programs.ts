import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * Returns the path of a program of this package, for starting it as a process. It is beside this folder in the source and in
 * the build.
 */
export function programPath(name: "compute-cluster" | "compute-agent"): string {
  return fileURLToPath(new URL(`../${name}.js`, import.meta.url));
}

/** Timeout of a command, in milliseconds. */
const COMMAND_TIMEOUT_MS = 600_000;

/** Maximum characters of a command's output in a reason. */
const MAX_OUTPUT_CHARS = 2_000;

/** Runs `compute-cluster`. @returns the reason if it did not end with the expected code; undefined on success */
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
