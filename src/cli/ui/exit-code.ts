import { CommanderError } from "commander";
import { HOW_TO_AGREE } from "../../nova-rpc/transport/topology.js";
import { errorMessage, terminalText } from "../../runtime/error-messages.js";
import { HttpConnectFailure } from "../../runtime/http.js";
import { BrokerRejectedError } from "../../runtime/message-broker.js";

/** Exit codes of the programs, as listed in the README. */
export const ExitCode = {
  ok: 0,
  /** An unexpected failure, described by the message. */
  failure: 1,
  /** Wrong arguments or configuration. */
  usage: 2,
  /** The start of the agent was rejected: records contradict each other. */
  rejected: 3,
  /** There is no control plane, or it rejected the join token. */
  unreachable: 4,
  /** Another agent has acquired the host's lease. */
  leaseLost: 5,
} as const;

/** A failure of a command that the user can fix. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;
  /** The subcommand that the message is printed for, after the program's name. */
  readonly command: string | undefined;

  constructor(exitCode: number, message: string, { command, ...options }: CommandErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.command = command;
  }
}

interface CommandErrorOptions extends ErrorOptions {
  readonly command?: string;
}

/** Prints a program's failure: one line for errors that the user can fix; a stack only under DEBUG. */
export function reportFailure(program: string, error: unknown): { readonly code: number; readonly message: string } {
  const message = errorMessage(error);
  if (error instanceof CommanderError) {
    return { code: error.exitCode === 0 ? ExitCode.ok : ExitCode.usage, message };
  }
  const stack = process.env.DEBUG !== undefined && error instanceof Error ? `\n${error.stack ?? ""}` : "";
  const command = error instanceof CommandError && error.command !== undefined ? ` ${error.command}` : "";
  process.stderr.write(`${terminalText(`${program}${command}: ${message}${hint(error)}${stack}`)}\n`);
  return { code: exitCodeOf(error), message };
}

/** Exit codes by error name, for errors of other folders that the user can fix; any other error is an unexpected failure. */
const CODES: ReadonlyMap<string, number> = new Map([
  ...[
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
    "HostRangeError",
    "InvalidDriver",
    "InvalidHostName",
    "InvalidTransportUrl",
    "NotInPlan",
    "PlanUnreadable",
    "StateDirUnusable",
    "UnsupportedConfiguration",
  ].map((name): [string, number] => [name, ExitCode.usage]),
  ["SeedRefused", ExitCode.rejected],
  ["SnapshotRefused", ExitCode.rejected],
  ["ServiceTooOld", ExitCode.rejected],
  ["CloudUnreachable", ExitCode.unreachable],
  ["ConductorUnreachable", ExitCode.unreachable],
  ["HttpConnectFailure", ExitCode.unreachable],
  ["HttpTimeout", ExitCode.unreachable],
  ["JoinTokenRefused", ExitCode.unreachable],
  ["NoLocalCloud", ExitCode.unreachable],
  ["RefusedByBroker", ExitCode.unreachable],
  ["HostLeaseLost", ExitCode.leaseLost],
]);

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) {
    return error.exitCode;
  }
  return (error instanceof Error && CODES.get(error.name)) || ExitCode.failure;
}

function hint(error: unknown): string {
  return error instanceof HttpConnectFailure
    ? '\nIs the control plane running? Start one with "compute-agent up", or name its --state-dir.'
    : toDo(error);
}

/** Returns a hint about a broker's rejection, on a separate line; empty if the message is sufficient. */
export function toDo(error: unknown): string {
  return error instanceof BrokerRejectedError && error.code === "PRECONDITION_FAILED"
    ? `\nTo do: ${HOW_TO_AGREE}.`
    : "";
}
