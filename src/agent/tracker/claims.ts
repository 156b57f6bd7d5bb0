import { isConductorError } from "../../conductor-client/errors.js";
import type { AssignedResource, Instance, Migration } from "../../records/index.js";
import { ComputeResourcesUnavailable } from "../../virt/errors.js";
import type { Allocations } from "../../virt/types.js";
import { type BegunTask, type Claim, type ClaimAbort, TrackerError, UNPLACED } from "./contract.js";
import { readDisabled, recount, type UpdateOptions, updateNode } from "./node-update.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";

/**
 * Spec 4.2, build and unshelve. Does not check processors, memory and disk: Placement did that.
 * @throws {ComputeResourcesUnavailable} the node is unknown or unavailable, or discrete resources are used up. Any
 * error of the update: the claim has then reverted its writes.
 */
export async function instanceClaim(
  tracker: TrackerState,
  instance: Instance,
  nodeName: string,
  allocations: Allocations,
  requestId?: string,
  begun: Partial<BegunTask> = {},
): Promise<Claim> {
  const { conductor, host } = tracker;
  return tracker.lock.run(async () => {
    const node = await claimableNode(tracker, nodeName); // test
    const resources = takeResources(node, allocations);
    tracker.binding.epoch += 1;
    const saved = await conductor.call("instance_save", {
      ...begun,
      uuid: instance.uuid,
      changes: { host, node: nodeName, computeId: node.row.id, launchedOn: host, ...begun.changes },
    });
    node.account.countInstance(saved);
    node.account.assign(saved.uuid, resources);
    refreshDevices(tracker, node, allocations);
    const release = async ({ instance: changes, ...expected }: ClaimAbort = {}): Promise<Instance> => {
      tracker.binding.epoch += 1;
      const write = { uuid: saved.uuid, changes: { ...UNPLACED, ...changes } };
      const after = await orGone(saved, conductor.call("instance_save", { ...write, ...expected }));
      node.account.forgetInstance(saved.uuid);
      return after;
    };
    await updateOrRelease(tracker, node, release, requestId);
    return new TrackerClaim(tracker, node, saved, null, release);
  });
}

async function orGone(instance: Instance, saving: Promise<Instance>): Promise<Instance> {
  try {
    return await saving;
  } catch (error) {
    if (isConductorError(error, "InstanceNotFound")) {
      return instance;
    }
    throw error;
  }
}

/** @throws {ComputeResourcesUnavailable} */
export async function claimableNode(tracker: TrackerState, name: string): Promise<TrackedNode> {
  const node = tracker.nodes.get(name);
  if (node && (await tracker.driver.nodeIsAvailable(name))) {
    return node;
  }
  throw new ComputeResourcesUnavailable(
    `node ${name} is ${node ? "not available" : "not known"} on host ${tracker.host}: it can take no instance now`,
  );
}

/** Updates Placement and the node's row; if that fails, reverts the claim's writes in the same lock section. */
export async function updateOrRelease(
  tracker: TrackerState,
  node: TrackedNode,
  release: () => Promise<unknown>,
  requestId: string | undefined,
): Promise<void> {
  try {
    await readDisabled(tracker);
    await updateNode(tracker, node, { startup: false, requestId });
  } catch (error) {
    try {
      await release();
      recount(tracker, node);
    } catch (err) {
      tracker.logger.error("could not revert the writes of a failed claim; the next pass recounts", {
        node: node.row.hypervisorHostname,
        err,
      });
    }
    throw error;
  }
}

export class TrackerClaim implements Claim {
  readonly instance: Instance;
  readonly migration: Migration | null;
  readonly #tracker: TrackerState;
  readonly #node: TrackedNode;
  readonly #release: (options?: ClaimAbort) => Promise<Instance>;

  constructor(
    tracker: TrackerState,
    node: TrackedNode,
    instance: Instance,
    migration: Migration | null,
    release: (options?: ClaimAbort) => Promise<Instance>,
  ) {
    this.#tracker = tracker;
    this.#node = node;
    this.instance = instance;
    this.migration = migration;
    this.#release = release;
  }

  async abort(options: ClaimAbort = {}): Promise<Instance> {
    return this.#tracker.lock.run(async () => {
      const after = await this.#release(options);
      await updateQuietly(this.#tracker, this.#node);
      return after;
    });
  }
}

/** Updates the node for changes that must not fail because of Placement: the next pass repeats a failed update. */
export async function updateQuietly(
  tracker: TrackerState,
  node: TrackedNode,
  options: Pick<UpdateOptions, "statistics"> = {},
): Promise<void> {
  try {
    await updateNode(tracker, node, { startup: false, ...options });
  } catch (err) {
    tracker.logger.warn("the node could not be updated; retrying in the next pass", {
      node: node.row.hypervisorHostname,
      err,
    });
  }
}

function keyOf({ providerUuid, resourceClass, identifier }: AssignedResource): string {
  return `${providerUuid}/${resourceClass}/${identifier}`;
}

/**
 * Chooses free discrete resources for the allocations (spec 4.2), for each class that a provider of the node's tree has
 * a pool of. Skips providers of other trees.
 * @throws {ComputeResourcesUnavailable} a pool has too few left
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

/** Spec 4.4 step 12: logs assigned resources that are no longer in the tree. */
export function checkAssignedResources(tracker: TrackerState, node: TrackedNode): void {
  const missing = node.account.assigned.filter(
    ({ providerUuid, resourceClass, identifier }) =>
      !node.tree?.find(providerUuid)?.resources[resourceClass]?.includes(identifier),
  );
  if (missing.length === 0) {
    return;
  }
  const names = missing.map(keyOf).join(", ");
  const err = new TrackerError(
    "AssignedResourceNotFound",
    `assigned resources are not on node ${node.row.hypervisorHostname}: ${names}`,
  );
  tracker.logger.error(err.message, { node: node.row.hypervisorHostname, err });
}

/**
 * Spec 5.1 row 6: a claim may change the reserved amounts of its devices' providers, so their cached inventories are
 * read again. Devices are in providers below the node's root.
 */
export function refreshDevices(tracker: TrackerState, node: TrackedNode, allocations: Allocations): void {
  const below = new Set(node.tree?.exists(node.row.uuid) ? node.tree.providerUuids(node.row.uuid) : []);
  below.delete(node.row.uuid);
  for (const provider of Object.keys(allocations)) {
    if (below.has(provider)) {
      tracker.placement.invalidateAssociations(provider);
    }
  }
}
