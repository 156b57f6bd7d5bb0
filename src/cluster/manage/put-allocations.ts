import { writeConsumer } from "../../placement/consumer-allocations.js";
import { PlacementAPIConnectFailure } from "../../placement/errors.js";
import { AGAIN, retryConflicts } from "../../placement/retries.js";
import type { AllocationWrite } from "../../placement/types.js";
import type { ManageParts } from "./manage-parts.js";

/** Undefined when they were written, else why not, in the words of Nova's errors. Conflicts of providers are tried again. */
export async function putAllocations(
  { placement, timers, random, context }: ManageParts,
  consumer: string,
  write: AllocationWrite,
): Promise<string | undefined> {
  let refusal = "";
  try {
    const written = await retryConflicts({ timers, random }, async () => {
      const answer = await writeConsumer(placement, consumer, write, context);
      if (answer.ok) {
        return true;
      }
      refusal = answer.detail;
      return answer.isConcurrentUpdate && !answer.isConsumerConflict ? AGAIN : false;
    });
    return written === true ? undefined : updateFailed(consumer, refusal);
  } catch (error) {
    if (!(error instanceof PlacementAPIConnectFailure)) {
      throw error;
    }
    return NO_PLACEMENT;
  }
}

/** Nova's PlacementAPIConnectFailure. */
export const NO_PLACEMENT = "Unable to communicate with the Placement API.";

/** Nova's AllocationUpdateFailed. */
export function updateFailed(consumer: string, error: string): string {
  return `Failed to update allocations for consumer ${consumer}. Error: ${error}`;
}
