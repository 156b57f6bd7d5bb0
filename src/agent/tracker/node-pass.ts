import type { PlacementPass } from "../../placement-client/pass.js";
import type { RequestContext } from "../../placement-client/types.js";
import type { ComputeNode } from "../../records/index.js";
import type { AvailableResource } from "../../virt/types.js";
import { removeDeletedInstancesAllocations } from "./allocation-cleaner.js";
import { checkAssignedResources } from "./assigned-resources.js";
import { initComputeNode } from "./compute-nodes.js";
import { countRecords } from "./count-records.js";
import type { RecordReader } from "./node-records.js";
import { updateNode } from "./node-update.js";
import type { TrackerState } from "./tracker-state.js";

export interface NodePassOptions {
  readonly startup: boolean;
  readonly reader: RecordReader;
  /** Whether the driver lists the node. */
  readonly available: boolean;
  /** The host's, when the pass began; default: nobody has listed them. */
  readonly rows?: readonly ComputeNode[];
  readonly pass?: PlacementPass | undefined;
  /** What the pass asks of Placement says that it is one. */
  readonly request: RequestContext;
}

/** Spec 4.4, step by step. The driver is asked outside of the lock; everything else is one lock section. */
export async function runNodePass(tracker: TrackerState, name: string, options: NodePassOptions): Promise<void> {
  const { driver } = tracker.context;
  const resources = await driver.getAvailableResource(name); // 1
  await tracker.lock.run(() => countAndUpdate(tracker, name, resources, options));
}

/** What follows step 1. The caller holds the lock. */
export async function countAndUpdate(
  tracker: TrackerState,
  name: string,
  resources: AvailableResource,
  { startup, reader, available, rows = [], pass, request }: NodePassOptions,
): Promise<void> {
  const uuid = resources.uuid ?? (await tracker.context.localNodeUuid());
  const where = { host: tracker.context.host, node: name };
  const { node, isNew } = await initComputeNode(tracker, name, uuid, resources, rows); // 2
  if (!available) {
    return; // 3
  }
  const records = await reader.read(name); // 4
  await countRecords(tracker, node, where, records); // 5-8, 10
  if (!isNew) {
    const migrations = new Set(records.migrations.map((migration) => migration.uuid));
    await removeDeletedInstancesAllocations(tracker, node, where, migrations, { ...request, pass }); // 9
  }
  await updateNode(tracker, node, { startup, pass, ...request }); // 11
  if (startup) {
    checkAssignedResources(tracker, node); // 12
  }
}
