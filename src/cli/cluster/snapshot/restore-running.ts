import { readClusterInfo, type StateDir } from "../../../cluster/local/state-dir.js";
import { SnapshotRefused } from "../../../cluster/snapshot/snapshot-error.js";
import type { HostProcess } from "../../../conductor/methods/hosts.js";
import type { HostSession } from "../../../conductor/port.js";
import { foldHosts } from "../../../records/host-range.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { clusterState } from "../cluster-state.js";
import { withOperatorSession } from "../operator-session.js";

/** Milliseconds between two looks whether it serves again, and until nobody looks any more. */
const LOOK_EVERY = 25;
const PATIENCE = 120_000;

const UNDER_WAY: readonly HostProcess["state"][] = ["starting", "waiting", "restarting", "stopping"];

interface RestorePlace {
  readonly directory: StateDir;
  readonly runtime: Runtime;
}

/**
 * Has a cluster that runs go on from a saved state, and waits until it does.
 * @param name null: the state after its start @param yes agents that it did not start are left to find out by themselves
 * @returns hosts that do not serve, with the reasons @throws {SnapshotRefused}
 */
export async function restoreRunning(
  name: string | null,
  { directory, runtime, yes }: RestorePlace & { readonly yes: boolean },
): Promise<readonly string[]> {
  const { files, processes, timers, clock } = runtime;
  const before = await readClusterInfo(files, directory);
  const { pid } = await withOperatorSession("snapshot-restore", { runtime, directory }, async (session) => {
    if (!yes) {
      await refuseStrangers(session);
    }
    return session.call("restore_cluster", { snapshot: name });
  });
  const begin = clock.monotonic();
  for (;;) {
    if (!processes.isAlive(pid) || clock.monotonic() - begin > PATIENCE) {
      throw new Error(
        `the cluster has not come back: ${directory.logs} has its logs; compute-cluster up goes on from the restored state`,
      );
    }
    const info = await readClusterInfo(files, directory);
    if (
      info !== undefined &&
      info.pid !== before?.pid &&
      (await clusterState(directory.root, runtime)).state === "running"
    ) {
      break;
    }
    await timers.sleep(LOOK_EVERY);
  }
  return withOperatorSession("snapshot-restore", { runtime, directory }, async (session) => {
    for (;;) {
      const rows = await session.call("list_hosts", { host: null });
      if (!rows.some(({ state }) => UNDER_WAY.includes(state)) || clock.monotonic() - begin > PATIENCE) {
        return rows
          .filter(({ state }) => state === "failed" || UNDER_WAY.includes(state))
          .map(({ host, state, reason }) => `${host} ${state}: ${reason}`);
      }
      await timers.sleep(LOOK_EVERY);
    }
  });
}

/** @throws {SnapshotRefused} agents that `up` has not started would go on from a state that is gone */
async function refuseStrangers(session: HostSession): Promise<void> {
  const rows = await session.call("list_hosts", { host: null });
  const strangers = rows.filter(({ process, state }) => process === "elsewhere" && state === "serving");
  if (strangers.length > 0) {
    throw new SnapshotRefused(
      `this cluster has not started the agents of ${foldHosts(strangers.map(({ host }) => host))}: they would go on with what they know of the ` +
        "state that goes; stop them first, or agree to it with --yes, and start them again afterwards",
    );
  }
}
