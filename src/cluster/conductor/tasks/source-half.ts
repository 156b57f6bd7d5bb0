import { AllocationMoveFailed } from "../../../placement/errors.js";
import type { Allocations, ResourceAmounts } from "../../../placement/types.js";
import type { ComputeNode, Flavor, Instance, Migration } from "../../../records/index.js";
import { instanceResources } from "../../../records/index.js";
import { NoValidHost } from "../../scheduler/errors.js";
import type { ScheduleRequest } from "../../scheduler/schedule-request.js";
import { moveStrategy } from "../move-strategy.js";
import { releaseUnfinishedClaims } from "./release-unfinished-claims.js";
import type { TaskParts } from "./task-parts.js";

/** The instance and the migration that moves it; they stay the same over a flow. */
export interface Move {
  readonly instance: Instance;
  readonly migration: Migration;
  /** What it will need; for all moves but a resize what it needs now. */
  readonly flavor: Flavor;
  readonly requestId: string;
  /** An earlier run of the flow may have claimed a destination. */
  readonly restarted: boolean;
  /** What {@link secureSourceHalf} answered; null before that. With `sum` alone the source's half is not the migration's. */
  held: ScheduleRequest["held"] | null;
}

/**
 * Makes sure of who owns the source's half (spec 6.0) and says what becomes of what the instance still holds when the
 * destination is claimed. Done before the scheduler claims (V26). A move that an earlier run made is recognised.
 * @throws {AllocationMoveFailed} somebody else wrote the allocations of the instance
 * @throws {NoValidHost} Placement refused
 */
export async function secureSourceHalf(parts: TaskParts, move: Move): Promise<ScheduleRequest["held"]> {
  move.held = await secure(parts, move);
  return move.held;
}

async function secure(parts: TaskParts, move: Move): Promise<ScheduleRequest["held"]> {
  const { store, placement } = parts;
  const { instance, migration, requestId } = move;
  const ofMigration = await placement.getAllocationsForConsumer(migration.uuid, { requestId });
  if (Object.keys(ofMigration.allocations).length > 0) {
    const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
    if (residues(store, instance, allocations).size === 0) {
      return "replace";
    }
    await releaseUnfinishedClaims(parts, instance, requestId, migration);
    return "double";
  }
  if (moveStrategy(store) === "doubled") {
    // What an earlier run claimed would be added to.
    if (move.restarted) {
      await dropDestinations(parts, move);
    }
    return "sum";
  }
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  const source = sourceNode(store, instance);
  // Nothing to keep for the way back: created by something that does not know Placement, or healed away.
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
  // What a dead host keeps until its agent has come back and cleaned up is not the move's to take along (V12).
  return keep.size > 0 ? "double" : "replace";
}

/** The nodes among those held of hosts from which the instance was evacuated, and that have not cleaned up since. */
function residues(store: TaskParts["store"], { uuid, host }: Instance, held: Allocations): ReadonlySet<string> {
  const left = store.migrations
    .byFilters({ instanceUuid: uuid, migrationTypes: ["evacuation"], statuses: ["done"] })
    .map(({ sourceCompute }) => sourceCompute)
    .filter((source) => source !== host);
  const nodes = store.computeNodes.byUuids(Object.keys(held)).filter((node) => left.includes(node.host));
  return new Set(nodes.map((node) => node.uuid));
}

/**
 * Undoes what a move that goes nowhere has claimed: afterwards the instance holds the source again and nothing else, in
 * either strategy (V27: before anybody can use it). Safe to repeat.
 * @returns false: Placement refused it, and both halves stand
 */
export async function restoreSourceHalf(parts: TaskParts, move: Move): Promise<boolean> {
  const { store, placement } = parts;
  const { instance, migration, requestId } = move;
  const ofMigration = await placement.getAllocationsForConsumer(migration.uuid, { requestId });
  if (Object.keys(ofMigration.allocations).length > 0) {
    // An agent says `deleted` before it deletes the allocations (V23): whichever comes second finds them.
    const resurrects = parts.config.upstreamQuirks.has("resurrect-deleted-allocations");
    const isDeleted = () => !resurrects && (store.instances.get(instance.uuid)?.vmState ?? "deleted") === "deleted";
    const moved = await moveBack(parts, move, async () => isDeleted());
    if (moved !== true && isDeleted()) {
      await placement.deleteAllocation(migration.uuid, { force: true, requestId });
      return true;
    }
    if (moved !== true) {
      parts.logger.error("the allocation of a failed move could not be given back to the instance", {
        instance: instance.uuid,
        migration: migration.uuid,
        request_id: requestId,
      });
    }
    return moved === true;
  }
  await dropDestinations(parts, move);
  return true;
}

/** False: somebody wrote what the instance holds meanwhile, its delete maybe. */
async function moveBack(
  { placement }: TaskParts,
  { instance, migration, requestId }: Move,
  targetDeleted: () => Promise<boolean>,
): Promise<boolean | null> {
  try {
    return await placement.moveAllocations(migration.uuid, instance.uuid, { requestId, targetDeleted });
  } catch (error) {
    if (!(error instanceof AllocationMoveFailed)) {
      throw error;
    }
    return false;
  }
}

/** Keeps of what the instance itself holds all but the source's half. */
async function dropDestinations(parts: TaskParts, { instance, migration, flavor, requestId }: Move): Promise<void> {
  await subtractSameHostClaim(parts, instance, flavor, requestId);
  await releaseUnfinishedClaims(parts, instance, requestId, migration);
}

/** `doubled` on one host: one record of both flavors (spec 6.0). */
async function subtractSameHostClaim(
  { store, placement }: TaskParts,
  instance: Instance,
  flavor: Flavor,
  requestId: string,
): Promise<void> {
  const source = sourceNode(store, instance);
  if (source === undefined) {
    return;
  }
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  const held = allocations[source.uuid]?.resources;
  if (held === undefined) {
    return;
  }
  const wanted = instanceResources(instance, flavor);
  if (!equals(held, sum(instanceResources(instance), wanted))) {
    return;
  }
  await placement.removeResources(instance.uuid, { [source.uuid]: { resources: wanted } }, { requestId });
}

export function sourceNode(
  store: TaskParts["store"],
  { host, node }: Pick<Instance, "host" | "node">,
): ComputeNode | undefined {
  return host === null || node === null ? undefined : (store.computeNodes.getByHostAndNode(host, node) ?? undefined);
}

/** Without providers' trees: what is on no other node is on this one, or shared with it. */
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
