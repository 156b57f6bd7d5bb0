import { InstanceNotFound } from "../../conductor-client/errors.js";
import type { Instance, Migration } from "../../records/index.js";
import { ComputeResourcesUnavailable } from "../../virt/errors.js";
import type { Allocations } from "../../virt/types.js";
import { UNPLACED } from "../unplaced.js";
import { takeResources } from "./assigned-resources.js";
import type { BegunTask, Claim, ClaimAbort } from "./contract.js";
import { refreshDevices } from "./device-providers.js";
import { readDisabled, recount, updateNode } from "./node-update.js";
import type { UpdateOptions } from "./provider-update.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";

/**
 * Spec 4.2, build and unshelve. Processors, memory and disk are not tested: Placement did that.
 * @throws {ComputeResourcesUnavailable} the node is unknown or unavailable, or discrete resources are used up.
 * What the update throws: the claim has then taken back what it wrote.
 */
export async function instanceClaim(
  tracker: TrackerState,
  instance: Instance,
  nodeName: string,
  allocations: Allocations,
  requestId?: string,
  begun: Partial<BegunTask> = {},
): Promise<Claim> {
  const { conductor, host } = tracker.context;
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
    if (error instanceof InstanceNotFound) {
      return instance;
    }
    throw error;
  }
}

/** @throws {ComputeResourcesUnavailable} */
export async function claimableNode(tracker: TrackerState, name: string): Promise<TrackedNode> {
  const node = tracker.nodes.get(name);
  if (node && (await tracker.context.driver.nodeIsAvailable(name))) {
    return node;
  }
  throw new ComputeResourcesUnavailable(
    `node ${name} is ${node ? "not available" : "not known"} on host ${tracker.context.host}: it can take no instance now`,
  );
}

/** Placement and the node's row; when that fails the claim takes back what it wrote, in the same lock section. */
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
      tracker.context.runtime.logger.error(
        "what a failed claim wrote could not be taken back; the next pass counts it",
        {
          node: node.row.hypervisorHostname,
          err,
        },
      );
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

/** For changes that must not fail with Placement: what was not written is written by the next pass. */
export async function updateQuietly(
  tracker: TrackerState,
  node: TrackedNode,
  options: Pick<UpdateOptions, "statistics"> = {},
): Promise<void> {
  try {
    await updateNode(tracker, node, { startup: false, ...options });
  } catch (err) {
    tracker.context.runtime.logger.warn("the node could not be updated; the next pass does it", {
      node: node.row.hypervisorHostname,
      err,
    });
  }
}
