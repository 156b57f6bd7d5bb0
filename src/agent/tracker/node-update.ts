import type { TrackerParts } from "./parts.js";
import { type UpdateOptions, updateToPlacement } from "./provider-update.js";
import type { TrackedNode } from "./tracked-node.js";

/** Derives the used columns of the node's row from its account; saves nothing. */
export function recount(parts: TrackerParts, node: TrackedNode): void {
  node.set(node.account.used(node.row, parts.options, node.failedBuilds, node.driverStats));
}

/**
 * Spec 4.4 step 11, under the lock: Placement first, then the row, if it differs from what was last persisted. A save that
 * failed leaves the last image as it was, so the next pass tries again.
 */
export async function updateNode(parts: TrackerParts, node: TrackedNode, options: UpdateOptions): Promise<void> {
  recount(parts, node);
  await updateToPlacement(parts, node, options);
  await saveNode(parts, node);
}

export async function saveNode(parts: TrackerParts, node: TrackedNode): Promise<void> {
  const changes = node.changes();
  if (changes === null) {
    return;
  }
  node.persisted(await parts.context.conductor.call("compute_node_save", { id: node.row.id, changes }));
}

/** Reads the Service row's `disabled`, which the status trait follows (spec 2.5). */
export async function readDisabled(parts: TrackerParts): Promise<void> {
  const { conductor, host, runtime } = parts.context;
  const service = await conductor.call("service_get_by_host", { host, binary: "nova-compute" });
  if (!service) {
    runtime.logger.error("the compute service has no row: COMPUTE_STATUS_DISABLED stays as it is", { host });
  }
  parts.binding.disabled = service?.disabled ?? null;
}
