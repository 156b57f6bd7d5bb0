import { resolve } from "node:path";
import { Command } from "commander";
import { driverRecordPath, readDriverRecord } from "../../agent/identity-file.js";
import { IRONIC_FAULTS } from "../../control-plane/bare-metal/provision-states.js";
import { DEFAULT_STATE_DIR, hostsWithState, stateDir } from "../../control-plane/local/state-dir.js";
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
import type { Files } from "../../runtime/files.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { AGENT_FAULTS } from "../agent/agent-faults.js";
import { destructive } from "../ui/command-line.js";
import { ExitCode } from "../ui/exit-code.js";
import { withFormerNames } from "../ui/former-names.js";
import { quietLogger } from "../ui/logging.js";
import { type Column, renderTable } from "../ui/table.js";
import { createTerminal } from "../ui/terminal.js";
import { CONTROL_PLANE, HostSettingsStore, unknownHost } from "./host-settings.js";

/** Fault points whose names begin with the same word. */
interface PointGroup {
  /** `agent` or `embedded Ironic`. */
  readonly program: string;
  /** `driver` */
  readonly name: string;
  readonly points: readonly FaultPoint[];
}

/** The driver whose agents send requests to Ironic. */
const IRONIC_DRIVER = "ironic";

interface FaultOptions {
  readonly stateDir: string;
  readonly statePath?: string;
}

type Bench = ReturnType<typeof benchOf>;

/** The file with the faults, and the points that can be set. */
interface Target {
  /** The agent's `state_path`. */
  readonly folder: string;
  readonly table: FaultTable;
}

/** Selects the embedded Ironic instead of a host. */
const IRONIC = "ironic";

/** Milliseconds that a running agent has to read new faults. */
const NOTICE_TIME = 2_000;

const NOTICE_STEP = 25;

export function faultCommand(): Command {
  const command = new Command("fault")
    .summary(
      "make an agent's driver, Placement or conductor, or the embedded Ironic, fail, hang or be slow, while it runs",
    )
    .description(
      "Sets faults in a running agent, or one that is started later. They act until they have acted as often as was said, " +
        `or are cleared; they are kept across restarts. In the place of a host, ${IRONIC} is the embedded Ironic.`,
    )
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .option("--state-path <dir>", "the agent's own state_path, if nova.conf names another than the default");
  const run =
    <Arguments extends readonly unknown[]>(work: (bench: Bench, ...rest: Arguments) => Promise<number>) =>
    async (...rest: unknown[]): Promise<void> => {
      const bench = benchOf(command.opts<FaultOptions>());
      try {
        process.exitCode = await work(bench, ...(rest as unknown as Arguments));
      } catch (error) {
        if (!(error instanceof InvalidFault)) {
          throw error;
        }
        bench.terminal.complain(`compute-cluster fault: ${error.message}`);
        process.exitCode = ExitCode.usage;
      } finally {
        await bench.runtime.http.close();
      }
    };
  command
    .command("set <host> <rule...>")
    .option("--before-start", "also for hosts that there are not yet: their agents act on it from the first start")
    .description(
      `for example devstack2 driver.finishMigration=fail:once placement.put=409:4 conductor=partition:30s\n${FAULT_LANGUAGE}`,
    )
    .action(run<[string, string[], { beforeStart?: true }]>(set));
  command
    .command("list [host]")
    .description("what is set; without a host: of all hosts of the state directory")
    .option("--json", "as JSON")
    .action(run<[string | undefined, { json?: true }]>(list));
  destructive(command.command("clear <host> [point...]"))
    .description("takes away faults by their points; without one: all of the host")
    .action(run<[string, string[]]>(clear));
  command
    .command("points [host]")
    .description(
      `what can be set: everything; of a host, in its agent; of ${IRONIC}, in the embedded Ironic. Works without a cluster`,
    )
    .option("--json", "as JSON")
    .action(run<[string | undefined, { json?: true }]>(faultPoints));
  return command;
}

