import type { HostProcess } from "../../../conductor-client/methods/session.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { readClusterInfo, type StateDir } from "../../../control-plane/local/state-dir.js";
import { restoreSnapshot } from "../../../control-plane/snapshot/restore.js";
import {
  type DownHosts,
  type DownState,
  downHosts,
  snapshotRejected,
} from "../../../control-plane/snapshot/saved-state.js";
import type { Snapshot, SnapshotMetadata } from "../../../control-plane/snapshot/snapshot-file.js";
import { assertSameDrivers, Snapshots } from "../../../control-plane/snapshot/snapshots.js";
import { ownStore } from "../../../control-plane/store/open-store.js";
import { foldHosts } from "../../../records/host-names.js";
import { nodeClock } from "../../../runtime/node/node-builtins.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import type { Runtime } from "../../../runtime/runtime.js";
import type { Terminal } from "../../ui/terminal.js";
import { withRuntime } from "../cluster-command.js";
import { withOperatorSession } from "../operator-session.js";
import { noHeartbeatText, untilReadyBySession } from "../until-ready.js";
import { readSnapshotMetadata, saveRunning } from "./live-snapshot.js";

/** Milliseconds between two attempts to reach the restarting control plane. */
const TRY_EVERY = 25;

/** Milliseconds between two polls whether all hosts serve, and the timeout of the restore. */
const LOOK_EVERY = 50;

const RESTORE_TIMEOUT_MS = 120_000;

/** Milliseconds between two checks whether the control plane's process is alive. */
const LOST_EVERY = 250;

const UNDER_WAY: readonly HostProcess["state"][] = ["starting", "waiting", "restarting", "stopping"];

/** A host that was never started is `stopped`, which is not a failure. */
const MISSED: readonly HostProcess["state"][] = [...UNDER_WAY, "failed", "killed"];

interface RestorePlace {
  readonly directory: StateDir;
  readonly runtime: Runtime;
  /** Prints progress; null prints none. */
  readonly terminal: Pick<Terminal, "complain"> | null;
  readonly metadata: Pick<SnapshotMetadata, "hosts">;
  /** Skips the check for agents that the cluster did not start. */
  readonly yes: boolean;
  /** Also starts hosts that were down when the state was saved. */
  readonly startHosts: boolean;
}

/**
 * Restores a saved state in a running cluster, and waits until its hosts serve.
 * @param name null: the state after its start
 * @returns hosts that do not serve, with the reasons
 * @throws {ClusterError} `SnapshotRefused`
 */
export async function restoreRunning(
  name: string | null,
  { directory, runtime, terminal, metadata, yes, startHosts }: RestorePlace,
): Promise<readonly string[]> {
  const controlPlane = (await readClusterInfo(runtime.files, directory))?.pid ?? 0;
  const place = { runtime, directory, again: { every: TRY_EVERY, timeoutMs: RESTORE_TIMEOUT_MS } };
  return withOperatorSession("snapshot-restore", place, async (session) => {
    if (!yes) {
      await assertNoForeignAgents(session);
    }
    const over = new AbortController();
    const { signal } = over;
    try {
      const restoreRequest = session.call("restore_cluster", {
        snapshot: name,
        ...(startHosts ? { startHosts } : {}),
      });
      const ended = "the cluster was stopped before the restore began; its state is unchanged";
      const { pid } = await Promise.race([restoreRequest, untilGone(controlPlane, ended, runtime, signal)]);
      const lost = `the cluster did not restart: see ${directory.logs}; compute-agent up continues from the restored state`;
      const down = startHosts ? new Map<string, DownState>() : downHosts(metadata.hosts);
      const ready = untilServed(session, down, runtime, terminal);
      return await Promise.race([ready, untilGone(pid, lost, runtime, signal)]);
    } finally {
      over.abort();
    }
  });
}

/**
 * Waits until the cluster's own agents serve, and servers can be scheduled to their hosts. Other agents are ignored, as was
 * confirmed.
 * @param down hosts that are down in the restored state
 * @returns the hosts that did not become ready, with the reasons
 */
