import { ConductorError } from "../../../conductor-client/errors.js";
import {
  type ComputeNode,
  FINAL_MIGRATION_STATUSES,
  type Instance,
  instanceResources,
  type Migration,
  type MigrationStatus,
  type MigrationType,
  type Resources,
} from "../../../records/index.js";
import { type AgentContext, requestId as newRequestId } from "../../context.js";
import type { OperationServices } from "../flow/contract.js";
import { finishSource, surplus } from "../flow/move-allocations.js";
import { GONE_NOWHERE, isSettledOn } from "../flow/other-moves.js";
import type { Move } from "../flow/release-allocations.js";
import { settleConfirmed } from "./confirm-resize.js";
import { bringGuestBack, failMove, type MoveProgress, returnAllocations } from "./move-request.js";
import { finishFailed } from "./resize-instance.js";
import { finishRevertFailed, revertFailed } from "./revert-resize.js";

/**
 * Move types whose source leaves flavors and allocations behind if it is killed after `confirmed` was written (spec 2.6
 * OPT).
 */

export const COLD: readonly MigrationType[] = ["migration", "resize"];

/**
 * Returns the confirmed moves from this host that are not settled. `waits`: at least one of them can only be decided
 * later.
 */
export async function findUnsettled(
  services: OperationServices,
  confirmed: readonly Migration[],
): Promise<{ readonly found: readonly Migration[]; readonly waits: boolean }> {
  if (confirmed.length === 0) {
    return { found: [], waits: false };
  }
  const uuids = [...new Set(confirmed.map(({ instanceUuid }) => instanceUuid))];
  const instances = await services.conductor.call("instances_by_filters", { filters: { uuids, deleted: false } });
  const holders = await holdersHere(services, confirmed);
  const found: Migration[] = [];
  let waits = false;
  for (const instance of instances) {
    const own = confirmed.filter(({ instanceUuid }) => instanceUuid === instance.uuid);
    const held = holders.get(instance.uuid);
    const holds = ({ uuid }: Migration) => held !== undefined || holders.has(uuid);
    if (!hasFlavors(instance) && !own.some(holds)) {
      continue;
    }
    const all = await services.conductor.call("migrations_by_filters", { filters: { instanceUuid: instance.uuid } });
    const isNeeded = instance.host === services.host && surplus(held, instanceResources(instance)) === null;
    for (const migration of own) {
      const left = leftOf(services, { instance, migration }, all);
      if (left === "flavors" || (left === "half" && holds(migration) && !isNeeded)) {
        found.push(migration);
      }
      waits ||= left === "unknown" && holds(migration);
    }
  }
  return { found, waits };
}

/**
 * Returns what a confirmed move may have left. `flavors`: the flavors and the source allocations, since the flavors are
 * cleared last (bug 1818914). `half`: the source allocations only, as the flavors belong to a later move. `unknown`: a
 * later move may still claim something here.
 */
function leftOf(context: AgentContext, move: Move, all: readonly Migration[]): "flavors" | "half" | "unknown" | null {
  const later = all.filter(({ id }) => id > move.migration.id);
  if (!later.some(({ migrationType }) => COLD.includes(migrationType))) {
    return hasFlavors(move.instance) ? "flavors" : null;
  }
  return isSuperseded(context, move, later) ? "half" : leftOnReturn(context, move, later);
}

/**
 * Checks leftovers of an instance that may have come back. With doubled allocations, a move that returns adds its claim
 * to the source allocations it finds.
 */
function leftOnReturn(
  { host }: AgentContext,
  { instance, migration }: Move,
  later: readonly Migration[],
): "half" | "unknown" | null {
  const left = ({ sourceCompute, status }: Migration) => sourceCompute === host && !GONE_NOWHERE.includes(status);
  if (migration.destCompute === host || later.some(left)) {
    return null;
  }
  if (instance.taskState === null && later.every((move) => isSettledOn(move, host))) {
    return instance.host === host ? "half" : null;
  }
  return "unknown";
}

function hasFlavors({ oldFlavor, newFlavor }: Instance): boolean {
  return oldFlavor !== null || newFlavor !== null;
}

/**
 * Returns whether the instance has left this move's destination, and no other move or unshelve can have claimed
 * anything here. Allocations of the instance or the migration here are then leftovers of the confirmation.
 */
function isSuperseded({ host }: AgentContext, { instance, migration }: Move, later: readonly Migration[]): boolean {
  return (
    migration.destCompute !== host &&
    instance.host !== null &&
    instance.host !== host &&
    later.every(
      ({ sourceCompute, destCompute, status }) =>
        sourceCompute !== host &&
        destCompute !== host &&
        (destCompute !== null || FINAL_MIGRATION_STATUSES.includes(status)),
    )
  );
}

