import { ExitCode } from "./exit-code.js";

/** Aborted by the first Ctrl-C or SIGTERM, so that a command can clean up; the second one ends the process at once. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        process.exit(ExitCode.failure);
      }
      controller.abort(new Error("interrupted"));
    });
  }
  return controller.signal;
}
