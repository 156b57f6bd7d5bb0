import { CommanderError } from "commander";
import { HttpConnectFailure } from "../../runtime/http.js";
import { ExitCode } from "./exit-code.js";

/** The last resort of a program: one line for what a person can mend, a stack only under DEBUG. */
export const reportFailure =
  (program: string) =>
  (error: unknown): void => {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
      return;
    }
    const message = error instanceof Error ? error.message : String(error);
    const stack = process.env.DEBUG !== undefined && error instanceof Error ? `\n${error.stack ?? ""}` : "";
    process.stderr.write(`${program}: ${message}${hint(error)}${stack}\n`);
    process.exitCode = exitCode(error);
  };

/** What the person who called the program can mend. */
const USAGE_ERRORS: ReadonlySet<string> = new Set([
  "AddressInUse",
  "ConfigDirNotFoundError",
  "ConfigFileParseError",
  "ConfigFilesNotFoundError",
  "ConfigFileValueError",
  "DatabaseTooNew",
  "DatabaseUnusable",
  "InvalidDriver",
  "NoLocalCloud",
]);

const hint = (error: unknown): string =>
  error instanceof HttpConnectFailure
    ? '\nIs the control plane running? Start one with "compute-cluster up", or name its --state-dir.'
    : "";

const exitCode = (error: unknown): number => {
  if (error instanceof HttpConnectFailure) return ExitCode.unreachable;
  return error instanceof Error && USAGE_ERRORS.has(error.name) ? ExitCode.usage : ExitCode.failure;
};