/** Completes a confirmation that was killed after it had written `confirmed`. */
export async function settleLeftover(progress: MoveProgress): Promise<void> {
  const { services, move, request } = progress;
  const { conductor } = services;
  const filters = { instanceUuid: move.instance.uuid };
  const left = leftOf(services, move, await conductor.call("migrations_by_filters", { filters }));
  if (left === "flavors") {
    await settleConfirmed(progress);
  } else if (left === "half") {
    await finishSource(services, move, { requestId: request.requestId, repeated: true });
  }
}

/** Maps consumers to their resources on nodes that the moves have left. A node that cannot be read is left out. */
async function holdersHere(
  context: AgentContext,
  moves: readonly Migration[],
): Promise<ReadonlyMap<string, Resources>> {
  const holders = new Map<string, Resources>();
  const requestId = newRequestId(context);
  for (const name of new Set(moves.map(({ sourceNode }) => sourceNode))) {
    try {
      const node = await nodeHere(context, name);
      const held = node && (await context.placement.getAllocationsForProvider(node.uuid, { requestId }));
      for (const [consumer, resources] of held?.consumers ?? []) {
        holders.set(consumer, resources);
      }
    } catch (err) {
      context.logger.warn("could not check a node for leftovers of confirmed moves", { node: name, err });
    }
  }
  return holders;
}

async function nodeHere({ conductor, host }: AgentContext, node: string | null): Promise<ComputeNode | null> {
  return node === null ? null : conductor.call("compute_node_get_by_host_and_node", { host, node });
}

interface SupersededMoveRule {
  readonly statuses: readonly MigrationStatus[];
  readonly side: "sourceCompute" | "destCompute";
  readonly end: (progress: MoveProgress, error: Error) => Promise<void>;
}

/** The host that owns the instance in each step of a move, and how it ends the move after it has lost the task_state. */
const SUPERSEDED_MOVE_RULES: readonly SupersededMoveRule[] = [
  { statuses: ["pre-migrating", "migrating"], side: "sourceCompute", end: endOnSource },
  { statuses: ["post-migrating"], side: "destCompute", end: finishFailed },
  { statuses: ["reverting"], side: "destCompute", end: revertFailed },
];

/**
 * Ends the cold move of an instance whose task_state another request has taken for good. The host of the next step
 * would do the same, but may have died. Its start does not find moves by another request's task_state. May be repeated.
 */
export async function endSupersededMove(
  services: OperationServices,
  instance: Instance,
  requestId: string,
): Promise<void> {
  const { conductor, host } = services;
  const moves = await conductor.call("migrations_by_filters", { filters: { instanceUuid: instance.uuid, host } });
  const last = Math.max(...moves.map(({ id }) => id));
  for (const migration of moves.filter(({ migrationType }) => COLD.includes(migrationType))) {
    const end =
      migration.status === "reverted"
        ? migration.id === last && endOfRevert(instance, migration)
        : SUPERSEDED_MOVE_RULES.find(
            ({ statuses, side }) => statuses.includes(migration.status) && migration[side] === host,
          )?.end;
    if (end) {
      const request = { instanceUuid: instance.uuid, migrationId: migration.id, requestId };
      const error = new ConductorError(
        "UnexpectedTaskState",
        `instance ${instance.uuid} is ${instance.taskState} by now`,
      );
      await end({ services, request, move: { instance, migration } }, error);
    }
  }
}

/**
 * Finds out how to end a reverted move. The flavors, which are cleared last, prove that the destination has destroyed
 * its guest and the source has no guest yet. The source will find that it may not finish the move. If both are one
 * host, the flavor determines whether it has begun.
 * @returns undefined: the revert has completed
 */
function endOfRevert({ host, flavor, oldFlavor, newFlavor }: Instance, migration: Migration) {
  if (oldFlavor === null && newFlavor === null) {
    return undefined;
  }
  const { sourceCompute, destCompute, oldInstanceTypeId } = migration;
  const isHome = host === sourceCompute && (sourceCompute !== destCompute || flavor.id === oldInstanceTypeId);
  return isHome ? endAtHome : host === destCompute ? revertFailed : undefined;
}

/**
 * Ends a move whose instance is on the source, if the source died before its guest was restored. The move ends even if
 * Placement rejects the write; the migration's allocations must then be checked by an operator (spec 9.3).
 */
async function endAtHome(progress: MoveProgress, error: Error): Promise<void> {
  await returnAllocations(progress);
  await finishRevertFailed(progress, error);
}

async function endOnSource(progress: MoveProgress, error: Error): Promise<void> {
  await bringGuestBack(progress, error);
  await returnAllocations(progress);
  await failMove(progress, null, error);
}
