import { AllocationMoveFailed } from "../../../placement-client/errors.js";
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
import type { ScheduleRequest } from "../../scheduler/schedule-request.js";
import type { Store } from "../../store/store.js";
import type { TaskDeps } from "./task-deps.js";

/** The owner of the source's half of a move (spec 6.0): the instance itself, or the migration. */
type MoveStrategy = "doubled" | "split";

/** The instance and the migration that moves it; they stay the same over a flow. */
export interface Move {
  readonly instance: Instance;
  readonly migration: Migration;
  /** The flavor that it moves to; the present one for all moves but a resize. */
  readonly flavor: Flavor;
  readonly requestId: string;
  /** What ends it, and has claimed nothing yet; default: it ends by itself. */
  readonly supersededBy?: Migration;
  /** An earlier run of the flow may have claimed a destination. */
  readonly restarted: boolean;
  /** What {@link secureSourceAllocations} answered; null before that. With `sum` alone the source's half is not the migration's. */
  held: ScheduleRequest["held"] | null;
}

/**
 * Gives the source's half to its owner (spec 6.0), before the scheduler claims (V26). Recognises what an earlier run has moved.
 * @returns what becomes of what the instance still holds when the destination is claimed
 * @throws {AllocationMoveFailed} somebody else wrote the allocations of the instance
 * @throws {NoValidHost} Placement refused
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
    if (residues(store, instance, allocations).size === 0) {
      return "replace";
    }
    await releaseUnfinishedClaims(deps, instance, requestId, [migration]);
    return "double";
  }
  if (moveStrategy(store) === "doubled") {
    // The next claim would add to that of an earlier run.
    if (move.restarted) {
      await dropDestinations(deps, move);
    }
    return "sum";
  }
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  const source = sourceNode(store, instance);
  // There is nothing to keep for the way back: the instance never had allocations, or they were healed away.
  if (source === undefined || !holdsAnyOf(allocations, source)) {
    return "replace";
  }
  const keep = residues(store, instance, allocations);
  const moved = await placement.moveAllocations(instance.uuid, migration.uuid, { requestId, keep });
  if (moved !== true) {
    throw new NoValidHost(
      `Unable to replace instance claim on source host ${instance.host} node ${instance.node} by one of the migration.`,
    );
  }
  // The move leaves behind what a dead host keeps until its agent has come back and cleaned up (V12).
  return keep.size > 0 ? "double" : "replace";
}

/** Picks the held nodes from which the instance was evacuated, and whose hosts have not cleaned up since. */
function residues(store: TaskDeps["store"], { uuid, host }: Instance, held: Allocations): ReadonlySet<string> {
  const left = store.migrations
    .byFilters({ instanceUuid: uuid, migrationTypes: ["evacuation"], statuses: ["done"] })
    .map(({ sourceCompute }) => sourceCompute)
    .filter((source) => source !== host);
  if (left.length === 0) {
    return new Set();
  }
  const nodes = store.computeNodes.byUuids(Object.keys(held)).filter((node) => left.includes(node.host));
  return new Set(nodes.map((node) => node.uuid));
}

/**
 * Undoes what a move that goes nowhere has claimed: afterwards the instance holds the source again and nothing else, in
 * either strategy (V27: before anybody can use it). Safe to repeat.
 * @returns false: Placement refused it, and both halves stand
 */
export async function restoreSourceAllocations(deps: TaskDeps, move: Move): Promise<boolean> {
  const { store, placement } = deps;
  const { instance, migration, requestId } = move;
  const ofMigration = await placement.getAllocationsForConsumer(migration.uuid, { requestId });
  if (Object.keys(ofMigration.allocations).length > 0) {
    // An agent says `deleted` before it deletes the allocations (V23): whichever comes second finds them.
    const resurrects = deps.config.upstreamQuirks.has("resurrect-deleted-allocations");
    const isDeleted = () => !resurrects && (store.instances.get(instance.uuid)?.vmState ?? "deleted") === "deleted";
    const moved = await moveBack(deps, move, async () => isDeleted());
    if (moved !== true && isDeleted()) {
      await placement.deleteAllocation(migration.uuid, { force: true, requestId });
      return true;
    }
    if (moved !== true) {
      deps.logger.error("the allocation of a failed move could not be given back to the instance", {
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

/** False: another writer changed the instance's allocations meanwhile; perhaps its delete. */
async function moveBack(
  { placement, store }: TaskDeps,
  { instance, migration, requestId }: Move,
  targetDeleted: () => Promise<boolean>,
): Promise<boolean | null> {
  const leave = async (held: Allocations) => residues(store, instance, held);
  try {
    return await placement.moveAllocations(migration.uuid, instance.uuid, { requestId, targetDeleted, leave });
  } catch (error) {
    if (!(error instanceof AllocationMoveFailed)) {
      throw error;
    }
    return false;
  }
}

/** Gives back what an earlier run claimed, so that the instance itself holds the source's half only. */
async function dropDestinations(deps: TaskDeps, move: Move): Promise<void> {
  const { instance, migration, supersededBy, flavor, requestId } = move;
  await subtractSameHostClaim(deps, instance, flavor, requestId);
  await releaseUnfinishedClaims(deps, instance, requestId, [migration, ...(supersededBy ? [supersededBy] : [])]);
}

/** `doubled` on one host: a single allocation has the amounts of both flavors (spec 6.0). */
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

export function sourceNode(
  store: TaskDeps["store"],
  { host, node }: Pick<Instance, "host" | "node">,
): ComputeNode | undefined {
  return host === null || node === null ? undefined : (store.computeNodes.getByHostAndNode(host, node) ?? undefined);
}

/** Does not read the tree of the node: what no other node has is taken to be on this one, or shared with it. */
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
 * Gives back what the instance holds on nodes that no record accounts for: a run that was killed, or whose claim went
 * unanswered, may have claimed there. Else the next claim would add to it.
 * @param failed migrations that go nowhere, or have claimed nothing yet: their destinations account for nothing
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
    logger.info("gives back the claim of a move that was cut off", {
      instance: instance.uuid,
      host,
      request_id: requestId,
    });
    await placement.removeProviderTreeFromInstanceAllocation(instance.uuid, uuid, { retry: true, requestId });
  }
}

/** Its own host, the sources of its evacuations (they keep theirs until they have come back), both ends of any move under way. */
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
      // A source that has come back leaves its own to a claim that was made there meanwhile (spec 3.1).
      const retainsSource = migrationType === "evacuation" && status !== "completed";
      const underWay = !ids.has(id) && !FINAL_MIGRATION_STATUSES.includes(status);
      return [...(underWay || retainsSource || ids.has(id) ? [sourceCompute] : []), ...(underWay ? [destCompute] : [])];
    }),
  ]);
}

/** Chosen for each move: `split` once every nova-compute of the deployment is of Queens or later. @internal */
export function moveStrategy(store: Store): MoveStrategy {
  return store.services.minimumVersion("nova-compute") >= SPLIT_ALLOCATIONS_SERVICE_VERSION ? "split" : "doubled";
}
