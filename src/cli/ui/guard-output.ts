import { ExitCode } from "./exit-code.js";

/**
 * Lets a command go on whose output nobody reads any more, as in `... --help | head -1`. Output that cannot be written for
 * another reason is told, and makes the command fail: somebody waits for it.
 */
export function guardOutput(program: string): void {
  let lost = false;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || lost) {
      return;
    }
    lost = true;
    process.stderr.write(`${program}: the output cannot be written: ${error.message}\n`);
  });
  process.stderr.on("error", () => undefined);
  process.once("exit", (code) => {
    if (lost && code === ExitCode.ok) {
      process.exitCode = ExitCode.failure;
    }
  });
}
