import { isDeepStrictEqual } from "node:util";
import { createAllocationError, isPlacementError } from "../../../placement-client/errors.js";
import type { Allocations, RequestContext } from "../../../placement-client/types.js";
import {
  type ComputeNode,
  type Flavor,
  type Instance,
  instanceResources,
  type Migration,
  type Resources,
  withoutPortResources,
} from "../../../records/index.js";
import { retry } from "../../../runtime/retry.js";
import { type AgentContext, hasQuirk } from "../../context.js";
import { backAtSource, isBeyond, laterClaims, residues, rootOf } from "./other-moves.js";
import { deleteMigration, freedAsDeleted, INSISTENCE, insist, isDeleted, type Move } from "./release-allocations.js";

/**
 * Decides which allocations remain after a move (spec 6.0). The strategy is derived at the end of the move from the
 * allocations of the migration's consumer; never from configuration. Every function may be repeated.
 */

/**
 * Removes the source allocations. Used on the source after a confirmation or completion, and on the destination if
 * finishing failed.
 * split: everything of M. doubled: the source's tree of I; on the same host the old flavor's amounts.
 * `repeated`: an earlier run may have done it, so that allocations found there may belong to a later move.
 * @throws AllocationDeleteFailed, AllocationUpdateFailed
 */
export async function finishSource(
  services: AgentContext,
  move: Move,
  { repeated = false, ...context }: RequestContext & { readonly repeated?: boolean },
): Promise<void> {
  if (await deleteMigration(services, move.migration, context)) {
    return;
  }
  await strip(services, move, { side: "source", repeated }, context);
}

/**
 * Returns the source allocations to the instance. Used on the source after a failure or revert, and on the destination
 * if preparing failed.
 * split: M → I, which overwrites the destination allocations of I. doubled: removes the destination allocations of I.
 * @throws AllocationMoveFailed, AllocationUpdateFailed, ConsumerAllocationRetrievalFailed
 */
export async function revertToSource(services: AgentContext, move: Move, context: RequestContext): Promise<void> {
  const { instance, migration } = move;
  if (await freedAsDeleted(services, move, context)) {
    return;
  }
  if (!(await holdsAnything(services, migration.uuid, context))) {
    await strip(services, move, { side: "destination", repeated: true }, context);
    return;
  }
  const moved = await insist(services, () => moveBack(services, move, context));
  if (moved) {
    return;
  }
  // The instance may have been deleted since it was read: that changed its consumer in Placement, which rejects the
  // move.
  if (await freedAsDeleted(services, move, context)) {
    return;
  }
  // An evacuation that ends the move also returns the source allocations; Placement rejects the later of the two
  // writes.
  if (moved === false && !(await holdsAnything(services, migration.uuid, context))) {
    return;
  }
  const reason = moved === null ? "Placement cannot be reached" : "Placement rejected it";
  throw createAllocationError("AllocationMoveFailed", `${migration.uuid} to consumer ${instance.uuid}`, reason);
}

/** Returns false if Placement rejected the write; null if it cannot be reached. */
async function moveBack(
  services: AgentContext,
  { instance, migration }: Move,
  context: RequestContext,
): Promise<boolean | null> {
  const resurrects = hasQuirk(services, "resurrect-deleted-allocations");
  const options = {
    ...context,
    ...(resurrects ? {} : { targetDeleted: () => isDeleted(services, instance.uuid) }),
    leave: (held: Allocations) => residues(services, instance, held, context),
  };
  try {
    return await services.placement.moveAllocations(migration.uuid, instance.uuid, options);
  } catch (error) {
    if (!isPlacementError(error, "AllocationMoveFailed")) {
      throw error;
    }
    services.logger.warn("could not return the allocations of a move to its instance", {
      instance: instance.uuid,
      migration: migration.uuid,
      err: error,
    });
    return false;
  }
}

