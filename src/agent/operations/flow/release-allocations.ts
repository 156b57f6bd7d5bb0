import { AllocationDeleteFailed } from "../../../placement-client/errors.js";
import type { RequestContext } from "../../../placement-client/types.js";
import type { AllocationsByProvider, Instance, Migration } from "../../../records/index.js";
import { backOff } from "../../../runtime/retry.js";
import { type AgentContext, hasQuirk } from "../../context.js";
import type { OperationServices } from "./contract.js";

/**
 * Tries of a write whose answer did not come (spec V30), and milliseconds between them: seven seconds in all, in which a
 * Placement that is started again is back.
 */
export const INSISTENCE = { attempts: 4, delay: backOff({ first: 1000, most: 4000 }) } as const;

/**
 * Removes everything that the instance holds in Placement. True: it is gone now. False: it may still be there, which was
 * logged.
 */
export async function releaseAllocations(
  { context }: Pick<OperationServices, "context">,
  instanceUuid: string,
  options: RequestContext & { readonly force: boolean },
): Promise<boolean> {
  try {
    // False means that there was nothing; null that Placement could not be asked.
    if ((await insist(context, () => context.placement.deleteAllocation(instanceUuid, options))) !== null) {
      return true;
    }
    context.runtime.logger.error("allocations could not be removed: Placement cannot be reached", {
      instance: instanceUuid,
    });
  } catch (err) {
    context.runtime.logger.error("allocations could not be removed", { instance: instanceUuid, err });
  }
  return false;
}

/**
 * Asks Placement for what may be asked twice until it answers: an answer that was lost says nothing, and what was done is found
 * done (spec 9.4).
 * @param ask resolves to null when nobody answers
 * @returns null: nobody answered any of four tries
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

/** What the instance holds in Placement: as the message says it, or else as Placement does. */
export async function heldAllocations(
  { context }: OperationServices,
  request: {
    readonly instanceUuid: string;
    readonly allocations: AllocationsByProvider | null;
    readonly requestId: string;
  },
): Promise<AllocationsByProvider> {
  const { instanceUuid, allocations, requestId } = request;
  return allocations ?? (await context.placement.getAllocationsForConsumer(instanceUuid, { requestId })).allocations;
}

/** A move; the instance as it is stored now. */
export interface Move {
  readonly instance: Instance;
  readonly migration: Migration;
}

/** The services that changes of a move's allocations need. */
export type AllocationServices = Pick<OperationServices, "context">;

/**
 * Everything that M holds. False: it held nothing.
 * @throws AllocationDeleteFailed, also when Placement cannot be reached
 */
export function deleteMigration(
  services: AllocationServices,
  migration: Migration,
  context: RequestContext,
): Promise<boolean> {
  return deleteAll(services, migration.uuid, { ...context, force: false });
}

/**
 * Both halves of the move, where its instance is deleted. The delete has taken away what the instance held, but a scheduler that was
 * at work then may have claimed the destination for it since, and nobody else comes for that. False: it is not deleted.
 * @throws AllocationDeleteFailed, also when Placement cannot be reached
 */
export async function freedAsDeleted(
  services: AllocationServices,
  { instance, migration }: Move,
  context: RequestContext,
): Promise<boolean> {
  if (!(await isDeleted(services, instance.uuid))) {
    return false;
  }
  await deleteMigration(services, migration, context);
  if (!hasQuirk(services.context, "resurrect-deleted-allocations")) {
    await deleteAll(services, instance.uuid, { ...context, force: true });
  }
  return true;
}

/** An agent says `deleted` before it deletes the allocations (V23): whichever comes second finds the other's. */
export async function isDeleted({ context }: AllocationServices, uuid: string): Promise<boolean> {
  const current = await context.conductor.call("instance_get", { uuid });
  return current === null || current.vmState === "deleted";
}

async function deleteAll(
  { context }: AllocationServices,
  consumer: string,
  options: RequestContext & { readonly force: boolean },
): Promise<boolean> {
  const deleted = await insist(context, () => context.placement.deleteAllocation(consumer, options));
  if (deleted !== null) {
    return deleted;
  }
  throw new AllocationDeleteFailed(consumer, "Placement cannot be reached");
}
