import { isPlacementError } from "../../../placement-client/errors.js";
import type { Allocations, ResourceAmounts } from "../../../placement-client/types.js";
import {
  type ComputeNode,
  FINAL_MIGRATION_STATUSES,
  type Flavor,
  type Instance,
  instanceResources,
  type Migration,
  SPLIT_ALLOCATIONS_SERVICE_VERSION,
} from "../../../records/index.js";
import { NoValidHost } from "../../scheduler/errors.js";
import { claimSelection, type ScheduleRequest } from "../../scheduler/schedule-request.js";
import type { Store } from "../../store/store.js";
import type { TaskDeps } from "./task-deps.js";

/** How source allocations of a move are owned (spec 6.0): `doubled` by the instance, `split` by the migration. */
type MoveStrategy = "doubled" | "split";

/** An instance and the migration that moves it. Both are constant during a flow. */
export interface Move {
  readonly instance: Instance;
  readonly migration: Migration;
  /** The new flavor of a resize; for other moves, the current one. */
  readonly flavor: Flavor;
  readonly requestId: string;
  /** The evacuation that ends this move, without allocations yet. Default: the move ends on its own. */
  readonly supersededBy?: Migration;
  /** An earlier run of the flow may have claimed a destination. */
  readonly restarted: boolean;
  /**
   * The result of {@link secureSourceAllocations}; null before it. With `sum`, the instance still owns the source
   * allocations.
   */
  held: ScheduleRequest["held"] | null;
}

/**
 * Assigns the source allocations to their owner (spec 6.0) before the scheduler claims (V26). Detects what an earlier run
 * moved.
 * @returns how the destination's claim treats the instance's remaining allocations
 * @throws {AllocationMoveFailed} if the instance's allocations were changed concurrently
 * @throws {NoValidHost} if Placement rejected the change
 */
export async function secureSourceAllocations(deps: TaskDeps, move: Move): Promise<ScheduleRequest["held"]> {
  move.held = await secure(deps, move);
  return move.held;
}

async function secure(deps: TaskDeps, move: Move): Promise<ScheduleRequest["held"]> {
  const { store, placement } = deps;
  const { instance, migration, requestId } = move;
  const ofMigration = await placement.getAllocationsForConsumer(migration.uuid, { requestId });
  if (Object.keys(ofMigration.allocations).length > 0) {
    const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
    if ((await residues(deps, instance, allocations, requestId)).size === 0) {
      return "replace";
    }
    await releaseUnfinishedClaims(deps, instance, requestId, [migration]);
    return "double";
  }
  if (moveStrategy(store) === "doubled") {
    // Otherwise the next claim would be added to that of an earlier run.
    if (move.restarted) {
      await dropDestinations(deps, move);
    }
    return "sum";
  }
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  const source = sourceNode(store, instance);
  // Nothing to retain for a revert: the instance never had allocations here, or they were removed by healing.
  if (source === undefined || !holdsAnyOf(allocations, source)) {
    return "replace";
  }
  const keep = await residues(deps, instance, allocations, requestId);
  const moved = await placement.moveAllocations(instance.uuid, migration.uuid, { requestId, keep });
  if (moved !== true) {
    throw new NoValidHost(
      `Unable to replace instance claim on source host ${instance.host} node ${instance.node} by one of the migration.`,
    );
  }
  // The move leaves allocations on a dead host in place until its agent returns and cleans up (V12).
  return keep.size > 0 ? "double" : "replace";
}

/** Returns the providers of hosts from which the instance was evacuated and which have not cleaned up since. */
async function residues(
  { store, placement }: TaskDeps,
  { uuid, host }: Instance,
  held: Allocations,
  requestId: string,
): Promise<ReadonlySet<string>> {
  const left = store.migrations
    .byFilters({ instanceUuid: uuid, migrationTypes: ["evacuation"], statuses: ["done"] })
    .map(({ sourceCompute }) => sourceCompute)
    .filter((source) => source !== host);
  if (left.length === 0) {
    return new Set();
  }
  const nodes = store.computeNodes.byUuids(Object.keys(held)).filter((node) => left.includes(node.host));
  const trees = await placement.providersOfTrees(
    nodes.map((node) => node.uuid),
    { requestId },
  );
  return new Set(Object.keys(held).filter((provider) => trees.has(provider)));
}