async function holdsAnything(services: AgentContext, consumer: string, options: RequestContext) {
  const { allocations } = await services.placement.getAllocationsForConsumer(consumer, options);
  return Object.keys(allocations).length > 0;
}

/**
 * Returns the instance's allocations on the tree of this host's node, from which a driver gives its guest devices. A
 * doubled record also contains the other host's.
 * @throws ConsumerAllocationRetrievalFailed
 */
export async function heldHere(
  services: AgentContext,
  instance: Instance,
  node: ComputeNode | undefined,
  context: RequestContext,
): Promise<Allocations> {
  const { allocations } = await services.placement.getAllocationsForConsumer(instance.uuid, context);
  return onTree(services, allocations, node, context);
}

/** Returns the part on the node's tree, which is usually cached and then needs no request. */
export async function onTree(
  { placement }: AgentContext,
  allocations: Allocations,
  node: ComputeNode | undefined,
  context: RequestContext,
): Promise<Allocations> {
  if (!node || Object.keys(allocations).length < 2) {
    return allocations;
  }
  const providers = await placement.getProviderTreeAndEnsureRoot(node.uuid, node.hypervisorHostname, context);
  const tree = new Set(providers.providerUuidsInTree(node.uuid));
  return Object.fromEntries(Object.entries(allocations).filter(([provider]) => tree.has(provider)));
}

/** Removes one side's allocations from a doubled instance. After a lost response they are read again. */
async function strip(
  services: AgentContext,
  move: Move,
  { side, repeated }: Strip,
  context: RequestContext,
): Promise<void> {
  let again = repeated;
  const attempt = () => {
    const strips = { side, repeated: again };
    again = true;
    return stripOnce(services, move, strips, context);
  };
  await retry(services.runtime.timers, attempt, {
    ...INSISTENCE,
    retryOn: (error) => isPlacementError(error, "PlacementAPIConnectFailure"),
  });
}

interface Strip {
  readonly side: "source" | "destination";
  readonly repeated: boolean;
}

async function stripOnce(
  services: AgentContext,
  move: Move,
  { side, repeated }: Strip,
  context: RequestContext,
): Promise<void> {
  const { placement } = services;
  const { instance, migration } = move;
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, context);
  const [source, destination] = await Promise.all([
    rootOf(services, migration.sourceCompute, migration.sourceNode, allocations),
    rootOf(services, migration.destCompute, migration.destNode, allocations),
  ]);
  if (source === null || destination === null) {
    return;
  }
  if (source !== destination) {
    if (!(source in allocations)) {
      return;
    }
    const back = side === "source" ? await backAtSource(services, migration) : null;
    if (back?.isAtRest) {
      await dropSurplus(services, back.instance, source, allocations, context);
      return;
    }
    const isLate = async () => side === "source" && isBeyond(services, migration, allocations);
    if (!(destination in allocations) && !(await isLate())) {
      return;
    }
    const [root, host] = side === "source" ? [source, migration.sourceCompute] : [destination, migration.destCompute];
    let claimedAnew = false;
    const own = side === "source" && !repeated ? flavorsOf(instance, migration).oldFlavor : null;
    const unless = async (held: Allocations) => {
      const claims = await laterClaims(services, migration, host);
      claimedAnew =
        claims === "made" || (claims === "to come" && (own === null || !isSum(held, root, instance, [own])));
      return claimedAnew;
    };
    if (
      await placement.removeProviderTreeFromInstanceAllocation(instance.uuid, root, { ...context, retry: true, unless })
    ) {
      if (claimedAnew && side === "source") {
        await subtractOwn(services, move, source, context);
      }
      return;
    }
    throw createAllocationError(
      "AllocationUpdateFailed",
      instance.uuid,
      `Placement rejected the removal of the ${side} allocations`,
    );
  }
  if (side === "destination" && !knowsNewFlavor(move)) {
    await dropSurplus(services, instance, source, allocations, context);
    return;
  }
  const { oldFlavor, newFlavor } = flavorsOf(instance, migration);
  const whileHeld = (held: Allocations) => isSum(held, source, instance, [oldFlavor, newFlavor]);
  if (whileHeld(allocations)) {
    const resources = instanceResources(instance, side === "source" ? oldFlavor : newFlavor);
    await placement.removeResources(instance.uuid, { [source]: { resources } }, { ...context, whileHeld });
  }
}

