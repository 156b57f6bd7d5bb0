import { resolve } from "node:path";
import type { Command } from "commander";
import { driverRecordPath, readDriverRecord } from "../../agent/identity-file.js";
import { IRONIC_FAULTS } from "../../control-plane/bare-metal/provision-states.js";
import { BLOCK_STORAGE_FAULTS } from "../../control-plane/block-storage/work/run-work.js";
import { hostsWithState } from "../../control-plane/local/state-dir.js";
import { areNoticed, clearFaults, readFaults, setFaults } from "../../faults/fault-file.js";
import { isLive } from "../../faults/fault-set.js";
import {
  FAULT_LANGUAGE,
  type FaultPoint,
  type FaultRule,
  type FaultTable,
  formatFaultRule,
  InvalidFault,
  listPoints,
  parseFaultRule,
  settingsOf,
  unknownPoint,
} from "../../faults/faults.js";
import { expandHosts, HostRangeError } from "../../records/host-names.js";
import { groupBy } from "../../runtime/collections.js";
import type { Files } from "../../runtime/files.js";
import type { Runtime } from "../../runtime/runtime.js";
import { AGENT_FAULTS } from "../agent/agent-faults.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";
import { withFormerNames } from "../ui/former-names.js";
import { destructive } from "../ui/suggestions.js";
import { type Column, renderTable } from "../ui/table.js";
import type { Terminal } from "../ui/terminal.js";
import { clusterCommand, inCluster } from "./cluster-command.js";
import { CONTROL_PLANE, HostSettingsStore, unknownHost } from "./host-settings.js";

/** Fault points whose names begin with the same word. */
interface PointGroup {
  /** `agent` or `embedded Ironic` … */
  readonly program: string;
  /** `driver` */
  readonly name: string;
  readonly points: readonly FaultPoint[];
}

interface EmbeddedService {
  readonly host: string;
  readonly program: string;
  /** Its folder of the state directory. */
  readonly folder: "ironic" | "blockStorage";
  readonly table: FaultTable;
}

/** The driver whose agents send requests to Ironic. */
const IRONIC_DRIVER = "ironic";

interface FaultContext {
  readonly runtime: Runtime;
  readonly terminal: Terminal;
  /** @param host of an agent, or the name of an embedded service */
  readonly target: (host: string) => Target;
  /** Returns the hosts of the state directory, and the embedded services. */
  readonly hosts: () => Promise<readonly string[]>;
  /**
   * Expands a name or range to hosts.
   * @throws {InvalidFault} a host never had an agent, and no `state_path` was named
   */
  readonly hostsIn: (text: string, beforeStart?: boolean) => Promise<readonly string[]>;
}

/** The file with the faults, and the points that can be set. */
interface Target {
  /** The agent's `state_path`. */
  readonly folder: string;
  readonly table: FaultTable;
}

/** Selects the embedded Ironic, or Block Storage, instead of a host. */
const IRONIC = "ironic";
const BLOCK_STORAGE = "block-storage";

/** Embedded services with faults, by what names them instead of a host. */
const EMBEDDED: readonly EmbeddedService[] = [
  { host: IRONIC, program: "embedded Ironic", folder: "ironic", table: IRONIC_FAULTS },
  { host: BLOCK_STORAGE, program: "embedded Block Storage", folder: "blockStorage", table: BLOCK_STORAGE_FAULTS },
];

interface JsonFlag {
  readonly json?: true;
}

/** Milliseconds that a running agent has to read new faults. */
const NOTICE_TIME = 2_000;

const NOTICE_STEP = 25;

export function faultCommand(): Command {
  const command = clusterCommand("fault")
    .summary("Inject faults into agents or embedded services")
    .description(
      "Makes an agent's driver, Placement or conductor, or an embedded service, fail, hang or respond slowly; HOST is " +
        `${IRONIC} for the embedded Ironic and ${BLOCK_STORAGE} for Block Storage. Faults also apply to agents that start later, and stay across restarts until they have occurred ` +
        "as often as specified or are cleared.",
    )
    .option("--state-path <dir>", "state_path of the agent, if nova.conf changes its default");
  command
    .command("set <host> <rule...>")
    .summary("Set faults of a host")
    .option("--before-start", "accept hosts that do not exist yet; their agents apply the faults from the first start")
    .description(
      "Sets faults, for example: devstack2 driver.finishMigration=fail:once placement.put=409:4 " +
        `conductor=partition:30s\n${FAULT_LANGUAGE}`,
    )
    .action(inFaults(set));
  command
    .command("list [host]")
    .summary("List the faults of a host, or of all hosts")
    .description("Lists the faults of a host. Without a host, lists those of all hosts of the state directory.")
    .option("--json", "print JSON")
    .action(inFaults(list));
  destructive(command.command("clear <host> [point...]"))
    .summary("Clear faults of a host")
    .description("Clears the faults of a host at these points. Without a point, clears all faults of the host.")
    .action(inFaults(clear));
  command
    .command("points [host]")
    .summary("List the points where faults can be injected")
    .description(
      `Lists all fault points, those of a host's agent, or those of ${IRONIC} or ${BLOCK_STORAGE}. Works without a cluster.`,
    )
    .option("--json", "print JSON")
    .action(inFaults(faultPoints));
  return command;
}

