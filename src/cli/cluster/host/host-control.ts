import type { HostAction, HostProcess, HostRow } from "../../../conductor-client/methods/session.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { foldHosts } from "../../../records/host-names.js";
import { groupBy } from "../../../runtime/collections.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import { mapConcurrently } from "../../../runtime/task-queue.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { type Column, renderTable } from "../../ui/table.js";
import { ProgressBar, type Terminal } from "../../ui/terminal.js";
import type { ClusterContext } from "../cluster-command.js";
import { unknownHost } from "../host-settings.js";
import { noHostsText } from "../place.js";
import { noHeartbeatText, type ReadinessOptions, untilReadyBySession } from "../until-ready.js";
import { ENDED } from "./remove-host.js";

/** Flags of all `host` commands. */
export interface HostFlags {
  readonly all?: true;
  readonly json?: true;
}

export interface HostContext extends ClusterContext {
  readonly session: HostSession;
}

/** Creates the error about an invalid host or range on the command line. */
export function invalidHosts(message: string): CommandError {
  return new CommandError(ExitCode.usage, message, { command: "host" });
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

/** The result of a command for one host. */
export interface HostOutcome {
  readonly process: HostProcess;
  /** Undefined on success. */
  readonly failure?: string;
}

/** Maximum number of concurrent commands. */
const AT_A_TIME = 64;

/** Long, because a draining agent has its own configured timeout, and users can press Ctrl-C. */
const CONTROL_TIMEOUT_MS = 3_600_000;

/** Maximum number of failures that are listed individually. */
const NAMED = 20;

const DOING: Readonly<Record<HostAction, string>> = { start: "starting", stop: "stopping", kill: "killing" };

/** Starts, stops or kills hosts, and waits until they are in their new states. @returns the exit code */
export async function controlHosts(
  action: HostAction,
  { session, directory, runtime, terminal }: HostContext,
  hosts: readonly string[],
  flags: HostFlags,
): Promise<number> {
  const rows = await session.call("list_hosts", { host: null });
  const chosen = chosenHosts(hosts, flags.all === true, rows, directory.root);
  const done = await controlAll(action, chosen, session);
  const outcomes = action === "start" ? await withHeartbeats(done, session, { runtime, terminal }) : done;
  return reportOutcomes(outcomes, flags.json === true, terminal);
}

/** Performs an action on every host, with a progress bar. */
export async function controlAll(
  action: HostAction,
  rows: readonly HostProcess[],
  session: Pick<HostSession, "call">,
): Promise<readonly HostOutcome[]> {
  const bar = new ProgressBar();
  let done = 0;
  bar.update(DOING[action], done, rows.length);
  try {
    return await mapConcurrently(rows, AT_A_TIME, async (row) => {
      const outcome = await controlOne(action, row, session);
      done += 1;
      bar.update(DOING[action], done, rows.length);
      return outcome;
    });
  } finally {
    bar.clear();
  }
}

/** Waits until servers can be scheduled to the serving hosts. Hosts without a heartbeat become failures. */
export async function withHeartbeats(
  outcomes: readonly HostOutcome[],
  session: Pick<HostSession, "call">,
  {
    runtime,
    terminal,
  }: { readonly runtime: ReadinessOptions["runtime"]; readonly terminal: Pick<Terminal, "complain"> },
): Promise<readonly HostOutcome[]> {
  const serving = outcomes.filter(({ failure }) => failure === undefined).map(({ process }) => process.host);
  const silent = new Set(await untilReadyBySession(serving, session, runtime, terminal));
  return outcomes.map((outcome) =>
    silent.has(outcome.process.host) ? { ...outcome, failure: noHeartbeatText(outcome.process.host) } : outcome,
  );
}

async function controlOne(
  action: HostAction,
  row: HostProcess,
  session: Pick<HostSession, "call">,
): Promise<HostOutcome> {
  try {
    const process = await session.call("control_host", { host: row.host, action }, { timeout: CONTROL_TIMEOUT_MS });
    const isDone = action === "start" ? process.state === "serving" : ENDED.includes(process.state);
    return isDone ? { process } : { process, failure: `${process.state}: ${process.reason || "reason unknown"}` };
  } catch (error) {
    return { process: row, failure: errorMessage(error) };
  }
}

/** Prints the results. @returns the exit code; a single failed agent's own code, if it has one */
export function reportOutcomes(
  outcomes: readonly HostOutcome[],
  json: boolean,
  terminal: Pick<Terminal, "print" | "complain">,
): number {
  const failed = outcomes.filter(({ failure }) => failure !== undefined);
  if (json) {
    const views = outcomes.map(({ process, failure }) => ({ ...viewOf(process), failure: failure ?? null }));
    terminal.print(JSON.stringify(views, null, 2));
  } else {
    const done = outcomes.filter(({ failure }) => failure === undefined);
    for (const [state, group] of groupBy(done, ({ process }) => process.state)) {
      terminal.print(`${foldHosts(group.map(({ process }) => process.host))} ${state}`);
    }
  }
  for (const { process, failure } of failed.slice(0, NAMED)) {
    terminal.complain(`compute-agent host: ${process.host}: ${failure}`);
  }
  if (failed.length > NAMED) {
    terminal.complain(`compute-agent host: ${failed.length - NAMED} more failed; run compute-agent host list for all`);
  }
  const codes = new Set(failed.map(({ process }) => process.exitCode ?? ExitCode.failure));
  const [code = ExitCode.ok] = codes;
  return codes.size > 1 || (failed.length > 0 && code === ExitCode.ok) ? ExitCode.failure : code;
}

/** Prints the state of the hosts; of all hosts if none is named. */
export async function listHosts(
  { session, directory, runtime, terminal, stateDirOption }: HostContext,
  hosts: readonly string[],
  flags: HostFlags,
): Promise<number> {
  const rows = await session.call("list_hosts", { host: null });
  if (rows.length === 0 && hosts.length === 0 && flags.json !== true) {
    terminal.print(noHostsText(stateDirOption));
    return ExitCode.ok;
  }
  // One collator for all comparisons, since `localeCompare` creates one per call.
  const byName = new Intl.Collator("en", { numeric: true });
  const chosen = chosenHosts(hosts, hosts.length === 0, rows, directory.root).toSorted((one, other) =>
    byName.compare(one.host, other.host),
  );
  terminal.print(
    flags.json === true
      ? JSON.stringify(chosen.map(viewOf), null, 2)
      : hostTable(chosen, runtime.clock.now(), terminal.columns),
  );
  return ExitCode.ok;
}

/** Formats times as ISO 8601, for JSON output. */
function viewOf<T extends { readonly since: number | null }>({ since, ...rest }: T) {
  return { ...rest, since: since === null ? null : new Date(since).toISOString() };
}

/** @param now milliseconds since the epoch. @param width columns of the terminal. @internal for tests */
export function hostTable(rows: readonly HostRow[], now: number, width: number): string {
  const columns: readonly Column<HostRow>[] = [
    { title: "Host", value: ({ host }) => host },
    { title: "State", value: ({ state }) => state },
    { title: "Pid", value: ({ pid }) => pid?.toString() ?? "-", align: "right" },
    { title: "Process", value: ({ process }) => process ?? "-" },
    { title: "Driver", value: ({ driver }) => driverName(driver) },
    { title: "Since", value: ({ since }) => (since === null ? "-" : age(now - since)), align: "right" },
    { title: "Servers", value: ({ servers }) => String(servers), align: "right" },
    { title: "Reason", value: reasonOf, wraps: true },
  ];
  const hasReasons = rows.some((row) => reasonOf(row) !== "");
  return renderTable(hasReasons ? columns : columns.slice(0, -1), rows, width);
}

/** Returns the last folder of a driver's path; the JSON output has the full path. */
function driverName(driver: string | null): string {
  return driver?.split("/").findLast((part) => part !== "") ?? "-";
}

function reasonOf({ state, reason, service, pid }: HostRow): string {
  const plain = state === "serving" && reason === `pid ${pid}` ? "" : reason;
  if (service === null || (service.enabled && !service.forcedDown)) {
    return plain;
  }
  const why = service.disabledReason === null || service.disabledReason === plain ? "" : `: ${service.disabledReason}`;
  const marks = [
    ...(service.enabled ? [] : [plain === service.disabledReason ? "disabled" : `disabled${why}`]),
    ...(service.forcedDown ? ["forced down"] : []),
  ];
  return [...(plain === "" ? [] : [plain]), ...marks].join("; ");
}

/** `12 s`, `5 min`, `3 h`, `9 d` */
function age(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [unit, size] = UNITS.find(([, each]) => seconds >= each * 2) ?? ["s", 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** Returns the rows of the selected hosts, in the order of the command line. @throws {CommandError} */
export function chosenHosts(
  hosts: readonly string[],
  all: boolean,
  rows: readonly HostRow[],
  root: string,
): readonly HostRow[] {
  if (all) {
    if (hosts.length > 0) {
      throw invalidHosts(`found --all and ${hosts[0]}, expected one of the two`);
    }
    return rows;
  }
  if (hosts.length === 0) {
    throw invalidHosts("found no host, expected names or ranges such as devstack[1-3], or --all");
  }
  const known = new Map(rows.map((row) => [row.host, row]));
  return [...new Set(hosts)].map((host) => {
    const row = known.get(host);
    if (row === undefined) {
      throw invalidHosts(unknownHost(host, root, [...known.keys()]));
    }
    return row;
  });
}
