import { isConductorError } from "../../conductor-client/errors.js";
import {
  type AssignedResource,
  FINAL_MIGRATION_STATUSES,
  type Flavor,
  type Instance,
  type InstanceChanges,
  isVolumeBacked,
  type Migration,
  type MigrationChanges,
  type MigrationContext,
  REBUILD_TASK_STATES,
  type TaskState,
} from "../../records/index.js";
import type { Allocations } from "../../virt/types.js";
import { claimableNode, refreshDevices, TrackerClaim, takeResources, updateOrRelease } from "./claims.js";
import type { Claim, ClaimAbort } from "./contract.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";
import { countsMigration, flavorOfMigration, flavorUsage } from "./usage.js";

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
  // Another evacuation's task_state has the same name.
  const ours = requestId === undefined ? {} : { ofRequest: requestId };
  return moveClaim(tracker, {
    instance,
    nodeName,
    migration,
    allocations,
    requestId,
    // Spec 6.7 row 3: an instance that is being deleted by now counts nowhere.
    claims: { changes: {}, expected: { expectedTaskState: ["rebuilding"], ...ours } },
    releases: { changes: {}, expected: { expectedTaskState: REBUILD_TASK_STATES, ...ours } },
  });
}

/**
 * Spec 4.2, a resize on its destination: a move claim with the new flavor, which is counted in addition to the
 * instances. The same save records the instance's previous vm_state in the row (spec 6.3 row 4).
 * @throws {ComputeResourcesUnavailable} UnexpectedTaskState: the instance is no longer in resize_prep
 */
export async function resizeClaim(
  tracker: TrackerState,
  instance: Instance,
  nodeName: string,
  migration: Migration,
  newFlavor: Flavor,
  allocations: Allocations,
  requestId?: string,
): Promise<Claim> {
  const systemMetadata = { ...instance.systemMetadata, old_vm_state: instance.vmState };
  return moveClaim(tracker, {
    instance,
    nodeName,
    migration,
    allocations,
    requestId,
    claims: { changes: { newFlavor, systemMetadata }, expected: { expectedTaskState: ["resize_prep"] } },
    releases: { changes: { newFlavor: null }, expected: { expectedTaskState: ["resize_prep"] } },
  });
}

interface MoveClaim {
  readonly instance: Instance;
  readonly nodeName: string;
  readonly migration: Migration;
  readonly allocations: Allocations;
  readonly requestId: string | undefined;
  readonly claims: InstanceWrite;
  readonly releases: InstanceWrite;
}

/** The changes of the instance besides its migration context, and the task_states that they require. */
interface InstanceWrite {
  readonly changes: InstanceChanges;
  readonly expected: { readonly expectedTaskState: readonly TaskState[]; readonly ofRequest?: string };
}

async function moveClaim(
  tracker: TrackerState,
  { instance, nodeName, migration, allocations, requestId, claims, releases }: MoveClaim,
): Promise<Claim> {
  const { conductor, host, driver } = tracker;
  return tracker.lock.run(async () => {
    const node = await claimableNode(tracker, nodeName);
    const resources = takeResources(node, allocations);
    tracker.binding.epoch += 1;
    const saved = await conductor.call("save_together", {
      instance: {
        uuid: instance.uuid,
        changes: { migrationContext: moveContext(instance, migration, resources), ...claims.changes },
        ...claims.expected,
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
      const end = migrationStatus ? { id: move.id, changes: { status: migrationStatus } } : undefined;
      const instanceChange = {
        uuid: moved.uuid,
        changes: { migrationContext: null, ...releases.changes, ...changes },
        ...releases.expected,
      };
      return unlessTaken(tracker, node, { instance: moved, migration: move, end }, () =>
        conductor.call("save_together", { instance: instanceChange, ...(end ? { migration: end } : {}) }),
      );
    };
    await updateOrRelease(tracker, node, release, requestId);
    return new TrackerClaim(tracker, node, moved, move, release);
  });
}

/** Counts the move on the node as a pass would. */
function countMove(tracker: TrackerState, node: TrackedNode, instance: Instance, migration: Migration): void {
  const where = { host: tracker.host, node: node.row.hypervisorHostname };
  const flavor = flavorOfMigration(migration, instance, where, node.account.hasInstance(instance.uuid));
  node.account.countMigration(migration, flavor && flavorUsage(flavor, isVolumeBacked(instance)));
}

interface Claimed {
  readonly instance: Instance;
  readonly migration: Migration;
  /** The final changes of the migration; undefined: it continues elsewhere. */
  readonly end: MigrationEnd | undefined;
}

/**
 * Reverts a move claim's writes to both records. If another request owns the instance, only the migration ends; a
 * deleted instance has deleted its migrations.
 */
async function unlessTaken(
  tracker: TrackerState,
  node: TrackedNode,
  { instance, migration, end }: Claimed,
  write: () => Promise<{ readonly instance: Instance | null }>,
): Promise<Instance> {
  const { conductor } = tracker;
  try {
    return (await write()).instance ?? instance;
  } catch (error) {
    if (!isConductorError(error, "InstanceNotFound", "UnexpectedTaskState")) {
      throw error;
    }
    if (isConductorError(error, "InstanceNotFound")) {
      return instance;
    }
    const saved = end ? await conductor.call("save_together", { migration: end }) : null;
    const now = await conductor.call("instance_get", { uuid: instance.uuid });
    const ended = saved?.migration ?? migration;
    // An instance counts on the destination of any move that is running or in error (spec 4.5).
    const isOver = ended.status !== "error" && FINAL_MIGRATION_STATUSES.includes(ended.status);
    if (now && !isOver && countsMigration(now, ended, tracker.options.ignoreErroredEvacuations)) {
      countMove(tracker, node, now, ended);
    }
    return now ?? instance;
  }
}

interface MigrationEnd {
  readonly id: number;
  readonly changes: MigrationChanges;
}

function moveContext(
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
