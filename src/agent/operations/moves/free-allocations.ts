import { AllocationDeleteFailed } from "../../../placement-client/errors.js";
import type { RequestContext } from "../../../placement-client/types.js";
import type { Instance, Migration } from "../../../records/index.js";
import { hasQuirk } from "../../context.js";
import type { OperationServices } from "../contract.js";
import { insist } from "../flow/insist.js";

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
