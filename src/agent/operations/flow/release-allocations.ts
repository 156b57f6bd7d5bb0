import type { RequestContext } from "../../../placement-client/types.js";
import type { OperationServices } from "../contract.js";
import { insist } from "./insist.js";

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
