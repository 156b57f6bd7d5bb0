import type { HostProcess } from "../../../conductor-client/methods/session.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { readClusterInfo, type StateDir } from "../../../control-plane/local/state-dir.js";
import { restoreSnapshot } from "../../../control-plane/snapshot/restore.js";
import {
  type DownHosts,
  type DownState,
  downHosts,
  SnapshotRejectedError,
} from "../../../control-plane/snapshot/saved-state.js";
import type { Snapshot, SnapshotMetadata } from "../../../control-plane/snapshot/snapshot-file.js";
import { assertSameDrivers, Snapshots } from "../../../control-plane/snapshot/snapshots.js";
import { ownStore } from "../../../control-plane/store/open-store.js";
import { foldHosts } from "../../../records/host-names.js";
import { nodeClock } from "../../../runtime/node/node-builtins.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { quietLogger } from "../../ui/logging.js";
import type { Terminal } from "../../ui/terminal.js";
import { withOperatorSession } from "../operator-session.js";
import { noHeartbeatText, untilReadyBySession } from "../until-ready.js";
import { readSnapshotMetadata, saveRunning } from "./live-snapshot.js";

/** Milliseconds between two tries to reach the control plane that comes back. */
const TRY_EVERY = 25;

/** The same between two looks whether all hosts serve again, and until nobody looks any more. */
const LOOK_EVERY = 50;

const RESTORE_TIMEOUT_MS = 120_000;

/** The same between two looks whether its processes are there. */
const LOST_EVERY = 250;

const UNDER_WAY: readonly HostProcess["state"][] = ["starting", "waiting", "restarting", "stopping"];

/** A host that nobody started is stopped, and not missed. */
const MISSED: readonly HostProcess["state"][] = [...UNDER_WAY, "failed", "killed"];

interface RestorePlace {
  readonly directory: StateDir;
  readonly runtime: Runtime;
  /** Null: nobody reads what is said of the wait. */
  readonly terminal: Pick<Terminal, "complain"> | null;
  /** What the snapshot says. */
  readonly metadata: Pick<SnapshotMetadata, "hosts">;
  /** Agents that the cluster did not start are left to find out by themselves. */
  readonly yes: boolean;
  /** Hosts are started, too, that were down when the state was saved. */
  readonly startHosts: boolean;
}

/**
 * Has a cluster that runs go on from a saved state, and waits until it does.
 * @param name null: the state after its start
 * @returns hosts that do not serve, with the reasons @throws {SnapshotRejectedError}
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
      const ended = "the cluster was stopped before it had begun to restore; its state is what it was";
      const { pid } = await Promise.race([restoreRequest, untilGone(controlPlane, ended, runtime, signal)]);
      const lost = `the cluster has not come back: ${directory.logs} has its logs; compute-cluster up goes on from the restored state`;
      const down = startHosts ? new Map<string, DownState>() : downHosts(metadata.hosts);
      const ready = untilServed(session, down, runtime, terminal);
      return await Promise.race([ready, untilGone(pid, lost, runtime, signal)]);
    } finally {
      over.abort();
    }
  });
}

/**
 * Waits until the cluster's own agents serve, and servers can be scheduled to their hosts. What becomes of other agents was agreed to.
 * @param down hosts that the restored state has down
 * @returns the hosts for which that is not so, with the reasons
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
    // What was asked of the control plane that ends, the next one answers.
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

/** @param reason what it comes to. @throws {Error} with the reason, once the process has ended. @throws the signal's reason */
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

/** @throws {SnapshotRejectedError} agents that `up` has not started would go on from a state that is gone */
async function assertNoForeignAgents(session: HostSession): Promise<void> {
  const rows = await session.call("list_hosts", { host: null });
  const foreignHosts = rows.filter(({ process, state }) => process === "elsewhere" && state === "serving");
  if (foreignHosts.length > 0) {
    throw new SnapshotRejectedError(
      `this cluster has not started the agents of ${foldHosts(foreignHosts.map(({ host }) => host))}: they would go on with what they know of the ` +
        "state that goes; stop them first, or agree to it with --yes, and start them again afterwards",
    );
  }
}

/** What `up` puts in the place of the state that it has, once everything has stopped. */
export interface StateToRestore {
  readonly snapshot: Snapshot;
  readonly directory: StateDir;
  /** Also hosts that were down in that state. */
  readonly startHosts: boolean;
}

/** @param name null: the state after the start @throws {SnapshotRefused} */
export async function stateToRestore(
  name: string | null,
  directory: StateDir,
  startHosts: boolean,
): Promise<StateToRestore> {
  const runtime = createNodeRuntime({ logger: quietLogger });
  try {
    const snapshot = new Snapshots(directory, runtime.files).read(name);
    assertSameDrivers(snapshot, (await readSnapshotMetadata(directory, runtime)).drivers);
    return { snapshot, directory, startHosts };
  } finally {
    await runtime.http.close();
  }
}

/** Nobody may have the state directory. @returns where the next control plane is to be found: where this one was */
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

/** Saves what `reset` goes back to; what keeps it from that is said by `reset`. */
export async function saveStart(directory: StateDir): Promise<void> {
  const runtime = createNodeRuntime({ logger: quietLogger });
  try {
    await new Snapshots(directory, runtime.files).forgetStart();
    await saveRunning(null, { directory, runtime }).catch(() => undefined);
  } finally {
    await runtime.http.close();
  }
}
