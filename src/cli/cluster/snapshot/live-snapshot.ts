import { readClusterInfo, type StateDir } from "../../../cluster/local/state-dir.js";
import { savedHosts } from "../../../cluster/snapshot/saved-hosts.js";
import { refuseForeignDrivers, Snapshots } from "../../../cluster/snapshot/snapshots.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { withOperatorSession } from "../operator-session.js";
import { whilePaused } from "./paused.js";
import { snapshotFacts } from "./snapshot-facts.js";

/**
 * Saves the state of a cluster that runs, and how its hosts are. It stands for that, for a second at most.
 * @param name null: the state after a start @throws {SnapshotRefused}
 */
export async function saveRunning(
  name: string | null,
  place: { readonly directory: StateDir; readonly runtime: Runtime },
): Promise<void> {
  const { directory, runtime } = place;
  const hosts = await withOperatorSession("snapshot-save", place, (session) =>
    session.call("list_hosts", { host: null }),
  );
  const facts = await snapshotFacts(directory, runtime);
  refuseForeignDrivers(facts.drivers);
  const snapshots = new Snapshots(directory, runtime.files);
  const controlPlane = (await readClusterInfo(runtime.files, directory))?.pid;
  const pids = [...hosts.map(({ pid }) => pid), controlPlane ?? null].filter((pid) => pid !== null);
  await whilePaused(pids, { directory, runtime }, (check, found) => {
    snapshots.save(name, { ...facts, hosts: savedHosts(hosts, found) }, { check });
  });
}
