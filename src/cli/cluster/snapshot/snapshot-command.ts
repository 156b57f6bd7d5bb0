import { resolve } from "node:path";
import { Command } from "commander";
import { noClusterIn } from "../../../control-plane/local/state-dir.js";
import { finishInterruptedRestore } from "../../../control-plane/snapshot/restore.js";
import {
  downHostsText,
  readDownHosts,
  savedDownHosts,
  savedHostsSummary,
} from "../../../control-plane/snapshot/saved-state.js";
import {
  assertSameDrivers,
  assertSupportedDrivers,
  type ListedSnapshot,
  Snapshots,
} from "../../../control-plane/snapshot/snapshots.js";
import { ownStore } from "../../../control-plane/store/open-store.js";
import { ExitCode } from "../../ui/exit-code.js";
import { destructive } from "../../ui/suggestions.js";
import { type Column, renderTable } from "../../ui/table.js";
import { type ClusterContext, clusterCommand, inCluster, withStateDir } from "../cluster-command.js";
import { clusterState } from "../cluster-state.js";
import { confirmLosses, lossesSince } from "../losses.js";
import { placeText } from "../place.js";
import { putInPlace, restoreRunning } from "./cluster-restore.js";
import { readSnapshotMetadata, saveRunning } from "./live-snapshot.js";

/** The context of each `snapshot` command. */
interface SnapshotContext extends ClusterContext {
  readonly snapshots: Snapshots;
}

export function snapshotCommand(): Command {
  const command = new Command("snapshot")
    .summary("Save and restore the state of a cluster")
    .description(
      "A snapshot contains the state of the control plane, Placement, Identity and Ironic, and guests and disks of " +
        "fake-libvirt hypervisors. It also has the agents' identities, faults, and which hosts are killed or stopped. It is one file of " +
        "mode 0600, since it contains passwords.",
    );
  const add = (name: string, summary: string, description: string) =>
    withStateDir(command.command(name).summary(summary).description(description));
  add(
    "save <name>",
    "Save the current state",
    "Saves the current state. A running cluster is paused for at most one second.",
  )
    .option("--yes", "confirm the loss of an existing snapshot with this name")
    .action(inSnapshots((context, name: string, { yes }: YesFlag) => save(name, context, yes === true)));
  destructive(
    add(
      "restore <name>",
      "Restore a saved state",
      "Restores a saved state. A running cluster restarts with it at the same address.",
    ),
  )
    .option(
      "--yes",
      "confirm the loss of servers and hosts, and continue while agents run that the cluster has not started",
    )
    .option("--start-hosts", START_HOSTS)
    .action(inSnapshots((context, name: string, flags: RestoreFlags) => restore(name, context, flags)));
  add("list", "List the snapshots of the cluster", "Lists the snapshots of the cluster.")
    .option("--json", "print JSON")
    .action(inSnapshots(list));
  add(
    "show <name>",
    "Show the hosts of a snapshot",
    "Shows the hosts of a snapshot, and the states in which it restores them.",
  )
    .option("--json", "print JSON")
    .action(inSnapshots(show));
  destructive(add("delete <name>", "Delete a snapshot", "Deletes a snapshot.")).action(
    inSnapshots(async ({ snapshots, terminal }, name: string) => {
      await snapshots.delete(name);
      terminal.print(`${name}: deleted`);
    }),
  );
  add(
    "export <name> <file>",
    "Export a snapshot to a file",
    "Writes a snapshot to a file, for another cluster.",
  ).action(
    inSnapshots(async ({ snapshots, terminal }, name: string, file: string) => {
      snapshots.export(name, resolve(file));
      terminal.print(`${name}: written to ${file}; it contains passwords; only you can read it (mode 0600)`);
    }),
  );
  add(
    "import <file> <name>",
    "Import a snapshot from a file",
    "Reads a snapshot from a file. When it is restored, its paths become those of this cluster, and its tokens become invalid.",
  )
    .option("--yes", "confirm the loss of an existing snapshot with this name")
    .action(
      inSnapshots(
        async (context, file: string, name: string, { yes }: YesFlag) => {
          const { snapshots, terminal, stateDirOption } = context;
          const end = await confirmOverwrite(name, yes === true, "import", context);
          if (end !== undefined) {
            return end;
          }
          snapshots.import(resolve(file), name);
          terminal.print(
            `${name}: taken from ${file}; "compute-agent snapshot restore ${name}${placeText(stateDirOption)}" continues from its state`,
          );
          return ExitCode.ok;
        },
        { mayBeNew: true },
      ),
    );
  return command;
}

export function resetCommand(): Command {
  return destructive(clusterCommand("reset"))
    .summary("Reset a cluster to its state after `up`")
    .description(
      "Restores the state in which `up` had started everything, including which hosts were killed or stopped; a running " +
        "cluster restarts with it at the same address. The loss of servers or hosts needs confirmation on a terminal, or " +
        "--yes.",
    )
    .option(
      "--yes",
      "confirm the loss of servers and hosts, and continue while agents run that the cluster has not started",
    )
    .option("--start-hosts", START_HOSTS)
    .action(inSnapshots((context, flags: RestoreFlags) => restore(null, context, flags)));
}

