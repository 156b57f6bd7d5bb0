import type { HostRow } from "../../../conductor-client/methods/hosts.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { readClusterInfo, type StateDir } from "../../../control-plane/local/state-dir.js";
import { savedHosts } from "../../../control-plane/snapshot/saved-hosts.js";
import { assertSupportedDrivers, Snapshots } from "../../../control-plane/snapshot/snapshots.js";
import { mapConcurrently } from "../../../runtime/queue.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { withOperatorSession } from "../operator-session.js";
import { whilePaused } from "./paused.js";
import { readSnapshotMetadata } from "./snapshot-metadata.js";

/** Hosts of other processes that are asked about at a time. */
const AT_A_TIME = 64;

/**
 * Saves the state of a cluster that runs, and how its hosts are. It stands for that, for a second at most.
 * @param name null: the state after a start @throws {SnapshotRefused}
 */
export async function saveRunning(
  name: string | null,
  place: { readonly directory: StateDir; readonly runtime: Runtime },
): Promise<void> {
  const { directory, runtime } = place;
  const { hosts, pids } = await withOperatorSession("snapshot-save", place, async (session) => {
    const all = await session.call("list_hosts", { host: null });
    return { hosts: all, pids: await pidsHere(all, session, runtime.processes.machine) };
  });
  const metadata = await readSnapshotMetadata(directory, runtime);
  assertSupportedDrivers(metadata.drivers);
  const snapshots = new Snapshots(directory, runtime.files);
  const controlPlane = (await readClusterInfo(runtime.files, directory))?.pid;
  await whilePaused(
    controlPlane === undefined ? pids : [...pids, controlPlane],
    { directory, runtime },
    (check, found) => {
      snapshots.save(name, { ...metadata, hosts: savedHosts(hosts, found) }, { check });
    },
  );
}

/**
 * Returns the processes of this machine that serve hosts. Agents of other machines have pids that mean other processes here.
 * @internal for tests
 */
export async function pidsHere(
  hosts: readonly Pick<HostRow, "host" | "pid" | "process">[],
  session: Pick<HostSession, "call">,
  machine: string,
): Promise<readonly number[]> {
  const pids = await mapConcurrently(hosts, AT_A_TIME, async ({ host, pid, process }) => {
    if (process !== "elsewhere") {
      return pid;
    }
    const holder = await session.call("host_lease_holder", { host });
    return holder?.machine === machine ? holder.pid : null;
  });
  return pids.filter((pid) => pid !== null);
}
