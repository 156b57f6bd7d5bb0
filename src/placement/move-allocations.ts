import type { ClientContext } from "./client-context.js";
import {
  CONSUMER_GENERATION_VERSION,
  consumerToWire,
  holdsNothing,
  readConsumer,
  requestField,
  rewriteOf,
} from "./consumer-allocations.js";
import { deleteAllocation } from "./delete-allocation.js";
import { AllocationMoveFailed } from "./errors.js";
import { AGAIN, retryConflicts } from "./retries.js";
import type { RequestContext } from "./types.js";

interface Handover {
  readonly source: string;
  readonly target: string;
  /** Providers whose part stays the source's. */
  readonly keep: ReadonlySet<string>;
}

/** Hands what one consumer holds to another in one write (spec 5.6). */
export async function moveAllocations(
  client: ClientContext,
  { source, target, keep }: Handover,
  targetDeleted: (() => Promise<boolean>) | undefined,
  context: RequestContext,
): Promise<boolean> {
  const moved = await retryConflicts(client, () => attempt(client, { source, target, keep }, context), context.signal);
  if (moved && targetDeleted && (await targetDeleted())) {
    client.logger.warn("the instance was deleted while allocations were moved to it: they are deleted again", {
      consumer: target,
    });
    await deleteAllocation(client, target, true, context);
  }
  return moved ?? false;
}

async function attempt(
  client: ClientContext,
  { source, target, keep }: Handover,
  context: RequestContext,
): Promise<boolean | typeof AGAIN> {
  const from = await readConsumer(client.http, source, context);
  const to = await readConsumer(client.http, target, context);
  const kept = Object.fromEntries(Object.entries(from.allocations).filter(([provider]) => keep.has(provider)));
  const moved = Object.fromEntries(Object.entries(from.allocations).filter(([provider]) => !keep.has(provider)));
  if (Object.keys(moved).length === 0) {
    // Moved already, by an earlier attempt whose answer was lost; or there was nothing to move.
    return !holdsNothing(to);
  }
  const answer = await client.http.post("/allocations", {
    ...context,
    version: CONSUMER_GENERATION_VERSION,
    body: {
      [source]: consumerToWire(rewriteOf(from, kept)),
      [target]: consumerToWire({ ...rewriteOf(from, moved), consumerGeneration: to.consumerGeneration }),
    },
  });
  if (answer.ok) {
    client.logger.info("moved allocations from one consumer to another", { source, target, ...requestField(context) });
    return true;
  }
  if (answer.isConsumerConflict) {
    throw new AllocationMoveFailed(source, target, "another process changed one of them meanwhile", answer);
  }
  if (answer.isConcurrentUpdate) {
    return AGAIN;
  }
  client.logger.warn("allocations could not be moved", { source, target, answer: answer.describe() });
  return false;
}
