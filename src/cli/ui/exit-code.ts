import { CommanderError } from "commander";
import { HOW_TO_AGREE } from "../../nova-rpc/transport/topology.js";
import { terminalText } from "../../runtime/error-messages.js";
import { HttpConnectFailure } from "../../runtime/http.js";
import { BrokerRejectedError } from "../../runtime/message-broker.js";

/** What the programs' exit codes mean; the README lists them. */
export const ExitCode = {
  ok: 0,
  /** Something failed that was not foreseen; the message says what. */
  failure: 1,
  /** Wrong arguments or configuration. */
  usage: 2,
  /** The agent refused to start: records contradict each other. */
  rejected: 3,
  /** No control plane, or it refused the join token. */
  unreachable: 4,
  /** Another agent has taken the host. */
  leaseLost: 5,
} as const;

/** Prints a program's failure: one line for what a person can mend, a stack only under DEBUG. */
export function reportFailure(program: string, error: unknown): { readonly code: number; readonly message: string } {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof CommanderError) {
    return { code: error.exitCode === 0 ? ExitCode.ok : ExitCode.usage, message };
  }
  const stack = process.env.DEBUG !== undefined && error instanceof Error ? `\n${error.stack ?? ""}` : "";
  process.stderr.write(`${terminalText(`${program}: ${message}${hint(error)}${stack}`)}\n`);
  return { code: exitCodeOf(error), message };
}

/** The README's exit codes of the errors that a person can mend; any other is an unforeseen failure. */
const CODES: ReadonlyMap<string, number> = new Map([
  ...[
    "AddressInUse",
    "AddressUnusable",
    "CloudConfigInvalid",
    "ConfigDirNotFoundError",
    "ConfigFileParseError",
    "ConfigFilesNotFoundError",
    "ConfigFileValueError",
    "DatabaseTooNew",
    "DatabaseTooOld",
    "DatabaseUnusable",
    "FileFailure",
    "FileInvalid",
    "HostRangeError",
    "HostsShareState",
    "InvalidDriver",
    "InvalidHostName",
    "InvalidTransportUrl",
    "NoSuchCluster",
    "NotInPlan",
    "OneHostOnly",
    "PlanUnreadable",
    "RecordingUnusable",
    "StateDirUnusable",
    "TlsUnusable",
    "UnsupportedConfiguration",
  ].map((name): [string, number] => [name, ExitCode.usage]),
  ["DriversDiffer", ExitCode.rejected],
  ["SeedRefused", ExitCode.rejected],
  ["SnapshotRefused", ExitCode.rejected],
  ["ServiceTooOld", ExitCode.rejected],
  ["CloudUnreachable", ExitCode.unreachable],
  ["ConductorUnreachable", ExitCode.unreachable],
  ["HttpConnectFailure", ExitCode.unreachable],
  ["HttpTimeout", ExitCode.unreachable],
  ["JoinTokenRefused", ExitCode.unreachable],
  ["NoLocalCloud", ExitCode.unreachable],
  ["NotRunning", ExitCode.unreachable],
  ["RefusedByBroker", ExitCode.unreachable],
  ["HostLeaseLost", ExitCode.leaseLost],
]);

export function exitCodeOf(error: unknown): number {
  return (error instanceof Error && CODES.get(error.name)) || ExitCode.failure;
}

function hint(error: unknown): string {
  return error instanceof HttpConnectFailure
    ? '\nIs the control plane running? Start one with "compute-cluster up", or name its --state-dir.'
    : toDo(error);
}

/** What to do about what a broker has refused, on a line of its own; empty: the message says all there is. */
export function toDo(error: unknown): string {
  return error instanceof BrokerRejectedError && error.code === "PRECONDITION_FAILED"
    ? `\nTo do: ${HOW_TO_AGREE}.`
    : "";
}
