import { ExitCode, reportFailure } from "./exit-code.js";
import { leaveParent, notifyParent } from "./process-lifecycle.js";

/** Milliseconds that what a plugin left open may keep a process that is through. */
const EXIT_TIMEOUT_MS = 2_000;

/**
 * Runs a program from its arguments to its end. Whatever it refuses or fails with, it prints, tells the parent that
 * watches it, and ends with the exit code that the README lists.
 */
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

/** Ends the process with this code as soon as nothing is left to do, or soon, telling of what was left open. */
export function endProcess(code: number, program: string): void {
  process.exitCode = code;
  process.once("exit", (found) => {
    if (found === 0 && code !== 0) {
      process.stderr.write(
        `${program}: something, perhaps the driver, set exit code 0 instead of ${code}; ${code} it is\n`,
      );
      process.exitCode = code;
    }
  });
  const end = () => {
    process.stderr.write(
      `${program}: something, perhaps the driver, left timers, processes or connections open; the process ends without them\n`,
    );
    process.exit(code);
  };
  // The runtime's timer would itself keep the process.
  setTimeout(end, EXIT_TIMEOUT_MS).unref();
}

/**
 * Lets a command go on when its reader has gone, as in `... --help | head -1`. When output cannot be written for
 * another reason, the command says so and fails: its reader waits for it.
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