/** Returns an action that runs `work` with the faults of a cluster. */
function inFaults<Arguments extends readonly unknown[]>(
  work: (context: FaultContext, ...args: Arguments) => Promise<void>,
): ReturnType<typeof inCluster<Arguments>> {
  return inCluster(async ({ directory, runtime, terminal, options }, ...args: Arguments) => {
    const { statePath } = options as { readonly statePath?: string };
    const hosts = async (): Promise<readonly string[]> => {
      const { [CONTROL_PLANE]: _, ...savedSettings } = await new HostSettingsStore(runtime.files, directory).read();
      const known = new Set([...(await hostsWithState(runtime.files, directory)), ...Object.keys(savedSettings)]);
      return [...[...known].toSorted(), ...EMBEDDED.map(({ host }) => host)];
    };
    const target = (host: string): Target => {
      const embedded = statePath === undefined ? EMBEDDED.find((one) => one.host === host) : undefined;
      return embedded
        ? { folder: directory[embedded.folder], table: embedded.table }
        : { folder: statePath === undefined ? directory.agent(host) : resolve(statePath), table: AGENT_FAULTS };
    };
    const hostsIn = async (text: string, beforeStart = false): Promise<readonly string[]> => {
      const named = expandNames(text);
      const known = await hosts();
      const unknown = named.find((host) => !known.includes(host));
      if (statePath === undefined && unknown !== undefined && !beforeStart) {
        // Embedded services alone are a directory without a cluster.
        throw new InvalidFault(unknownHost(unknown, directory.root, known.length === EMBEDDED.length ? [] : known));
      }
      return named;
    };
    try {
      await work({ runtime, terminal, target, hosts, hostsIn }, ...args);
    } catch (error) {
      throw error instanceof InvalidFault
        ? new CommandError(ExitCode.usage, error.message, { command: "fault", cause: error })
        : error;
    }
  });
}

/** @throws {InvalidFault} The text is neither a host's name nor a range. */
function expandNames(text: string): readonly string[] {
  try {
    return expandHosts(text);
  } catch (error) {
    throw error instanceof HostRangeError ? new InvalidFault(error.message) : error;
  }
}

async function set(
  context: FaultContext,
  hosts: string,
  faultRules: readonly string[],
  { beforeStart }: { readonly beforeStart?: true },
): Promise<void> {
  const named = await context.hostsIn(hosts, beforeStart);
  const parsed = named.map((host) =>
    faultRules.map((faultRule) => parseFaultRule(faultRule, context.target(host).table)),
  );
  await Promise.all(named.map((host, index) => setOne(context, host, parsed[index] ?? [])));
}

/** Sets the faults of a host, and waits briefly for its agent to read them. */
async function setOne(
  { runtime, terminal, target }: FaultContext,
  host: string,
  parsed: readonly FaultRule[],
): Promise<void> {
  const { folder } = target(host);
  const ids = await setFaults(folder, parsed, runtime);
  for (const faultRule of parsed) {
    terminal.print(`${host}: ${formatFaultRule(faultRule)}`);
  }
  for (let waited = 0; waited < NOTICE_TIME; waited += NOTICE_STEP) {
    if (await areNoticed(folder, ids, runtime)) {
      return;
    }
    await runtime.timers.sleep(NOTICE_STEP);
  }
  terminal.print(`No agent of ${host} has read this from ${folder} yet; the next start will`);
}

interface Row {
  readonly host: string;
  readonly rule: string;
  /** The number of times that the fault has acted; null, uncounted, if it acts until it is cleared. */
  readonly used: number | null;
  /** The number of times that the fault will still act; null: until it is cleared. */
  readonly left: number | null;
  /** When the fault was set, as ISO 8601. */
  readonly since: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Host", value: ({ host }) => host },
  { title: "Fault", value: ({ rule: faultRule }) => faultRule },
  { title: "Acted", value: ({ used }) => (used === null ? "-" : String(used)), align: "right" },
  { title: "Left", value: ({ left }) => (left === null ? "always" : String(left)), align: "right" },
  { title: "Since", value: ({ since }) => since },
];

