import { isAsRead, readConsumer, writeConsumer } from "../../placement-client/consumer-allocations.js";
import { ConsumerAllocationRetrievalFailed, PlacementAPIConnectFailure } from "../../placement-client/errors.js";
import { AGAIN, retryConflicts } from "../../placement-client/retries.js";
import type { AllocationRewrite } from "../../placement-client/types.js";
import type { ManageParts } from "./manage-parts.js";

/**
 * Undefined when they were written, else why not, in the words of Nova's errors. Conflicts of providers are tried again, while the
 * consumer is as it was read.
 */
export async function putAllocations(
  { placement, timers, random, context }: ManageParts,
  consumer: string,
  { read, ...rewrite }: AllocationRewrite,
): Promise<string | undefined> {
  const write = { ...rewrite, consumerGeneration: read.consumerGeneration };
  let rejection = "";
  try {
    const written = await retryConflicts({ timers, random }, async (tried) => {
      if (tried > 0 && !isAsRead(read, await readConsumer(placement, consumer, context))) {
        rejection = CHANGED;
        return false;
      }
      const response = await writeConsumer(placement, consumer, write, context);
      if (response.ok) {
        return true;
      }
      rejection = response.detail;
      return response.isConcurrentUpdate && !response.isConsumerConflict ? AGAIN : false;
    });
    return written === true ? undefined : updateFailed(consumer, rejection);
  } catch (error) {
    if (error instanceof ConsumerAllocationRetrievalFailed) {
      return updateFailed(consumer, error.message);
    }
    if (!(error instanceof PlacementAPIConnectFailure)) {
      throw error;
    }
    return NO_PLACEMENT;
  }
}

const CHANGED = "another process changed the consumer after its allocations were read";

/** Nova's PlacementAPIConnectFailure. */
export const NO_PLACEMENT = "Unable to communicate with the Placement API.";

/** Nova's AllocationUpdateFailed. */
export function updateFailed(consumer: string, error: string): string {
  return `Failed to update allocations for consumer ${consumer}. Error: ${error}`;
}