async function untilServed(
  session: HostSession,
  down: DownHosts,
  runtime: Runtime,
  terminal: RestorePlace["terminal"],
): Promise<readonly string[]> {
  const { timers, clock } = runtime;
  const begin = clock.monotonic();
  for (;;) {
    // A request that the ending control plane did not handle is sent again to the next one.
    const all = await session.call("list_hosts", { host: null }, { timeout: RESTORE_TIMEOUT_MS });
    const rows = all.filter(({ process }) => process !== "elsewhere");
    if (!rows.some(({ state }) => UNDER_WAY.includes(state)) || clock.monotonic() - begin > RESTORE_TIMEOUT_MS) {
      const serving = rows.filter(({ state }) => state === "serving").map(({ host }) => host);
      const silent = await untilReadyBySession(serving, session, runtime, terminal);
      return [
        ...rows
          .filter(({ host, state }) => MISSED.includes(state) && down.get(host) !== state)
          .map(({ host, state, reason }) => `${host} ${state}: ${reason}`),
        ...silent.map((host) => `${host}: ${noHeartbeatText(host)}`),
      ];
    }
    await timers.sleep(LOOK_EVERY);
  }
}

/** @throws {Error} with `reason`, once the process has ended. @throws the signal's reason */
async function untilGone(
  pid: number,
  reason: string,
  { processes, timers }: Runtime,
  signal: AbortSignal,
): Promise<never> {
  while (processes.isAlive(pid)) {
    await timers.sleep(LOST_EVERY, signal);
  }
  throw new Error(reason);
}

/** @throws {ClusterError} `SnapshotRefused` agents that `up` did not start would continue with a state that no longer exists */
async function assertNoForeignAgents(session: HostSession): Promise<void> {
  const rows = await session.call("list_hosts", { host: null });
  const foreignHosts = rows.filter(({ process, state }) => process === "elsewhere" && state === "serving");
  if (foreignHosts.length > 0) {
    throw snapshotRejected(
      `this cluster did not start the agents of ${foldHosts(foreignHosts.map(({ host }) => host))}: they would continue with their knowledge of the ` +
        "replaced state; stop them first, or confirm with --yes and restart them afterwards",
    );
  }
}

/** The state that `up` restores once everything has stopped. */
export interface StateToRestore {
  readonly snapshot: Snapshot;
  readonly directory: StateDir;
  /** Also starts hosts that were down in that state. */
  readonly startHosts: boolean;
}

/** @param name null: the state after the start @throws {ClusterError} `SnapshotRefused` */
export function stateToRestore(name: string | null, directory: StateDir, startHosts: boolean): Promise<StateToRestore> {
  return withRuntime(async (runtime) => {
    const snapshot = new Snapshots(directory, runtime.files).read(name);
    assertSameDrivers(snapshot, (await readSnapshotMetadata(directory, runtime)).drivers);
    return { snapshot, directory, startHosts };
  });
}

/**
 * Restores the snapshot; the state directory must not be in use.
 * @returns the port of the last control plane, for the next one
 */
export async function putInPlace({
  snapshot,
  directory,
  startHosts,
}: StateToRestore): Promise<{ readonly port?: number }> {
  const files = new NodeFiles();
  const release = await ownStore(directory.database, files);
  try {
    restoreSnapshot(directory.root, snapshot, { now: nodeClock().now(), startHosts });
  } finally {
    release();
  }
  const url = (await readClusterInfo(files, directory))?.url;
  return url === undefined ? {} : { port: Number(new URL(url).port) };
}

/** Saves the state that `reset` restores. A failure is ignored here, since `reset` reports it. */
export async function saveStart(directory: StateDir): Promise<void> {
  await withRuntime(async (runtime) => {
    await new Snapshots(directory, runtime.files).forgetStart();
    await saveRunning(null, { directory, runtime }).catch(() => undefined);
  });
}
