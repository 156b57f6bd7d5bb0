import { InstanceNotFound, UnexpectedTaskState } from "../../conductor/errors.js";
import {
  type AssignedResource,
  type Instance,
  isVolumeBacked,
  type Migration,
  type MigrationChanges,
  type MigrationContext,
  REBUILD_TASK_STATES,
} from "../../records/index.js";
import { ComputeResourcesUnavailable } from "../../virt/errors.js";
import type { Allocations } from "../../virt/types.js";
import { UNPLACED } from "../unplaced.js";
import { takeResources } from "./assigned-resources.js";
import type { Claim, ClaimAbort } from "./contract.js";
import { refreshDevices } from "./device-providers.js";
import { readDisabled, recount, updateNode } from "./node-update.js";
import type { UpdateOptions } from "./provider-update.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";
import { countsMigration, flavorOfMigration, flavorUsage } from "./usage.js";

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
): Promise<Claim> {
  const { conductor, host } = tracker.context;
  return tracker.lock.run(async () => {
    const node = await claimableNode(tracker, nodeName); // test
    const resources = takeResources(node, allocations);
    tracker.binding.epoch += 1;
    const saved = await conductor.call("instance_save", {
      uuid: instance.uuid,
      changes: { host, node: nodeName, computeId: node.row.id, launchedOn: host },
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

/**
 * Spec 4.2, evacuation on its destination: a move claim whose flavor is the instance's.
 * @throws {ComputeResourcesUnavailable}
 */
export async function rebuildClaim(
  tracker: TrackerState,
  instance: Instance,
  nodeName: string,
  migration: Migration,
  allocations: Allocations,
  requestId?: string,
): Promise<Claim> {
  const { conductor, host, driver } = tracker.context;
  return tracker.lock.run(async () => {
    const node = await claimableNode(tracker, nodeName);
    const resources = takeResources(node, allocations);
    tracker.binding.epoch += 1;
    const saved = await conductor.call("save_together", {
      instance: {
        uuid: instance.uuid,
        changes: { migrationContext: moveContext(instance, migration, resources) },
        // Spec 6.7 row 3: one that is being deleted by now counts nowhere.
        expectedTaskState: ["rebuilding"],
      },
      migration: {
        id: migration.id,
        changes: {
          destCompute: host,
          destNode: nodeName,
          destComputeId: node.row.id,
          destHost: driver.getHostIpAddr(),
          status: "pre-migrating",
        },
      },
    });
    const [moved, move] = [saved.instance ?? instance, saved.migration ?? migration];
    countMove(tracker, node, moved, move);
    node.account.assign(moved.uuid, resources);
    refreshDevices(tracker, node, allocations);
    const release = async ({ migrationStatus, instance: changes }: ClaimAbort = {}): Promise<Instance> => {
      tracker.binding.epoch += 1;
      node.account.forgetMigration(moved.uuid);
      const migrationChange: { migration?: MigrationEnd } = migrationStatus
        ? { migration: { id: move.id, changes: { status: migrationStatus } } }
        : {};
      const instanceChange = {
        uuid: moved.uuid,
        changes: { migrationContext: null, ...changes },
        expectedTaskState: REBUILD_TASK_STATES,
      };
      return unlessTaken(tracker, node, { instance: moved, migration: move, end: migrationChange.migration }, () =>
        conductor.call("save_together", { instance: instanceChange, ...migrationChange }),
      );
    };
    await updateOrRelease(tracker, node, release, requestId);
    return new TrackerClaim(tracker, node, moved, move, release);
  });
}

/** Counts the move on the node as a pass would. */
export function countMove(tracker: TrackerState, node: TrackedNode, instance: Instance, migration: Migration): void {
  const where = { host: tracker.context.host, node: node.row.hypervisorHostname };
  const flavor = flavorOfMigration(migration, instance, where, node.account.hasInstance(instance.uuid));
  node.account.countMigration(migration, flavor && flavorUsage(flavor, isVolumeBacked(instance)));
}

interface Claimed {
  readonly instance: Instance;
  readonly migration: Migration;
  /** How the migration ends; undefined: it goes on elsewhere. */
  readonly end: MigrationEnd | undefined;
}

/**
 * Takes back what a move claim wrote into both records. An instance that another request has by now keeps what it has, and the
 * migration ends alone; one that is deleted has taken its migrations along.
 */
export async function unlessTaken(
  tracker: TrackerState,
  node: TrackedNode,
  { instance, migration, end }: Claimed,
  write: () => Promise<{ readonly instance: Instance | null }>,
): Promise<Instance> {
  const { conductor } = tracker.context;
  try {
    return (await write()).instance ?? instance;
  } catch (error) {
    if (!(error instanceof InstanceNotFound || error instanceof UnexpectedTaskState)) {
      throw error;
    }
    if (error instanceof InstanceNotFound) {
      return instance;
    }
    const saved = end ? await conductor.call("save_together", { migration: end }) : null;
    const now = await conductor.call("instance_get", { uuid: instance.uuid });
    const ended = saved?.migration ?? migration;
    // An evacuation's instance counts wherever a move leads that is not over, or has failed (spec 4.5).
    if (now && countsMigration(now, ended, tracker.options.ignoreErroredEvacuations)) {
      countMove(tracker, node, now, ended);
    }
    return now ?? instance;
  }
}

interface MigrationEnd {
  readonly id: number;
  readonly changes: MigrationChanges;
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

export function moveContext(
  instance: Instance,
  migration: Migration,
  newResources: readonly AssignedResource[],
): MigrationContext {
  return {
    instanceUuid: instance.uuid,
    migrationId: migration.id,
    oldNumaTopology: null,
    newNumaTopology: null,
    oldPciDevices: [],
    newPciDevices: [],
    oldResources: [],
    newResources,
  };
}
