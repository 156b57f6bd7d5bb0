import type { Allocations } from "../../virt/types.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";

/**
 * Spec 5.1 row 6: a claim may change what its devices' providers reserve, so that what is remembered of their inventories is
 * read again. Devices are what the node has in providers below its root.
 */
export function refreshDevices(tracker: TrackerState, node: TrackedNode, allocations: Allocations): void {
  const below = new Set(node.tree?.exists(node.row.uuid) ? node.tree.providerUuids(node.row.uuid) : []);
  below.delete(node.row.uuid);
  for (const provider of Object.keys(allocations)) {
    if (below.has(provider)) {
      tracker.context.placement.invalidateAssociations(provider);
    }
  }
}
