import { hostsInShort } from "../../../control-plane/local/host-summary.js";
import { type Change, fieldChanges } from "../../../control-plane/seed/change.js";
import { readFaults, setFaults } from "../../../faults/fault-file.js";
import { type FaultTable, formatFaultRule, parseFaultRule } from "../../../faults/faults.js";
import { foldHosts } from "../../../records/host-names.js";
import { append, groupBy } from "../../../runtime/collections.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { mapConcurrently } from "../../../runtime/task-queue.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { wrapWords } from "../../ui/table.js";
import type { Terminal } from "../../ui/terminal.js";
import { CONTROL_PLANE, type HostSetting, type HostSettings } from "../host-settings.js";
import { confirm } from "../losses.js";
import { IRONIC_HOST, type UpOptions } from "../up-children.js";

/** Flags of `up` about its file. */
export interface FileFlags {
  readonly file?: string | undefined;
  /** The cluster of a scenario is used in place of a file. */
  readonly scenario?: string | undefined;
  readonly check?: true | undefined;
  readonly yes?: true | undefined;
}

/**
 * Prints what a start with the file changes, and asks for confirmation if something is lost.
 * @param flags `yes`: confirms without a question
 * @returns an exit code to end with; undefined to continue
 */
export async function agree(
  path: string,
  changes: readonly Change[],
  flags: Pick<FileFlags, "check" | "yes">,
  { terminal, interrupt }: { readonly terminal: Terminal; readonly interrupt: AbortSignal },
): Promise<number | undefined> {
  terminal.print(
    changes.length === 0
      ? `${path}: nothing changes`
      : `${path} changes:\n${changesText(changes, Math.max(terminal.columns, NARROWEST))}`,
  );
  if (flags.check === true) {
    return ExitCode.ok;
  }
  if (!changes.some(({ destroys }) => destroys) || flags.yes === true) {
    return undefined;
  }
  const reason = `${path} destroys data of the cluster, as listed above`;
  return confirm({ reason, question: "Some changes destroy data of the cluster. Continue?" }, { terminal, interrupt });
}

/** Formats changes; continuation lines are indented. */
function changesText(changes: readonly Change[], columns: number): string {
  return changes
    .map(({ sign, text, destroys }) => {
      const lines = wrapWords(`${text}${destroys ? " (destroys)" : ""}`, columns - INDENT);
      return `  ${sign} ${lines.replaceAll("\n", `\n${" ".repeat(INDENT)}`)}`;
    })
    .join("\n");
}

const INDENT = 4;

/** Used as the minimum width, since a terminal may report none. */
const NARROWEST = 40;

/**
 * Returns what happens to hosts.
 * @param before the settings that they were started with, including their recorded drivers
 * @param servers number of servers by host
 * @throws {CommandError} unless a change of the driver was requested
 */
export function hostChanges(
  before: HostSettings,
  named: ReadonlyMap<string, HostSetting>,
  { changeDriver, remove, ironic = 0 }: Pick<UpOptions, "changeDriver" | "remove" | "ironic">,
  servers: ReadonlyMap<string, number>,
): readonly Change[] {
  const added: string[] = [];
  const changed = new Map<string, string[]>();
  const drivers = new Map<string, string[]>();
  for (const [host, setting] of named) {
    const saved = Object.hasOwn(before, host) ? before[host] : undefined;
    if (saved === undefined) {
      added.push(host);
      continue;
    }
    const [from, to] = [driverOf(saved), driverOf(setting)];
    if (from !== undefined && to !== undefined && from !== to) {
      append(drivers, `driver ${from} -> ${to}`, host);
    }
    const what = fieldChanges(fieldsOf(saved), fieldsOf(setting));
    if (what.length > 0) {
      append(changed, what.join(", "), host);
    }
  }
  if (drivers.size > 0 && changeDriver !== true) {
    const lines = [...drivers].map(([what, hosts]) => `${hostsInShort(hosts)}: ${what}`);
    throw new CommandError(
      ExitCode.rejected,
      `the driver of hosts cannot change by default: ${lines.join("; ")}; set change_driver: true, or --change-driver, which is rejected while they have servers`,
    );
  }
  const left = leftOut(before, named, ironic > 0);
  const busy = left.filter((host) => (servers.get(host) ?? 0) > 0);
  const gone = left.filter((host) => (servers.get(host) ?? 0) === 0);
  const change = (sign: Change["sign"], text: string, destroys = false): Change => ({ sign, text, destroys });
  return [
    ...(added.length === 0 ? [] : [change("+", `host ${hostsInShort(added)}`)]),
    ...[...changed].map(([what, hosts]) => change("~", `host ${hostsInShort(hosts)}: ${what}`)),
    ...(busy.length === 0
      ? []
      : [change("~", `host ${hostsInShort(busy)}: stays, disabled and down, because it has servers`)]),
    ...(gone.length === 0 ? [] : [change("-", `host ${hostsInShort(gone)}`, remove !== true)]),
  ];
}

