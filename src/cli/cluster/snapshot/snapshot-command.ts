import { resolve } from "node:path";
import { Command } from "commander";
import { DEFAULT_STATE_DIR, type StateDir, stateDir } from "../../../control-plane/local/state-dir.js";
import { finishInterruptedRestore } from "../../../control-plane/snapshot/restore.js";
import {
  downHostsText,
  readDownHosts,
  savedDownHosts,
  savedHostsSummary,
} from "../../../control-plane/snapshot/saved-state.js";
import type { Snapshot } from "../../../control-plane/snapshot/snapshot-file.js";
import {
  assertSameDrivers,
  assertSupportedDrivers,
  type ListedSnapshot,
  Snapshots,
} from "../../../control-plane/snapshot/snapshots.js";
import { ownStore } from "../../../control-plane/store/open-store.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { destructive } from "../../ui/command-line.js";
import { ExitCode } from "../../ui/exit-code.js";
import { quietLogger } from "../../ui/logging.js";
import { type Column, renderTable } from "../../ui/table.js";
import { createTerminal, type Terminal } from "../../ui/terminal.js";
import { clusterState } from "../cluster-state.js";
import { confirmLosses, lossesSince } from "../losses.js";
import { placeText } from "../place.js";
import { putInPlace, restoreRunning } from "./cluster-restore.js";
import { readSnapshotMetadata, saveRunning } from "./live-snapshot.js";

/** The context of each `snapshot` command. */
export interface SnapshotPlace {
  readonly directory: StateDir;
  readonly runtime: Runtime;
  readonly snapshots: Snapshots;
  readonly terminal: Terminal;
  /** The value of `--state-dir`. */
  readonly stateDirOption: string;
}

export function snapshotCommand(): Command {
  const command = new Command("snapshot")
    .summary("save the whole state of the cluster, and go back to it")
    .description(
      "A snapshot has what control plane, Placement and Identity know, guests and disks of fake-libvirt hypervisors, the agents' " +
        "identities, Ironic's nodes, faults, and which hosts are killed or stopped. It is one file of mode 0600: it has passwords.",
    );
  const add = (name: string, text: string) =>
    command
      .command(name)
      .description(text)
      .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR);
  add("save <name>", "save the state as it is now; a cluster that runs stands for that, for a second at most")
    .option("--yes", "agree to the loss of a snapshot that has the name")
    .action((name: string, { stateDir: stateDirOption, yes }: StateDirFlag & YesFlag) =>
      run(stateDirOption, (place) => save(name, place, yes === true)),
    );
  destructive(
    add("restore <name>", "go back to a saved state; a cluster that runs starts again with it, at the same address"),
  )
    .option(
      "--yes",
      "agree to the loss of servers and hosts, and go on while agents run that the cluster has not started",
    )
    .option("--start-hosts", START_HOSTS)
    .action((name: string, { stateDir: stateDirOption, yes, startHosts }: StateDirFlag & RestoreFlags) =>
      run(stateDirOption, (place) => restore(name, place, { yes: yes === true, startHosts: startHosts === true })),
    );
  add("list", "the snapshots of the cluster")
    .option("--json", "as JSON")
    .action(({ stateDir: stateDirOption, json }: StateDirFlag & { readonly json?: true }) =>
      run(stateDirOption, (place) => list(place, json === true)),
    );
  add("show <name>", "the hosts of a snapshot, and in which states it brings them back")
    .option("--json", "as JSON")
    .action((name: string, { stateDir: stateDirOption, json }: StateDirFlag & { readonly json?: true }) =>
      run(stateDirOption, (place) => show(name, place, json === true)),
    );
  destructive(add("delete <name>", "delete a snapshot")).action(
    (name: string, { stateDir: stateDirOption }: StateDirFlag) =>
      run(stateDirOption, async ({ snapshots, terminal }) => {
        await snapshots.delete(name);
        terminal.print(`${name}: deleted`);
        return ExitCode.ok;
      }),
  );
  add("export <name> <file>", "write a snapshot to a file, for another cluster").action(
    (name: string, file: string, { stateDir: stateDirOption }: StateDirFlag) =>
      run(stateDirOption, async ({ snapshots, terminal }) => {
        snapshots.export(name, resolve(file));
        terminal.print(`${name}: written to ${file}; it contains passwords; only you can read it (mode 0600)`);
        return ExitCode.ok;
      }),
  );
  add(
    "import <file> <name>",
    "take a snapshot from a file; its paths become this cluster's when it is restored, and its tokens end",
  )
    .option("--yes", "agree to the loss of a snapshot that has the name")
    .action((file: string, name: string, { stateDir: stateDirOption, yes }: StateDirFlag & YesFlag) =>
      run(stateDirOption, async ({ snapshots, terminal, stateDirOption: place }) => {
        const end = await confirmOverwrite(name, yes === true, "import", { snapshots, terminal });
        if (end !== undefined) {
          return end;
        }
        snapshots.import(resolve(file), name);
        terminal.print(
          `${name}: taken from ${file}; "compute-cluster snapshot restore ${name}${placeText(place)}" goes on from it`,
        );
        return ExitCode.ok;
      }),
    );
  return command;
}

