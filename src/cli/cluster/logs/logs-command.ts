import { type Command, InvalidArgumentError } from "commander";
import { nodeClock } from "../../../runtime/node/node-builtins.js";
import { collectHosts, integerIn } from "../../ui/command-line.js";
import { interruptSignal } from "../../ui/process-lifecycle.js";
import type { Terminal } from "../../ui/terminal.js";
import { type ClusterContext, clusterCommand, inCluster } from "../cluster-command.js";
import { CONTROL_PLANE } from "../host-settings.js";
import { findSources, SERVICES } from "./find-sources.js";
import { asRecord, type LogSource, type LogText, merged, type NamedEntry } from "./log-source.js";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

interface LogFlags {
  readonly lines?: number;
  readonly follow?: true;
  readonly since?: number;
  readonly requestId?: string;
  readonly json?: true;
}

/** Entries of each log that are printed by default. */
const DEFAULT_ENTRIES = 100;

/** Milliseconds between two polls for new entries. */
const PAUSE = 250;

/** Creates `compute-agent logs`, and its former name `host logs`. */
export function logsCommand(): Command {
  return clusterCommand("logs")
    .argument(
      "[name...]",
      "hosts or ranges (devstack[1-3]), control-plane, or one of its services (placement, ...)",
      collectHosts,
      [],
    )
    .summary("Print the logs of agents and control plane in order")
    .description(
      "Merges the logs of agents and control plane, oldest entry first, whether they are running or not; of a shared log, " +
        "a host gets the entries that name it. Rotated files are included, compressed ones are not.",
    )
    .option(
      "-n, --lines <n>",
      `number of last entries of each log (default: ${DEFAULT_ENTRIES}; with --since or --request-id all)`,
      integerIn(0, 999_999_999, "a number of entries"),
    )
    .option("-f, --follow", "print new entries until Ctrl-C")
    .option("--since <time>", "time of the oldest entries: 90s, 10m, 2h, 1d, or 2026-11-25T20:13:51", since)
    .option(
      "--request-id <id>",
      "id of a request, to print only its entries, also those of agents; `up --log-requests` logs requests",
      requestId,
    )
    .option("--json", "print one JSON object per entry")
    .action(inCluster(printLogs));
}

function since(text: string): number {
  const time = parseSince(text, nodeClock().now());
  if (time === undefined) {
    throw new InvalidArgumentError(
      "expected a duration such as 90s, 10m, 2h or 1d, or a time such as 2026-11-25T20:13:51.",
    );
  }
  return time;
}

function requestId(text: string): string {
  if (!/^req-[\w-]{1,100}$/.test(text)) {
    throw new InvalidArgumentError("expected req-..., as in the x-openstack-request-id of a response.");
  }
  return text;
}

/** Prints existing entries, and new ones with `follow`. */
async function printLogs(
  { directory, runtime, terminal }: ClusterContext,
  requestedNames: readonly string[],
  flags: LogFlags,
): Promise<void> {
  const { since: oldest = Number.NEGATIVE_INFINITY, requestId: id } = flags;
  const accepts = ({ time, lines }: LogText): boolean =>
    time >= oldest && (id === undefined || lines.some((line) => line.includes(id)));
  const { sources, missing } = await findSources(requestedNames, { directory, files: runtime.files }, accepts);
  for (const name of missing) {
    terminal.complain(
      `compute-agent logs: ${name} has no log in ${directory.logs}: its agent was started elsewhere, and logs there`,
    );
  }
  const print = printer(sources, flags.json === true, terminal);
  const most = flags.lines ?? (flags.since === undefined && id === undefined ? DEFAULT_ENTRIES : undefined);
  let isEmpty = true;
  for await (const entry of most === undefined ? merged(sources) : lastOf(sources, most)) {
    isEmpty = false;
    print(entry);
  }
  if (isEmpty && most !== 0 && missing.length === 0) {
    terminal.complain(`compute-agent logs: no entries: ${emptyReason(requestedNames, flags)}`);
  }
  const signal = flags.follow === true ? interruptSignal() : AbortSignal.abort();
  while (!signal.aborted) {
    for await (const entry of merged(sources)) {
      print(entry);
    }
    await runtime.timers.sleep(PAUSE, signal).catch(() => undefined);
  }
}

/** Returns why no log has an entry that was requested, and what to do. */
function emptyReason(names: readonly string[], { requestId: id, since: oldest, follow }: LogFlags): string {
  const waiting = follow === true ? "; waiting for new ones until Ctrl-C" : "";
  if (id !== undefined) {
    return `none has ${id}; the control plane logs requests only with "compute-agent up --log-requests"${waiting}`;
  }
  if (oldest !== undefined) {
    return `all are older than ${new Date(oldest).toISOString()}; omit --since for the last ${DEFAULT_ENTRIES}${waiting}`;
  }
  const isControlPlane = (name: string): boolean => name === CONTROL_PLANE || SERVICES.includes(name);
  return names.length > 0 && !names.every(isControlPlane)
    ? `the agent has logged nothing yet${waiting}`
    : `the control plane logs warnings, errors, and with "compute-agent up --log-requests" each request${waiting}`;
}

/** Yields the last entries of each source, ordered by time. */
async function* lastOf(sources: readonly LogSource[], most: number): AsyncGenerator<NamedEntry> {
  const all = await Promise.all(
    sources.map(async (source) => {
      let last: NamedEntry[] = [];
      for await (const entries of source.newEntries()) {
        last.push(...entries.map((entry) => ({ ...entry, source: source.name })));
        last = most === 0 ? [] : last.slice(-most);
      }
      return last;
    }),
  );
  yield* all.flat().toSorted((one, other) => one.time - other.time);
}

/** Prefixes each line with its source if there are several. */
function printer(sources: readonly LogSource[], isJson: boolean, terminal: Terminal): (entry: NamedEntry) => void {
  if (isJson) {
    return (entry) => terminal.print(JSON.stringify({ source: entry.source, ...asRecord(entry) }));
  }
  const sourceNames = [...new Set(sources.map(({ name }) => name))];
  const width = Math.max(0, ...sourceNames.map((name) => name.length));
  return ({ source, lines }) => {
    for (const line of lines) {
      terminal.print(sourceNames.length > 1 ? `${terminal.colors.dim(`${source.padEnd(width)} |`)} ${line}` : line);
    }
  };
}

/**
 * Parses a time in the past to milliseconds since the epoch: a duration before now, or a date. Without a zone it is local
 * time. Returns undefined if the text is neither.
 */
export function parseSince(text: string, now: number): number | undefined {
  const [, amount, unit] = /^(\d{1,9}(?:\.\d{1,3})?)([smhd])$/.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined) {
    return now - Number(amount) * (UNITS[unit] ?? 0);
  }
  if (!/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:?\d\d)?)?$/.test(text)) {
    return undefined;
  }
  // Date.parse reads a date without a time as UTC.
  const time = Date.parse(text.length === 10 ? `${text}T00:00` : text.replace(" ", "T"));
  return Number.isNaN(time) ? undefined : time;
}