async function list(context: FaultContext, host: string | undefined, { json }: JsonFlag): Promise<void> {
  const { runtime, terminal } = context;
  const rows: Row[] = [];
  for (const name of host === undefined ? await context.hosts() : await context.hostsIn(host)) {
    const { folder, table } = context.target(name);
    for (const fault of await readFaults(folder, table, runtime)) {
      const { used, times, setAt } = fault;
      const left = isLive(fault, runtime.clock.now()) ? times && times - used : 0;
      rows.push({
        host: name,
        rule: formatFaultRule(fault),
        used: times === null ? null : used,
        left,
        since: new Date(setAt).toISOString(),
      });
    }
  }
  if (json === true) {
    terminal.print(JSON.stringify(withFormerNames(rows, { rule: "knob" }), null, 2));
  } else if (rows.length === 0) {
    terminal.print(
      `No faults are set${host === undefined ? "" : ` for ${host}`}: "compute-agent fault set HOST POINT=SETTING" sets one, ` +
        '"compute-agent fault points" lists the points.',
    );
  } else {
    terminal.print(renderTable(COLUMNS, rows, terminal.columns));
  }
}

async function clear(context: FaultContext, hosts: string, faultPoints: readonly string[]): Promise<void> {
  const { runtime, terminal, target, hostsIn } = context;
  const named = await hostsIn(hosts);
  for (const host of named) {
    const { table } = target(host);
    const wrong = faultPoints.find((point) => !table.has(point));
    if (wrong !== undefined) {
      throw unknownPoint(wrong, table);
    }
  }
  for (const host of named) {
    const cleared = await clearFaults(target(host).folder, faultPoints, runtime);
    terminal.print(cleared.length === 0 ? `Nothing was set for ${host}` : `${host}: cleared ${cleared.join(", ")}`);
  }
}

async function faultPoints(context: FaultContext, host: string | undefined, { json }: JsonFlag): Promise<void> {
  const groups = await pointGroups(context, host);
  context.terminal.print(json === true ? pointsJson(groups) : pointsText(groups));
}

async function pointGroups({ runtime, target, hostsIn }: FaultContext, requestedHost: string | undefined) {
  if (requestedHost === undefined) {
    return allPointGroups();
  }
  const [host = "", ...others] = await hostsIn(requestedHost);
  if (others.length > 0) {
    throw new InvalidFault(`expected one host, found ${others.length + 1} in "${requestedHost}"`);
  }
  const { folder, table } = target(host);
  const embedded = EMBEDDED.find((one) => one.table === table);
  return embedded ? groupPoints(embedded.program, table) : pointGroupsOfHost(runtime.files, folder, host);
}

/** Returns the points of agents and of embedded services, by program and first word. */
export function allPointGroups(): readonly PointGroup[] {
  return [
    ...groupPoints("agent", AGENT_FAULTS),
    ...EMBEDDED.flatMap(({ program, table }) => groupPoints(program, table)),
  ];
}

/**
 * Returns the points of one host's agent. Requests to Ironic can fail only where the host has the driver `ironic`; a host whose
 * driver is not recorded yet has all points.
 * @param statePath the agent's `state_path`
 */
export async function pointGroupsOfHost(files: Files, statePath: string, host: string): Promise<readonly PointGroup[]> {
  const driver = await readDriverRecord(files, driverRecordPath(statePath, host));
  return groupPoints("agent", AGENT_FAULTS).filter(
    ({ name }) => name !== "ironic" || driver === undefined || driver.name === IRONIC_DRIVER,
  );
}

/** Renders groups as a list for a terminal. */
export function pointsText(groups: readonly PointGroup[]): string {
  const sections = groups.map(({ program, name, points }) => `${name} (${program})\n${listPoints(points)}`);
  const errors = new Set(groups.flatMap(({ points }) => points.flatMap((point) => point.errors ?? [])));
  const language = errors.size === 0 ? FAULT_LANGUAGE : `${FAULT_LANGUAGE}; Error is one of ${[...errors].join(", ")}`;
  return `${sections.join("\n\n")}\n\n${language}`;
}

/** Renders groups as JSON: one object for each point. */
export function pointsJson(groups: readonly PointGroup[]): string {
  const rows = groups.flatMap(({ program, name, points }) =>
    points.map((point) => ({
      program,
      group: name,
      point: point.point,
      settings: settingsOf(point),
      errors: point.errors ?? [],
    })),
  );
  return JSON.stringify(rows, null, 2);
}

function groupPoints(program: string, table: FaultTable): readonly PointGroup[] {
  const groups = groupBy(table.values(), ({ point }) => point.split(".")[0] ?? "");
  return [...groups].map(([name, points]) => ({ program, name, points }));
}