/** Help text of the flag of `restore` and `reset`. */
export const START_HOSTS = "start hosts, too, that were killed, stopped or suspended when the state was saved";

export interface RestoreFlags {
  readonly yes?: true;
  readonly startHosts?: true;
}

interface StateDirFlag {
  readonly stateDir: string;
}

interface YesFlag {
  readonly yes?: true;
}

/** Asks for confirmation if a snapshot with the name exists. @returns an exit code to end with; undefined to continue */
async function confirmOverwrite(
  name: string,
  yes: boolean,
  command: "save" | "import",
  { snapshots, terminal }: Pick<SnapshotPlace, "snapshots" | "terminal">,
): Promise<number | undefined> {
  const savedAt = await snapshots.savedAt(name);
  const losses = savedAt === undefined ? [] : [`snapshot ${name} of ${new Date(savedAt).toISOString()}`];
  return confirmLosses({ command: `compute-cluster snapshot ${command}`, verb: "overwrites", losses, yes }, terminal);
}

/** Runs `work` with the cluster of a state directory, and sets the exit code to its result. */
export async function run(stateDirOption: string, work: (place: SnapshotPlace) => Promise<number>): Promise<void> {
  const runtime = createNodeRuntime({ logger: quietLogger });
  try {
    const directory = stateDir(stateDirOption, process.cwd());
    await finishInterruptedRestore(directory, runtime.files);
    const snapshots = new Snapshots(directory, runtime.files);
    process.exitCode = await work({ directory, runtime, snapshots, terminal: createTerminal(), stateDirOption });
  } finally {
    await runtime.http.close();
  }
}

async function save(name: string, place: SnapshotPlace, yes: boolean): Promise<number> {
  const { directory, runtime, snapshots, terminal } = place;
  const end = await confirmOverwrite(name, yes, "save", place);
  if (end !== undefined) {
    return end;
  }
  if ((await clusterState(directory.root, runtime)).state === "running") {
    await saveRunning(name, { directory, runtime });
  } else {
    const down = await readDownHosts(directory, runtime.files);
    const metadata = {
      ...(await readSnapshotMetadata(directory, runtime)),
      ...(down.size > 0 && { hosts: savedDownHosts(down) }),
    };
    assertSupportedDrivers(metadata.drivers);
    const release = await ownStore(directory.database, runtime.files);
    try {
      snapshots.save(name, metadata);
    } finally {
      release();
    }
  }
  terminal.print(`${name}: saved`);
  return ExitCode.ok;
}

async function restore(
  name: string,
  place: SnapshotPlace,
  flags: { readonly yes: boolean; readonly startHosts: boolean },
): Promise<number> {
  const { directory, runtime, snapshots, terminal, stateDirOption } = place;
  const snapshot = snapshots.read(name);
  const losses = await lossesSince(snapshot, directory, runtime);
  const end = await confirmLosses(
    { command: `compute-cluster snapshot restore ${name}`, losses, yes: flags.yes },
    terminal,
  );
  if (end !== undefined) {
    return end;
  }
  if ((await clusterState(directory.root, runtime)).state === "running") {
    return restoreAndReport({ snapshot, name, what: name }, place, flags);
  }
  assertSameDrivers(snapshot, (await readSnapshotMetadata(directory, runtime)).drivers);
  await putInPlace({ snapshot, directory, startHosts: flags.startHosts });
  terminal.print(`${name}: restored; "compute-cluster up${placeText(stateDirOption)}" goes on from there`);
  reportDownHosts(snapshot, place, flags.startHosts);
  return ExitCode.ok;
}

