import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import type { RequestContext } from "../../placement-client/types.js";
import type { ComputeNode } from "../../records/index.js";
import { InvalidConfiguration } from "../../virt/errors.js";
import type { AvailableResource } from "../../virt/types.js";
import { driverColumns, NodeAccount, TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";

export interface InitializedNode {
  readonly node: TrackedNode;
  /** True if the row was created now: there is no provider yet. */
  readonly isNew: boolean;
}

/**
 * Spec 4.4 step 2: returns the node's row, from the cache, found by uuid, or created, with the driver's values copied
 * into it.
 * @param uuid the driver's uuid of the node, else the host's `compute_id`
 * @param rows of this host, as the pass has just listed them; other rows (deleted, or of another host) are read
 * @throws {InvalidConfiguration} another row already has (host, name)
 */
export async function initComputeNode(
  tracker: TrackerState,
  name: string,
  uuid: string,
  resources: AvailableResource,
  rows: readonly ComputeNode[] = [],
): Promise<InitializedNode> {
  const cached = tracker.nodes.get(name);
  if (cached) {
    copyResources(tracker, cached, resources);
    return { node: cached, isNew: false };
  }
  const listed = rows.find((row) => row.uuid === uuid);
  const found = listed ?? (await tracker.conductor.call("compute_node_get_by_uuid", { uuid }));
  if (found && found.deleted !== 0 && tracker.options.noNodeUndelete) {
    throw new ConductorError(
      "DuplicateRecord",
      `compute node ${uuid} cannot be created: its deleted row has the uuid`,
      { uuid },
    );
  }
  if (found) {
    return { node: await adopt(tracker, found, resources), isNew: false };
  }
  const node = new TrackedNode(await create(tracker, name, uuid, resources));
  tracker.nodes.set(name, node);
  copyResources(tracker, node, resources);
  return { node, isNew: true };
}

/** Uses an existing row: undeletes it if necessary (bug 1839560), and takes it over from another host. */
async function adopt(tracker: TrackerState, found: ComputeNode, resources: AvailableResource): Promise<TrackedNode> {
  const { conductor, host, logger } = tracker;
  const moving = found.host !== host;
  if (moving) {
    logger.info("compute node is moving to this host", {
      node: found.hypervisorHostname,
      host,
      from: found.host,
    });
  }
  const row =
    found.deleted === 0 && !moving
      ? found
      : await conductor.call("compute_node_save", {
          id: found.id,
          changes: moving ? { host, serviceId: boundService(tracker) } : {},
          undelete: found.deleted !== 0,
        });
  const node = new TrackedNode(row);
  tracker.nodes.set(row.hypervisorHostname, node);
  copyResources(tracker, node, resources);
  return node;
}

async function create(
  tracker: TrackerState,
  name: string,
  uuid: string,
  resources: AvailableResource,
): Promise<ComputeNode> {
  const { options } = tracker;
  const { conductor, host, driver } = tracker;
  const columns = driverColumns(resources, null, driver.getHostIpAddr(), options);
  const used = new NodeAccount().used(columns, options, 0, resources.stats);
  try {
    return await conductor.call("compute_node_create", {
      host,
      serviceId: boundService(tracker),
      uuid,
      hypervisorHostname: name,
      resources: { metrics: "[]", pciDevicePools: [], ...columns, ...used },
      exclusive: options.exclusiveNames && !driver.rebalancesNodes,
    });
  } catch (error) {
    if (!isConductorError(error, "DuplicateRecord")) {
      throw error;
    }
    const { takenBy } = error.data;
    if (typeof takenBy === "string") {
      throw new InvalidConfiguration(
        `${error.message}: start the agent with --host ${takenBy}, whose hypervisor this is, or give this machine's hypervisor ` +
          "a name of its own",
        { cause: error },
      );
    }
    throw new InvalidConfiguration(
      `Duplicate compute node record found for host ${host} node ${name}: its uuid is another than ${uuid}, which this agent uses; ` +
        "put the uuid of that row into compute_id, or delete the compute service of that row, and start again",
      { cause: error },
    );
  }
}

function copyResources(tracker: TrackerState, node: TrackedNode, resources: AvailableResource): void {
  const { serviceId } = tracker.binding;
  node.driverStats = resources.stats ?? {};
  node.set({
    ...driverColumns(resources, node.row, tracker.driver.getHostIpAddr(), tracker.options),
    ...(serviceId === null ? {} : { serviceId }),
  });
}

function boundService(tracker: TrackerState): number {
  const { serviceId } = tracker.binding;
  if (serviceId === null) {
    throw new TypeError("bindService() comes before the first pass");
  }
  return serviceId;
}

/** Forgets nodes whose row is gone, so that row and provider are created again (spec 4.3 step 3, bug 1853009). */
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

/** Spec 4.3 step 4: removes rows of nodes that the driver does not list, but only if the driver reports them as deleted. */
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
      // One node must not prevent the pass of the others (spec V22).
      tracker.logger.error("could not check a compute node that the driver does not list", {
        node,
        err,
      });
    }
  }
}

async function removeOrphan(tracker: TrackerState, row: ComputeNode, request: RequestContext): Promise<void> {
  const { driver, conductor, host, logger } = tracker;
  const { hypervisorHostname: node } = row;
  if (!(await driver.isNodeDeleted(node))) {
    logger.warn("compute node is not listed by the driver; it is kept, as the driver does not report it as deleted", {
      node,
    });
    return;
  }
  logger.info("compute node was deleted on the hypervisor: its row and provider are removed", { node });
  const guard = tracker.options.unguardedNodeDelete ? await hostNow(tracker, row) : host;
  const destroyed = await conductor.call("compute_node_destroy", { id: row.id, host: guard });
  forgetNode(tracker, node);
  if (!destroyed) {
    logger.info("compute node has another host now: its provider is left to that one", { node });
    tracker.placement.invalidateResourceProvider(row.uuid);
    return;
  }
  await deleteProvider(tracker, row, request);
}

/** Returns the node's current host, whichever it is, which makes the guard of the delete worthless. */
async function hostNow(tracker: TrackerState, { uuid, host }: ComputeNode): Promise<string> {
  return (await tracker.conductor.call("compute_node_get_by_uuid", { uuid }))?.host ?? host;
}

async function deleteProvider(tracker: TrackerState, row: ComputeNode, request: RequestContext): Promise<void> {
  const { conductor, placement, logger, host } = tracker;
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
    logger.error("the provider of a deleted compute node could not be removed", { node, err });
  }
}

function forgetNode(tracker: TrackerState, name: string): void {
  const node = tracker.nodes.get(name);
  if (!node) {
    return;
  }
  tracker.nodes.delete(name);
  tracker.placement.invalidateResourceProvider(node.row.uuid);
}
