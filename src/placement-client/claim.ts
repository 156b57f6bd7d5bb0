import type { ClientContext } from "./client-context.js";
import { holdsNothing, isAsRead, readConsumer, writeConsumer } from "./consumer-allocations.js";
import { AllocationUpdateFailed } from "./errors.js";
import type { PlacementResponse } from "./placement-http.js";
import { AGAIN, retryConflicts } from "./retries.js";
import type { AllocationRewrite, Allocations, Claim, ConsumerAllocations, RequestContext } from "./types.js";

/** Claims resources for consumers: the scheduler's part of a build or a move (spec 5.5). */
export async function claimResources(client: ClientContext, claim: Claim, context: RequestContext): Promise<boolean> {
  const { consumer, projectId, userId, version } = claim;
  const done = await retryConflicts(
    client,
    async () => {
      const current = await readConsumer(client.http, consumer, context);
      const write = {
        allocations: toDesiredAllocations(claim, current),
        projectId,
        userId,
        consumerGeneration: current.consumerGeneration,
      };
      return evaluateResponse(client, consumer, await writeConsumer(client.http, consumer, write, context, version));
    },
    context.signal,
  );
  return done ?? false;
}

/** What was read is compared before another try: seconds have gone by. */
export async function putAllocations(
  client: ClientContext,
  consumer: string,
  { read, ...rewrite }: AllocationRewrite,
  context: RequestContext,
): Promise<boolean> {
  const write = { ...rewrite, consumerGeneration: read.consumerGeneration };
  const done = await retryConflicts(
    client,
    async (tried) => {
      if (tried > 0 && !isAsRead(read, await readConsumer(client.http, consumer, context))) {
        throw new AllocationUpdateFailed(consumer, CHANGED);
      }
      return evaluateResponse(client, consumer, await writeConsumer(client.http, consumer, write, context));
    },
    context.signal,
  );
  return done ?? false;
}

const CHANGED = "another process changed the consumer after its allocations were read; ask for the operation again";

/** @throws AllocationUpdateFailed on a consumer generation conflict: trying again would overwrite somebody's claim */
function evaluateResponse(
  client: ClientContext,
  consumer: string,
  response: PlacementResponse,
): boolean | typeof AGAIN {
  if (response.ok) {
    return true;
  }
  if (response.isConsumerConflict) {
    throw new AllocationUpdateFailed(consumer, CHANGED, response);
  }
  if (response.isConcurrentUpdate) {
    return AGAIN;
  }
  client.logger.warn("allocations were refused", { consumer, response: response.describe() });
  return false;
}

/**
 * Providers that the consumer holds already stay as they are: shared ones are not claimed twice. They come first: Nova,
 * too, writes those of an evacuation's source first.
 */
function toDesiredAllocations({ request, held }: Claim, current: ConsumerAllocations): Allocations {
  const requested = onlyResources(request.allocations);
  if (held === "replace" || holdsNothing(current)) {
    return requested;
  }
  const existing = onlyResources(current.allocations);
  return { ...existing, ...requested, ...existing };
}

function onlyResources(allocations: Allocations): Allocations {
  return Object.fromEntries(Object.entries(allocations).map(([provider, { resources }]) => [provider, { resources }]));
}
