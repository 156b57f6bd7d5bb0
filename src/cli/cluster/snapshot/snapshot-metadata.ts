import { driverRecordPath, readDriverRecord } from "../../../agent/startup/driver-record.js";
import { hostsWithState, type StateDir } from "../../../control-plane/local/state-dir.js";
import type { SnapshotMetadata } from "../../../control-plane/snapshot/snapshot-file.js";
import { mapConcurrently } from "../../../runtime/queue.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { version } from "../../ui/version.js";

/** Files that are read at a time. */
const AT_A_TIME = 32;

/** What a snapshot says of the cluster as it is now. A host that never served has no driver yet. */
export async function readSnapshotMetadata(
  directory: StateDir,
  { files, clock }: Pick<Runtime, "files" | "clock">,
): Promise<SnapshotMetadata> {
  const hosts = await hostsWithState(files, directory);
  const drivers = await mapConcurrently(hosts, AT_A_TIME, async (host) => {
    const recorded = await readDriverRecord(files, driverRecordPath(directory.agent(host), host)).catch(
      () => undefined,
    );
    return recorded === undefined ? [] : [[host, recorded.name] as const];
  });
  return {
    savedAt: clock.now(),
    program: version(),
    root: directory.root,
    drivers: Object.fromEntries(drivers.flat()),
  };
}
