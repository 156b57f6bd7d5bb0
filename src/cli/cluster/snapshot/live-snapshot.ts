import { readClusterInfo, type StateDir } from "../../../cluster/local/state-dir.js";
import { refuseForeignDrivers, Snapshots } from "../../../cluster/snapshot/snapshots.js";
import type { HostProcess } from "../../../conductor/methods/hosts.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { whilePaused } from "./paused.js";
import { snapshotFacts } from "./snapshot-facts.js";

/**
 * Saves the state of a cluster that runs. It stands for that, for a second at most.
 * @param name null: the state after a start @param hosts what their processes are @throws {SnapshotRefused}
 */
export async function saveLive(
  name: string | null,
  hosts: readonly Pick<HostProcess, "pid">[],
  { directory, runtime }: { readonly directory: StateDir; readonly runtime: Runtime },
): Promise<void> {
  const facts = await snapshotFacts(directory, runtime);
  refuseForeignDrivers(facts.drivers);
  const snapshots = new Snapshots(directory, runtime.files);
  const controlPlane = (await readClusterInfo(runtime.files, directory))?.pid;
  const pids = [...hosts.map(({ pid }) => pid), controlPlane ?? null].filter((pid) => pid !== null);
  await whilePaused(pids, { directory, runtime }, (check) => {
    snapshots.save(name, facts, { check });
  });
}