function benchOf({ stateDir: stateDirOption, statePath }: FaultOptions) {
  const directory = stateDir(stateDirOption, process.cwd());
  const runtime = createNodeRuntime({ logger: quietLogger });
  /** Returns the hosts of the state directory, and the embedded Ironic. */
  const hosts = async (): Promise<readonly string[]> => {
    const { [CONTROL_PLANE]: _, ...savedSettings } = await new HostSettingsStore(runtime.files, directory).read();
    return [...new Set([...(await hostsWithState(runtime.files, directory)), ...Object.keys(savedSettings)])]
      .toSorted()
      .concat(IRONIC);
  };
  return {
    runtime,
    terminal: createTerminal(),
    /** @param host of an agent, or {@link IRONIC} */
    target: (host: string): Target =>
      host === IRONIC && statePath === undefined
        ? { folder: directory.ironic, table: IRONIC_FAULTS }
        : { folder: statePath === undefined ? directory.agent(host) : resolve(statePath), table: AGENT_FAULTS },
    hosts,
    /**
     * Expands a name or range to hosts.
     * @throws {InvalidFault} a host never had an agent, and no `state_path` was named
     */
    hostsIn: async (text: string, { beforeStart = false } = {}): Promise<readonly string[]> => {
      const named = expandNames(text);
      const known = await hosts();
      const unknown = named.find((host) => !known.includes(host));
      if (statePath === undefined && unknown !== undefined && !beforeStart) {
        throw new InvalidFault(unknownHost(unknown, directory.root, known));
      }
      return named;
    },
  };
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
  bench: Bench,
  hosts: string,
  faultRules: readonly string[],
  { beforeStart }: { readonly beforeStart?: true },
): Promise<number> {
  const named = await bench.hostsIn(hosts, { beforeStart: beforeStart === true });
  const parsed = named.map((host) =>
    faultRules.map((faultRule) => parseFaultRule(faultRule, bench.target(host).table)),
  );
  await Promise.all(named.map((host, index) => setOne(bench, host, parsed[index] ?? [])));
  return ExitCode.ok;
}

/** Sets the faults of a host, and waits briefly for its agent to read them. */
async function setOne({ runtime, terminal, target }: Bench, host: string, parsed: readonly FaultRule[]): Promise<void> {
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

async function list(bench: Bench, host: string | undefined, options: { readonly json?: true }): Promise<number> {
  const { runtime, terminal } = bench;
  const rows: Row[] = [];
  for (const name of host === undefined ? await bench.hosts() : await bench.hostsIn(host)) {
    const { folder, table } = bench.target(name);
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
  terminal.print(
    options.json === true
      ? JSON.stringify(withFormerNames(rows, { rule: "knob" }), null, 2)
      : renderTable(COLUMNS, rows, terminal.columns),
  );
  return ExitCode.ok;
}

async function clear(bench: Bench, hosts: string, faultPoints: readonly string[]): Promise<number> {
  const { runtime, terminal, target } = bench;
  const named = await bench.hostsIn(hosts);
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
  return ExitCode.ok;
}

async function faultPoints(bench: Bench, host: string | undefined, options: { readonly json?: true }): Promise<number> {
  const groups = await pointGroups(bench, host);
  bench.terminal.print(options.json === true ? pointsJson(groups) : pointsText(groups));
  return ExitCode.ok;
}

async function pointGroups({ runtime, target, hostsIn }: Bench, requestedHost: string | undefined) {
  if (requestedHost === undefined) {
    return allPointGroups();
  }
  const [host = "", ...others] = await hostsIn(requestedHost);
  if (others.length > 0) {
    throw new InvalidFault(`expected one host, found ${others.length + 1} in "${requestedHost}"`);
  }
  const { folder, table } = target(host);
  return table === IRONIC_FAULTS ? ironicPointGroups() : pointGroupsOfHost(runtime.files, folder, host);
}

/** Returns the points of agents and of the embedded Ironic, by program and first word. */
export function allPointGroups(): readonly PointGroup[] {
  return [...groupPoints("agent", AGENT_FAULTS), ...groupPoints("embedded Ironic", IRONIC_FAULTS)];
}

/** Returns the points of the embedded Ironic. */
function ironicPointGroups(): readonly PointGroup[] {
  return groupPoints("embedded Ironic", IRONIC_FAULTS);
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
  const groups = new Map<string, FaultPoint[]>();
  for (const point of table.values()) {
    const [name = ""] = point.point.split(".");
    groups.set(name, [...(groups.get(name) ?? []), point]);
  }
  return [...groups].map(([name, points]) => ({ program, name, points }));
}
