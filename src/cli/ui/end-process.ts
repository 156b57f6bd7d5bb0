/** Milliseconds that what a plugin left open may keep a process that is through. */
const EXIT_TIMEOUT_MS = 2_000;

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