/**
 * Reverts the claims of a failed move: afterwards the instance has exactly its source allocations, with either strategy.
 * This must precede any further use of the instance (V27). Safe to repeat.
 * @returns false if Placement rejected it; source and destination allocations then both remain
 */
export async function restoreSourceAllocations(deps: TaskDeps, move: Move): Promise<boolean> {
  const { store, placement } = deps;
  const { instance, migration, requestId } = move;
  const ofMigration = await placement.getAllocationsForConsumer(migration.uuid, { requestId });
  if (Object.keys(ofMigration.allocations).length > 0) {
    // An agent sets `deleted` before it deletes the allocations (V23), so whichever of the two comes second removes them.
    const resurrects = deps.config.upstreamQuirks.has("resurrect-deleted-allocations");
    const isDeleted = () => !resurrects && (store.instances.get(instance.uuid)?.vmState ?? "deleted") === "deleted";
    const moved = await moveBack(deps, move, async () => isDeleted());
    if (moved !== true && isDeleted()) {
      await placement.deleteAllocation(migration.uuid, { force: true, requestId });
      return true;
    }
    if (moved !== true) {
      deps.logger.error("source allocations of a failed move could not be returned to the instance", {
        instance: instance.uuid,
        migration: migration.uuid,
        request_id: requestId,
      });
    }
    return moved === true;
  }
  await dropDestinations(deps, move);
  return true;
}

/** Returns false if the instance's allocations were changed concurrently, possibly by its delete. */
async function moveBack(
  deps: TaskDeps,
  { instance, migration, requestId }: Move,
  targetDeleted: () => Promise<boolean>,
): Promise<boolean | null> {
  const leave = (held: Allocations) => residues(deps, instance, held, requestId);
  try {
    return await deps.placement.moveAllocations(migration.uuid, instance.uuid, { requestId, targetDeleted, leave });
  } catch (error) {
    if (!isPlacementError(error, "AllocationMoveFailed")) {
      throw error;
    }
    return false;
  }
}

/** Removes claims of an earlier run, so that the instance itself has only the source allocations. */
async function dropDestinations(deps: TaskDeps, move: Move): Promise<void> {
  const { instance, migration, supersededBy, flavor, requestId } = move;
  await subtractSameHostClaim(deps, instance, flavor, requestId);
  await releaseUnfinishedClaims(deps, instance, requestId, [migration, ...(supersededBy ? [supersededBy] : [])]);
}

/** Handles `doubled` on one host, where a single allocation is the sum of both flavors (spec 6.0). */
async function subtractSameHostClaim(
  { store, placement }: TaskDeps,
  instance: Instance,
  flavor: Flavor,
  requestId: string,
): Promise<void> {
  const source = sourceNode(store, instance);
  if (source === undefined) {
    return;
  }
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  const flavorResources = instanceResources(instance, flavor);
  const both = sum(instanceResources(instance), flavorResources);
  const whileHeld = (held: Allocations) => equals(held[source.uuid]?.resources ?? {}, both);
  if (whileHeld(allocations)) {
    await placement.removeResources(
      instance.uuid,
      { [source.uuid]: { resources: flavorResources } },
      { requestId, whileHeld },
    );
  }
}

/**
 * Claims the amounts of the only source provider on an operator's host, without filters or candidates (spec 6.5 row 4f, 6.7
 * row 2b).
 * @param source.allocations of the owner of the source allocations
 * @throws {NoValidHost}
 */
