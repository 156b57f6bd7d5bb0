import { ExitCode, reportFailure } from "./exit-code.js";
import { leaveParent, notifyParent } from "./process-lifecycle.js";

/** Milliseconds that a finished process waits for resources that a plugin left open. */
const EXIT_TIMEOUT_MS = 2_000;

/** Runs a program. Prints every failure, reports it to the parent, and exits with the code that the README lists. */
export async function runProgram(name: string, work: () => Promise<void>): Promise<void> {
  guardOutput(name);
  try {
    await work();
  } catch (error) {
    const { code, message } = reportFailure(name, error);
    notifyParent({ type: "component", state: "failed", detail: message });
    leaveParent();
    endProcess(code, name);
  }
}

/** Ends the process with this code once nothing is pending, or after a timeout with a message about open resources. */
export function endProcess(code: number, program: string): void {
  process.exitCode = code;
  process.once("exit", (found) => {
    if (found === 0 && code !== 0) {
      process.stderr.write(
        `${program}: something, perhaps the driver, set exit code 0 instead of ${code}; exiting with ${code}\n`,
      );
      process.exitCode = code;
    }
  });
  const end = () => {
    process.stderr.write(
      `${program}: timers, processes or connections are still open, perhaps the driver's; exiting anyway\n`,
    );
    process.exit(code);
  };
  // Not the runtime's timer, since that would keep the process alive.
  setTimeout(end, EXIT_TIMEOUT_MS).unref();
}

/**
 * Ignores a closed output pipe, as in `--help | head -1`. If output fails for another reason, the command reports it and
 * fails.
 */
function guardOutput(program: string): void {
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
