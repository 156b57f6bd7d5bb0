import { type UpdateOptions, updateToPlacement } from "./provider-update.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";

/** Derives the used columns of the node's row from its account; saves nothing. */
export function recount(tracker: TrackerState, node: TrackedNode): void {
  node.set(node.account.used(node.row, tracker.options, node.failedBuilds, node.driverStats));
}

/**
 * Spec 4.4 step 11, under the lock: Placement first, then the row, if it differs from what was last persisted. A save that
 * failed leaves the last image as it was, so the next pass tries again.
 */
export async function updateNode(tracker: TrackerState, node: TrackedNode, options: UpdateOptions): Promise<void> {
  recount(tracker, node);
  await updateToPlacement(tracker, node, options);
  const changes = node.changes();
  if (changes === null || (options.statistics === "later" && !hasNonStatistics(changes))) {
    return;
  }
  node.persisted(await tracker.context.conductor.call("compute_node_save", { id: node.row.id, changes }));
}

/** What each step of a guest changes, and nobody schedules by. */
const STATISTICS: readonly string[] = ["runningVms", "currentWorkload", "stats"];

function hasNonStatistics(changes: object): boolean {
  return Object.keys(changes).some((column) => !STATISTICS.includes(column));
}

/** Reads the Service row's `disabled`, which the status trait follows (spec 2.5). */
export async function readDisabled(tracker: TrackerState): Promise<void> {
  const { conductor, host, runtime } = tracker.context;
  const service = await conductor.call("service_get_by_host", { host, binary: "nova-compute" });
  if (!service) {
    runtime.logger.error("the compute service has no row: COMPUTE_STATUS_DISABLED stays as it is", { host });
  }
  tracker.binding.disabled = service?.disabled ?? null;
}
