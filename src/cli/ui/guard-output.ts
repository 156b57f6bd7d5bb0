import { ExitCode } from "./exit-code.js";

/**
 * Lets a command go on when its reader has gone, as in `... --help | head -1`. When output cannot be written for
 * another reason, the command says so and fails: its reader waits for it.
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