/** Removes the instance's allocations on the provider beyond its need, unless they have changed since they were read. */
async function dropSurplus(
  { placement }: AgentContext,
  instance: Instance,
  provider: string,
  read: Allocations,
  context: RequestContext,
) {
  const need = instanceResources(instance);
  const found = surplus(read[provider]?.resources, need);
  if (found) {
    const whileHeld = (held: Allocations) => isDeepStrictEqual(surplus(held[provider]?.resources, need), found);
    await placement.removeResources(instance.uuid, { [provider]: { resources: found } }, { ...context, whileHeld });
  }
}

/** A later move back to the source has added its claim to the leftover source allocations: one record contains the sum. */
async function subtractOwn(services: AgentContext, move: Move, source: string, context: RequestContext) {
  const { conductor, placement } = services;
  const { uuid } = move.instance;
  const now = await conductor.call("instance_get", { uuid });
  if (now === null) {
    return;
  }
  const own = flavorsOf(move.instance, move.migration).oldFlavor;
  const { allocations } = await placement.getAllocationsForConsumer(uuid, context);
  const whileHeld = (held: Allocations) => isSum(held, source, now, [own, now.newFlavor ?? now.flavor]);
  if (whileHeld(allocations)) {
    const resources = instanceResources(move.instance, own);
    await placement.removeResources(uuid, { [source]: { resources } }, { ...context, whileHeld });
  }
}

/** The destination saves the new flavor when it claims. If it died before, the allocations of its claim are left. */
function knowsNewFlavor({ instance, migration }: Move): boolean {
  return (
    migration.migrationType !== "resize" ||
    instance.newFlavor !== null ||
    instance.instanceTypeId !== migration.oldInstanceTypeId
  );
}

/** Returns the resources beyond the need and those of ports; null: there are none, or the need is not covered. */
export function surplus(held: Resources | undefined, need: Resources): Resources | null {
  if (Object.entries(need).some(([name, amount]) => (held?.[name] ?? 0) < amount)) {
    return null;
  }
  const more = Object.entries(withoutPortResources(held ?? {}))
    .map(([name, amount]) => [name, amount - (need[name] ?? 0)] as const)
    .filter(([, amount]) => amount > 0);
  return more.length === 0 ? null : Object.fromEntries(more);
}

/**
 * Returns whether the allocations are the sum of both flavors. Only such a record may be split; any other belongs to
 * one side or to another request. Allocations of an evacuated instance elsewhere, until that host returns, do not
 * matter.
 */
function isSum(allocations: Allocations, provider: string, instance: Instance, flavors: readonly Flavor[]): boolean {
  const sum = flavors.map((flavor) => instanceResources(instance, flavor)).reduce(addResources, {});
  return isDeepStrictEqual(allocations[provider]?.resources ?? {}, sum);
}

export function addResources(left: Resources, right: Resources): Resources {
  const total: Record<string, number> = { ...left };
  for (const [name, amount] of Object.entries(right)) {
    total[name] = (total[name] ?? 0) + amount;
  }
  return total;
}

/** Returns the two flavors of a move; they differ only in a resize. */
export function flavorsOf(
  instance: Instance,
  migration: Migration,
): { readonly oldFlavor: Flavor; readonly newFlavor: Flavor } {
  if (migration.migrationType !== "resize") {
    return { oldFlavor: instance.flavor, newFlavor: instance.flavor };
  }
  return { oldFlavor: instance.oldFlavor ?? instance.flavor, newFlavor: instance.newFlavor ?? instance.flavor };
}
