import { isConductorError } from "../../conductor-client/errors.js";
import {
  type AssignedResource,
  FINAL_MIGRATION_STATUSES,
  type Instance,
  type InstanceChanges,
  type Migration,
  type TaskState,
} from "../../records/index.js";
import { ComputeResourcesUnavailable } from "../../virt/errors.js";
import type { Allocations } from "../../virt/types.js";
import { type Claim, TrackerError } from "./contract.js";
import { countMove } from "./node-records.js";
import { readDisabled, recount, updateNode, updateQuietly } from "./node-update.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";
import { countsMigration } from "./usage.js";

interface ClaimRequest {
  readonly nodeName: string;
  readonly allocations: Allocations;
  readonly requestId: string | undefined;
}

/** The records as saved by a claim, and how to revert the writes; the caller must hold the lock. */
interface WrittenClaim {
  readonly instance: Instance;
  readonly migration: Migration | null;
  readonly release: Claim["abort"];
}

/**
 * Claims a node for an instance: `write` saves the records and counts them. Counts the claim in the metrics, except for
 * errors that do not concern the host's resources.
 * @throws {ComputeResourcesUnavailable}
 */
export async function claim(
  tracker: TrackerState,
  { kind, nodeName, allocations, requestId }: ClaimRequest & { readonly kind: "instance" | "move" },
  write: (node: TrackedNode, resources: readonly AssignedResource[]) => Promise<WrittenClaim>,
): Promise<Claim> {
  const { lock, metrics } = tracker;
  try {
    return await lock.run(async () => {
      const node = await claimableNode(tracker, nodeName);
      const resources = takeResources(node, allocations);
      tracker.binding.epoch += 1;
      const { instance, migration, release } = await write(node, resources);
      node.account.assign(instance.uuid, resources);
      refreshDevices(tracker, node, allocations);
      await updateOrRelease(tracker, node, release, requestId);
      metrics.claim(kind, "succeeded");
      const abort: Claim["abort"] = async (options) => {
        metrics.claim(kind, "aborted");
        return lock.run(async () => {
          const after = await release(options);
          await updateQuietly(tracker, node);
          return after;
        });
      };
      return { instance, migration, abort };
    });
  } catch (error) {
    if (error instanceof ComputeResourcesUnavailable) {
      metrics.claim(kind, "refused");
    }
    throw error;
  }
}

interface MoveClaim extends ClaimRequest {
  readonly instance: Instance;
  readonly migration: Migration;
  readonly claims: InstanceWrite;
  readonly releases: InstanceWrite;
}

/** The changes of the instance besides its migration context, and the task_states that they require. */
interface InstanceWrite {
  readonly changes: InstanceChanges;
  readonly expected: { readonly expectedTaskState: readonly TaskState[]; readonly ofRequest?: string };
}

/** Claims a node for a move to it, in both records. */
export function moveClaim(tracker: TrackerState, move: MoveClaim): Promise<Claim> {
  const { conductor, host, driver, binding } = tracker;
  const { instance, migration, claims, releases } = move;
  return claim(tracker, { kind: "move", ...move }, async (node, newResources) => {
    const saved = await conductor.call("save_together", {
      instance: {
        uuid: instance.uuid,
        changes: {
          migrationContext: {
            instanceUuid: instance.uuid,
            migrationId: migration.id,
            oldNumaTopology: null,
            newNumaTopology: null,
            oldPciDevices: [],
            newPciDevices: [],
            oldResources: [],
            newResources,
          },
          ...claims.changes,
        },
        ...claims.expected,
      },
      migration: {
        id: migration.id,
        changes: {
          destCompute: host,
          destNode: move.nodeName,
          destComputeId: node.row.id,
          destHost: driver.getHostIpAddr(),
          status: "pre-migrating",
        },
      },
    });
    const moved = { instance: saved.instance ?? instance, migration: saved.migration ?? migration };
    const { uuid } = moved.instance;
    countMove(tracker, node, moved.instance, moved.migration);
    const release: Claim["abort"] = async ({ migrationStatus, instance: changes } = {}) => {
      binding.epoch += 1;
      node.account.forgetMigration(uuid);
      const end = migrationStatus && { migration: { id: migration.id, changes: { status: migrationStatus } } };
      const reverted = { migrationContext: null, ...releases.changes, ...changes };
      try {
        const write = { instance: { uuid, changes: reverted, ...releases.expected }, ...end };
        return (await conductor.call("save_together", write)).instance ?? moved.instance;
      } catch (error) {
        // A deleted instance has deleted its migrations.
        if (isConductorError(error, "InstanceNotFound")) {
          return moved.instance;
        }
        if (!isConductorError(error, "UnexpectedTaskState")) {
          throw error;
        }
        // Another request owns the instance: only the migration ends, if it does not continue elsewhere.
        const ended = (end && (await conductor.call("save_together", end)).migration) ?? moved.migration;
        const now = await conductor.call("instance_get", { uuid });
        // An instance counts on the destination of any move that is running or in error (spec 4.5).
        const isOver = ended.status !== "error" && FINAL_MIGRATION_STATUSES.includes(ended.status);
        if (now && !isOver && countsMigration(now, ended, tracker.options.ignoreErroredEvacuations)) {
          countMove(tracker, node, now, ended);
        }
        return now ?? moved.instance;
      }
    };
    return { ...moved, release };
  });
}

/** @throws {ComputeResourcesUnavailable} */
async function claimableNode(tracker: TrackerState, name: string): Promise<TrackedNode> {
  const node = tracker.nodes.get(name);
  if (node && (await tracker.driver.nodeIsAvailable(name))) {
    return node;
  }
  throw new ComputeResourcesUnavailable(
    `node ${name} is ${node ? "not available" : "not known"} on host ${tracker.host}: it can take no instance now`,
  );
}

/** Updates Placement and the node's row; if that fails, reverts the claim's writes in the same lock section. */
async function updateOrRelease(
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

function keyOf({ providerUuid, resourceClass, identifier }: AssignedResource): string {
  return `${providerUuid}/${resourceClass}/${identifier}`;
}

/**
 * Chooses free discrete resources for the allocations (spec 4.2), for each class that a provider of the node's tree has
 * a pool of. Skips providers of other trees.
 * @throws {ComputeResourcesUnavailable} a pool has too few left
 */
function takeResources(node: TrackedNode, allocations: Allocations): readonly AssignedResource[] {
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
function refreshDevices(tracker: TrackerState, node: TrackedNode, allocations: Allocations): void {
  const below = new Set(node.tree?.exists(node.row.uuid) ? node.tree.providerUuids(node.row.uuid) : []);
  below.delete(node.row.uuid);
  for (const provider of Object.keys(allocations)) {
    if (below.has(provider)) {
      tracker.placement.invalidateAssociations(provider);
    }
  }
}