/**
 * Returns an action that runs `work` with the snapshots of a cluster, after it has finished an interrupted restore.
 * @param options `mayBeNew`: the command also works where no cluster was started yet
 */
function inSnapshots<Arguments extends readonly unknown[]>(
  work: (context: SnapshotContext, ...args: Arguments) => Promise<number> | Promise<void>,
  { mayBeNew }: { readonly mayBeNew?: true } = {},
): ReturnType<typeof inCluster<Arguments>> {
  return inCluster(async (context, ...args: Arguments) => {
    const { directory, runtime } = context;
    const snapshots = new Snapshots(directory, runtime.files);
    const isNew = (await runtime.files.stat(directory.database)) === undefined;
    if (isNew && mayBeNew !== true && (await snapshots.list()).length === 0) {
      throw noClusterIn(directory);
    }
    await finishInterruptedRestore(directory, runtime.files);
    return (await work({ ...context, snapshots }, ...args)) ?? ExitCode.ok;
  });
}

/** Help text of the flag of `restore` and `reset`. */
const START_HOSTS = "also start hosts that were killed, stopped or suspended when the state was saved";

interface RestoreFlags {
  readonly yes?: true;
  readonly startHosts?: true;
}

interface YesFlag {
  readonly yes?: true;
}

interface JsonFlag {
  readonly json?: true;
}

/** Asks for confirmation if a snapshot with the name exists. @returns an exit code to end with; undefined to continue */
async function confirmOverwrite(
  name: string,
  yes: boolean,
  command: "save" | "import",
  { snapshots, terminal }: SnapshotContext,
): Promise<number | undefined> {
  const savedAt = await snapshots.savedAt(name);
  const losses = savedAt === undefined ? [] : [`snapshot ${name} of ${new Date(savedAt).toISOString()}`];
  return confirmLosses({ command: `compute-agent snapshot ${command}`, verb: "overwrites", losses, yes }, terminal);
}

async function save(name: string, context: SnapshotContext, yes: boolean): Promise<number> {
  const { directory, runtime, snapshots, terminal } = context;
  const end = await confirmOverwrite(name, yes, "save", context);
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

/**
 * Restores a saved state, in the running cluster if there is one, and prints the result.
 * @param name null: the state after the start
 * @returns the exit code
 */
async function restore(
  name: string | null,
  { directory, runtime, snapshots, terminal, stateDirOption }: SnapshotContext,
  flags: RestoreFlags,
): Promise<number> {
  const { yes = false, startHosts = false } = flags;
  const snapshot = snapshots.read(name);
  const losses = await lossesSince(snapshot, directory, runtime);
  const command = name === null ? "compute-agent reset" : `compute-agent snapshot restore ${name}`;
  const end = await confirmLosses({ command, losses, yes }, terminal);
  if (end !== undefined) {
    return end;
  }
  const { metadata } = snapshot;
  let missing: readonly string[] = [];
  if ((await clusterState(directory.root, runtime)).state === "running") {
    missing = await restoreRunning(name, { directory, runtime, terminal, metadata, yes, startHosts });
    terminal.print(`${name ?? "the state after the start"}: restored`);
  } else {
    if (name !== null) {
      assertSameDrivers(snapshot, (await readSnapshotMetadata(directory, runtime)).drivers);
    }
    await putInPlace({ snapshot, directory, startHosts });
    const done = name === null ? "reset" : `${name}: restored`;
    terminal.print(`${done}; "compute-agent up${placeText(stateDirOption)}" continues from its state`);
  }
  for (const line of startHosts ? [] : downHostsText(metadata.hosts, placeText(stateDirOption))) {
    terminal.print(line);
  }
  for (const text of missing) {
    terminal.complain(`compute-agent: ${text}`);
  }
  return missing.length === 0 ? ExitCode.ok : ExitCode.failure;
}

async function list({ snapshots, terminal }: SnapshotContext, { json }: JsonFlag): Promise<void> {
  const listed = await snapshots.list((name, reason) => terminal.complain(`compute-agent: ${name}: ${reason}`));
  if (json) {
    const views = listed.map(({ savedAt, states = null, ...rest }) => {
      return { ...rest, states, savedAt: new Date(savedAt).toISOString() };
    });
    terminal.print(JSON.stringify(views, null, 2));
  } else if (listed.length === 0) {
    terminal.print('No snapshots: none was saved yet. "compute-agent snapshot save NAME" saves one.');
  } else {
    terminal.print(renderTable(COLUMNS, listed, terminal.columns));
  }
}

async function show({ snapshots, terminal }: SnapshotContext, name: string, { json }: JsonFlag): Promise<void> {
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