export async function claimSameAmounts(
  { placement }: TaskDeps,
  { instance, requestId }: Pick<Move, "instance" | "requestId">,
  node: ComputeNode,
  source: { readonly allocations: Allocations; readonly held: ScheduleRequest["held"] },
): Promise<void> {
  const providers = Object.values(source.allocations);
  const [only] = providers;
  if (only === undefined || providers.length > 1) {
    throw complexAllocations(instance, node);
  }
  const { uuid: consumer, projectId, userId } = instance;
  const claimed = await claimSelection(
    placement,
    { allocationRequest: { [node.uuid]: { resources: only.resources } }, allocationRequestVersion: "1.36" },
    { consumer, projectId, userId, held: source.held },
    requestId,
  );
  if (!claimed) {
    throw new NoValidHost(
      `Unable to move instance ${instance.uuid} to host ${node.host}. There is not enough capacity on the host for the instance.`,
    );
  }
}

export function complexAllocations({ uuid }: Instance, { host }: ComputeNode): NoValidHost {
  return new NoValidHost(
    `Unable to move instance ${uuid} to host ${host}. The instance has complex allocations on the source host so move cannot be forced.`,
  );
}

export function sourceNode(
  store: TaskDeps["store"],
  { host, node }: Pick<Instance, "host" | "node">,
): ComputeNode | undefined {
  return host === null || node === null ? undefined : (store.computeNodes.getByHostAndNode(host, node) ?? undefined);
}

/** Does not read the node's tree: allocations that belong to no other node are taken to be on this one, or shared with it. */
const holdsAnyOf = (allocations: Allocations, { uuid }: ComputeNode): boolean => allocations[uuid] !== undefined;

function sum(left: ResourceAmounts, right: ResourceAmounts): ResourceAmounts {
  const total: Record<string, number> = { ...left };
  for (const [name, amount] of Object.entries(right)) {
    total[name] = (total[name] ?? 0) + amount;
  }
  return total;
}

function equals(left: ResourceAmounts, right: ResourceAmounts): boolean {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => (left[name] ?? 0) === (right[name] ?? 0));
}

/**
 * Removes the instance's allocations on nodes that no record accounts for. A killed run, or a claim whose response was
 * lost, may have left them, and the next claim would be added to them.
 * @param failed migrations that failed or have no allocations yet; their destinations are not accounted for
 */
export async function releaseUnfinishedClaims(
  deps: TaskDeps,
  instance: Instance,
  requestId: string,
  failed: readonly Migration[],
): Promise<void> {
  const { store, placement, logger } = deps;
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  const accounted = accountedHosts(deps, instance, failed);
  for (const { uuid, host } of store.computeNodes.byUuids(Object.keys(allocations))) {
    if (accounted.has(host)) {
      continue;
    }
    logger.info("removing the claim of an interrupted move", {
      instance: instance.uuid,
      host,
      request_id: requestId,
    });
    await placement.removeProviderTreeFromInstanceAllocation(instance.uuid, uuid, { retry: true, requestId });
  }
}

/**
 * Returns the hosts where the instance may have allocations: its own, sources of its evacuations, and both ends of other
 * moves.
 */
function accountedHosts(
  { store }: TaskDeps,
  { uuid, host }: Instance,
  failed: readonly Migration[],
): ReadonlySet<string | null> {
  const migrations = store.migrations.byFilters({ instanceUuid: uuid });
  const ids = new Set(failed.map(({ id }) => id));
  return new Set([
    host,
    ...migrations.flatMap(({ id, migrationType, status, sourceCompute, destCompute }) => {
      // A source that has returned leaves its allocations to a claim that was made there meanwhile (spec 3.1).
      const retainsSource = migrationType === "evacuation" && status !== "completed";
      const underWay = !ids.has(id) && !FINAL_MIGRATION_STATUSES.includes(status);
      return [...(underWay || retainsSource || ids.has(id) ? [sourceCompute] : []), ...(underWay ? [destCompute] : [])];
    }),
  ]);
}

/** Returns the strategy for a new move: `split` if every nova-compute is at least Queens. @internal */
export function moveStrategy(store: Store): MoveStrategy {
  return store.services.minimumVersion("nova-compute") >= SPLIT_ALLOCATIONS_SERVICE_VERSION ? "split" : "doubled";
}