/** Returns existing hosts that the file does not name. The agent of bare-metal nodes exists as long as there are nodes. */
function leftOut(before: HostSettings, named: ReadonlyMap<string, HostSetting>, hasNodes: boolean): readonly string[] {
  return Object.keys(before).filter(
    (host) => host !== CONTROL_PLANE && !(host === IRONIC_HOST && hasNodes) && !named.has(host),
  );
}

/** Returns undefined if a configuration file names the driver, since its content may have changed. */
function driverOf({ driver, configFiles }: HostSetting): string | undefined {
  return driver ?? (configFiles.length === 0 ? "fake-libvirt" : undefined);
}

function fieldsOf({ driver, configFiles, options = [], release }: HostSetting): Readonly<Record<string, unknown>> {
  const values: Record<string, string> = {};
  for (const option of options) {
    const at = option.indexOf("=");
    const [name, value] = [option.slice(0, at), option.slice(at + 1)];
    values[name] = values[name] === undefined ? value : `${values[name]}, ${value}`;
  }
  return {
    driver: driver ?? "fake-libvirt",
    release,
    config_files: configFiles.length === 0 ? undefined : configFiles,
    ...values,
  };
}

/** Faults of one agent, or of the embedded Ironic. */
export interface DesiredFaults {
  /** A host, or `ironic`. */
  readonly host: string;
  /** The folder of the fault file. */
  readonly folder: string;
  readonly table: FaultTable;
  readonly faultRules: readonly string[];
  /** Whether the folder does not exist yet. */
  readonly isNew: boolean;
}

type Deps = Pick<Runtime, "files" | "clock" | "random">;

/** Maximum number of files that are read or written concurrently. */
const AT_A_TIME = 32;

/**
 * Returns the faults that are not set yet, by host. A fault that has acted its number of times still counts as set. Faults
 * at other points are not removed.
 * @throws {InvalidFault} the fault file is unreadable
 */
export async function missingFaults(
  desired: readonly DesiredFaults[],
  { files }: Pick<Deps, "files">,
): Promise<readonly DesiredFaults[]> {
  const some = desired.filter(({ faultRules }) => faultRules.length > 0);
  const left = await mapConcurrently(some, AT_A_TIME, async (one) => {
    if (one.isNew) {
      return one;
    }
    const set = new Set((await readFaults(one.folder, one.table, { files })).map(formatFaultRule));
    return {
      ...one,
      faultRules: one.faultRules.filter((faultRule) => !set.has(formatFaultRule(parseFaultRule(faultRule, one.table)))),
    };
  });
  return left.filter(({ faultRules }) => faultRules.length > 0);
}

export function faultChanges(missing: readonly DesiredFaults[]): readonly Change[] {
  return [...groupBy(missing, ({ faultRules }) => faultRules.join(" "))].map(([faultRules, group]) => ({
    sign: "+",
    text: `fault ${foldHosts(group.map(({ host }) => host))}: ${faultRules}`,
    destroys: false,
  }));
}

export async function setMissing(missing: readonly DesiredFaults[], deps: Deps): Promise<void> {
  await mapConcurrently(missing, AT_A_TIME, async ({ folder, table, faultRules }) => {
    await setFaults(
      folder,
      faultRules.map((faultRule) => parseFaultRule(faultRule, table)),
      deps,
    );
  });
}
