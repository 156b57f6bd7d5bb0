import { createAllocationError } from "../../../placement-client/errors.js";
import type { RequestContext } from "../../../placement-client/types.js";
import type { AllocationsByProvider, Instance, Migration } from "../../../records/index.js";
import { backOff } from "../../../runtime/retry.js";
import { type AgentContext, hasQuirk } from "../../context.js";
import type { OperationServices } from "./contract.js";

/**
 * Attempts of a write whose response was lost (spec V30), and the delay between them in milliseconds: seven seconds in
 * all, enough for a restarted Placement.
 */
export const INSISTENCE = { attempts: 4, delay: backOff({ first: 1000, most: 4000 }) } as const;

/** Removes all of the instance's allocations in Placement. Returns false if some may remain, which was logged. */
export async function releaseAllocations(
  services: AgentContext,
  instanceUuid: string,
  options: RequestContext & { readonly force: boolean },
): Promise<boolean> {
  try {
    // The result is false without allocations, and null if Placement is unreachable.
    if ((await insist(services, () => services.placement.deleteAllocation(instanceUuid, options))) !== null) {
      return true;
    }
    services.logger.error("allocations could not be removed: Placement cannot be reached", {
      instance: instanceUuid,
    });
  } catch (err) {
    services.logger.error("allocations could not be removed", { instance: instanceUuid, err });
  }
  return false;
}

/**
 * Repeats an idempotent call to Placement until it responds. A lost response leaves the outcome unknown; work that is
 * already done is recognised as done (spec 9.4).
 * @param ask resolves to null if there is no response
 * @returns null: none of four attempts got a response
 */
export async function insist<T>(
  { runtime }: Pick<AgentContext, "runtime">,
  ask: () => Promise<T | null>,
): Promise<T | null> {
  for (let attempt = 1; attempt < INSISTENCE.attempts; attempt += 1) {
    const result = await ask();
    if (result !== null) {
      return result;
    }
    await runtime.timers.sleep(INSISTENCE.delay(attempt));
  }
  return await ask();
}

/** Returns the instance's allocations: from the message, or else from Placement. */
export async function heldAllocations(
  services: OperationServices,
  request: {
    readonly instanceUuid: string;
    readonly allocations: AllocationsByProvider | null;
    readonly requestId: string;
  },
): Promise<AllocationsByProvider> {
  const { instanceUuid, allocations, requestId } = request;
  return allocations ?? (await services.placement.getAllocationsForConsumer(instanceUuid, { requestId })).allocations;
}

/** A move; the instance as currently saved. */
export interface Move {
  readonly instance: Instance;
  readonly migration: Migration;
}

/**
 * Removes all allocations of M. Returns false if it had none.
 * @throws AllocationDeleteFailed, also if Placement cannot be reached
 */
export function deleteMigration(
  services: AgentContext,
  migration: Migration,
  context: RequestContext,
): Promise<boolean> {
  return deleteAll(services, migration.uuid, { ...context, force: false });
}

/**
 * Removes both sides' allocations of a move whose instance is deleted. The delete has removed the instance's
 * allocations. A scheduler that was running then may have claimed the destination since, and no other code removes that
 * claim. Returns false if the instance is not deleted.
 * @throws AllocationDeleteFailed, also if Placement cannot be reached
 */
export async function freedAsDeleted(
  services: AgentContext,
  { instance, migration }: Move,
  context: RequestContext,
): Promise<boolean> {
  if (!(await isDeleted(services, instance.uuid))) {
    return false;
  }
  await deleteMigration(services, migration, context);
  if (!hasQuirk(services, "resurrect-deleted-allocations")) {
    await deleteAll(services, instance.uuid, { ...context, force: true });
  }
  return true;
}

/** An agent saves `deleted` before it deletes the allocations (V23): the later of the two sees the other's write. */
export async function isDeleted(services: AgentContext, uuid: string): Promise<boolean> {
  const current = await services.conductor.call("instance_get", { uuid });
  return current === null || current.vmState === "deleted";
}

async function deleteAll(
  services: AgentContext,
  consumer: string,
  options: RequestContext & { readonly force: boolean },
): Promise<boolean> {
  const deleted = await insist(services, () => services.placement.deleteAllocation(consumer, options));
  if (deleted !== null) {
    return deleted;
  }
  throw createAllocationError("AllocationDeleteFailed", consumer, "Placement cannot be reached");
}
