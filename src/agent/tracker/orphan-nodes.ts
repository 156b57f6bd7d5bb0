import type { RequestContext } from "../../placement-client/types.js";
import type { ComputeNode } from "../../records/index.js";
import type { TrackerState } from "./tracker-state.js";

/** Forgets nodes whose row is gone, so that row and provider are made again (spec 4.3 step 3, bug 1853009). */
export function forgetNodesWithoutRow(tracker: TrackerState, rows: readonly ComputeNode[]): void {
  if (tracker.options.unguardedNodeDelete) {
    return;
  }
  const alive = new Set(rows.map(({ hypervisorHostname }) => hypervisorHostname));
  for (const name of tracker.nodes.keys()) {
    if (!alive.has(name)) {
      forgetNode(tracker, name);
    }
  }
}

/** Spec 4.3 step 4: rows of nodes that the driver does not list. Kept unless the driver is sure that they are deleted. */
export async function removeOrphans(
  tracker: TrackerState,
  rows: readonly ComputeNode[],
  listed: ReadonlySet<string>,
  request: RequestContext,
): Promise<void> {
  for (const row of rows) {
    const node = row.hypervisorHostname;
    if (listed.has(node)) {
      continue;
    }
    try {
      await removeOrphan(tracker, row, request);
    } catch (err) {
      // One node must not keep the others from their pass (spec V22).
      tracker.context.runtime.logger.error("compute node that the driver does not list could not be judged", {
        node,
        err,
      });
    }
  }
}

async function removeOrphan(tracker: TrackerState, row: ComputeNode, request: RequestContext): Promise<void> {
  const { driver, conductor, host, runtime } = tracker.context;
  const { hypervisorHostname: node } = row;
  if (!(await driver.isNodeDeleted(node))) {
    runtime.logger.warn(
      "compute node is not listed by the driver; it is kept, as the driver does not call it deleted",
      {
        node,
      },
    );
    return;
  }
  runtime.logger.info("compute node was deleted on the hypervisor: its row and provider are removed", { node });
  const guard = tracker.options.unguardedNodeDelete ? await hostNow(tracker, row) : host;
  const destroyed = await conductor.call("compute_node_destroy", { id: row.id, host: guard });
  forgetNode(tracker, node);
  if (!destroyed) {
    runtime.logger.info("compute node has another host now: its provider is left to that one", { node });
    tracker.context.placement.invalidateResourceProvider(row.uuid);
    return;
  }
  await deleteProvider(tracker, row, request);
}

/** Matches the node whatever host it has now, which makes the guard of the delete worthless. */
async function hostNow({ context }: TrackerState, { uuid, host }: ComputeNode): Promise<string> {
  return (await context.conductor.call("compute_node_get_by_uuid", { uuid }))?.host ?? host;
}

async function deleteProvider(tracker: TrackerState, row: ComputeNode, request: RequestContext): Promise<void> {
  const { conductor, placement, runtime, host } = tracker.context;
  const node = row.hypervisorHostname;
  try {
    const instances = await conductor.call("instances_by_host_and_node", { host, node });
    const evacuations = await conductor.call("migrations_by_filters", {
      filters: { sourceCompute: host, migrationTypes: ["evacuation"], statuses: ["done"] },
    });
    await placement.deleteResourceProvider(row.uuid, {
      ...request,
      cascade: {
        instances: instances.map(({ uuid }) => uuid),
        evacuated: evacuations.map(({ instanceUuid }) => instanceUuid),
      },
    });
  } catch (err) {
    runtime.logger.error("the provider of a deleted compute node could not be removed", { node, err });
  }
}

function forgetNode(tracker: TrackerState, name: string): void {
  const node = tracker.nodes.get(name);
  if (!node) {
    return;
  }
  tracker.nodes.delete(name);
  tracker.context.placement.invalidateResourceProvider(node.row.uuid);
}
