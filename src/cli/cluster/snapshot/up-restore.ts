import { readClusterInfo, type StateDir } from "../../../control-plane/local/state-dir.js";
import { restoreSnapshot } from "../../../control-plane/snapshot/restore.js";
import type { Snapshot } from "../../../control-plane/snapshot/snapshot-file.js";
import { assertSameDrivers, Snapshots } from "../../../control-plane/snapshot/snapshots.js";
import { ownStore } from "../../../control-plane/store/open-store.js";
import { nodeClock } from "../../../runtime/node/node-clock.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import { quietLogger } from "../../ui/quiet-logger.js";
import { saveRunning } from "./live-snapshot.js";
import { readSnapshotMetadata } from "./snapshot-metadata.js";

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