/**
 * Restores a saved state in the running cluster, and prints the result.
 * @param saved `name` null: the state after the start; `what`: its description for users
 * @returns the exit code
 */
export async function restoreAndReport(
  saved: { readonly snapshot: Snapshot; readonly name: string | null; readonly what: string },
  place: SnapshotPlace,
  flags: { readonly yes: boolean; readonly startHosts: boolean },
): Promise<number> {
  const { directory, runtime, terminal } = place;
  const missing = await restoreRunning(saved.name, {
    directory,
    runtime,
    terminal,
    metadata: saved.snapshot.metadata,
    ...flags,
  });
  terminal.print(`${saved.what}: restored`);
  reportDownHosts(saved.snapshot, place, flags.startHosts);
  for (const text of missing) {
    terminal.complain(`compute-cluster: ${text}`);
  }
  return missing.length === 0 ? ExitCode.ok : ExitCode.failure;
}

/** Prints which hosts stay down after a restore. */
export function reportDownHosts(
  { metadata }: Snapshot,
  { terminal, stateDirOption }: SnapshotPlace,
  startHosts: boolean,
): void {
  for (const line of startHosts ? [] : downHostsText(metadata.hosts, placeText(stateDirOption))) {
    terminal.print(line);
  }
}

async function list({ snapshots, terminal }: SnapshotPlace, json: boolean): Promise<number> {
  const listed = await snapshots.list((name, reason) => terminal.complain(`compute-cluster: ${name}: ${reason}`));
  if (json) {
    const views = listed.map(({ savedAt, states = null, ...rest }) => {
      return { ...rest, states, savedAt: new Date(savedAt).toISOString() };
    });
    terminal.print(JSON.stringify(views, null, 2));
  } else if (listed.length === 0) {
    terminal.print('Nothing was saved yet: "compute-cluster snapshot save NAME" does.');
  } else {
    terminal.print(renderTable(COLUMNS, listed, terminal.columns));
  }
  return ExitCode.ok;
}

async function show(name: string, { snapshots, terminal }: SnapshotPlace, json: boolean): Promise<number> {
  const { metadata, bytes } = snapshots.read(name);
  const { savedAt, program, drivers, hosts: states = {} } = metadata;
  const names = [...new Set([...Object.keys(drivers), ...Object.keys(states)])];
  const hosts = names.toSorted(new Intl.Collator("en", { numeric: true }).compare).map((host): SnapshotHostRow => {
    const { state = null, forcedDown = null } = states[host] ?? {};
    return { host, driver: drivers[host] ?? null, state, forcedDown };
  });
  const saved = new Date(savedAt).toISOString();
  if (json) {
    terminal.print(JSON.stringify({ name, savedAt: saved, program, bytes, hosts }, null, 2));
  } else {
    terminal.print(`${name}: saved ${saved} by version ${program}, ${bytes} bytes`);
    terminal.print(renderTable(HOST_COLUMNS, hosts, terminal.columns));
  }
  return ExitCode.ok;
}

/** A host of a snapshot; null for what the snapshot does not record. */
interface SnapshotHostRow {
  readonly host: string;
  readonly driver: string | null;
  readonly state: string | null;
  readonly forcedDown: boolean | null;
}

const HOST_COLUMNS: readonly Column<SnapshotHostRow>[] = [
  { title: "Host", value: ({ host }) => host },
  { title: "Driver", value: ({ driver }) => driver ?? "-" },
  { title: "State", value: ({ state, forcedDown }) => `${state ?? "-"}${forcedDown === true ? ", forced down" : ""}` },
];

const COLUMNS: readonly Column<ListedSnapshot>[] = [
  { title: "Name", value: ({ name }) => name },
  { title: "Saved", value: ({ savedAt }) => new Date(savedAt).toISOString() },
  { title: "Hosts", value: ({ hosts }) => String(hosts), align: "right" },
  { title: "States", value: ({ states }) => savedHostsSummary(states), wraps: true },
  { title: "Bytes", value: ({ bytes }) => String(bytes), align: "right" },
];
