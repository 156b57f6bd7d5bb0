import type { AssignedResource } from "../../records/index.js";
import { ComputeResourcesUnavailable } from "../../virt/errors.js";
import type { Allocations } from "../../virt/types.js";
import { AssignedResourceNotFound } from "./errors.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";

function keyOf({ providerUuid, resourceClass, identifier }: AssignedResource): string {
  return `${providerUuid}/${resourceClass}/${identifier}`;
}

/**
 * Chooses free discrete resources for the allocations (spec 4.2): for each class that a provider of the node's tree has a
 * pool of. Providers of other trees are skipped.
 * @throws {ComputeResourcesUnavailable} a pool has too few left.
 */
export function takeResources(node: TrackedNode, allocations: Allocations): readonly AssignedResource[] {
  const taken = new Set(node.account.assigned.map(keyOf));
  const chosen: AssignedResource[] = [];
  for (const [providerUuid, { resources }] of Object.entries(allocations)) {
    const pools = node.tree?.find(providerUuid)?.resources ?? {};
    for (const [resourceClass, amount] of Object.entries(resources)) {
      const pool = pools[resourceClass];
      if (!pool) {
        continue;
      }
      const free = pool
        .map((identifier) => ({ providerUuid, resourceClass, identifier }))
        .filter((resource) => !taken.has(keyOf(resource)));
      if (free.length < amount) {
        throw new ComputeResourcesUnavailable(
          `provider ${providerUuid} has ${free.length} of ${pool.length} ${resourceClass} free, ${amount} are needed`,
        );
      }
      chosen.push(...free.slice(0, amount));
    }
  }
  return chosen;
}

/** Spec 4.4 step 12: everything that was handed out must still be in the tree; what is not is logged. */
export function checkAssignedResources(tracker: TrackerState, node: TrackedNode): void {
  const missing = node.account.assigned.filter(
    ({ providerUuid, resourceClass, identifier }) =>
      !node.tree?.find(providerUuid)?.resources[resourceClass]?.includes(identifier),
  );
  if (missing.length === 0) {
    return;
  }
  const names = missing.map(keyOf).join(", ");
  const err = new AssignedResourceNotFound(
    `assigned resources are not on node ${node.row.hypervisorHostname}: ${names}`,
  );
  tracker.context.runtime.logger.error(err.message, { node: node.row.hypervisorHostname, err });
}
