import type { Faults } from "../../faults/faults.js";
import type { RequestContext } from "../../placement/types.js";
import type { AgentContext } from "../context.js";
import type { ResourceTracker } from "../tracker/contract.js";
import type { IncomingMoves } from "./moves/incoming-moves.js";

/** What every operation works with. */
export interface OperationParts {
  readonly context: AgentContext;
  readonly tracker: ResourceTracker;
  readonly incoming: IncomingMoves;
  /** Asked before each step of an operation (step-list.ts). */
  readonly faults?: StepFaults;
}

export type StepFaults = Pick<Faults, "hit">;

/** A user's delete does not ask for a consumer generation (bug 1836754); a deferred one does (spec 5.5). */
export const forcesDelete = ({ config }: AgentContext): boolean => config.defaults.reclaimInstanceInterval <= 0;

/**
 * Removes everything that the instance holds in Placement. True: it is gone now. False: it may still be there, which was
 * logged.
 */
export async function releaseAllocations(
  { context }: OperationParts,
  instanceUuid: string,
  options: RequestContext & { readonly force: boolean },
): Promise<boolean> {
  try {
    // False means that there was nothing; null that Placement could not be asked.
    if ((await context.placement.deleteAllocation(instanceUuid, options)) !== null) {
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
