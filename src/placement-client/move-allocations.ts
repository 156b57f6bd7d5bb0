import type { ClientContext } from "./client-context.js";
import {
  CONSUMER_GENERATION_VERSION,
  consumerToWire,
  holdsNothing,
  readConsumer,
  requestField,
  rewriteOf,
} from "./consumer-allocations.js";
import { deleteAllocation } from "./edit-allocations.js";
import { createAllocationError } from "./errors.js";
import { AGAIN, retryConflicts } from "./retries.js";
import type { Allocations, RequestContext } from "./types.js";

interface Handover {
  readonly source: string;
  readonly target: string;
  /** Providers whose allocations remain with the source. */
  readonly keep: ReadonlySet<string>;
  /** Selects from the target's allocations the providers that it retains in addition to the moved ones. */
  readonly leave?: ((held: Allocations) => Promise<ReadonlySet<string>>) | undefined;
}

/** Moves the allocations of one consumer to another in one write (spec 5.6). */
export async function moveAllocations(
  client: ClientContext,
  handover: Handover,
  targetDeleted: (() => Promise<boolean>) | undefined,
  context: RequestContext,
): Promise<boolean> {
  const moved = await retryConflicts(client, () => attempt(client, handover, context), context.signal);
  const { target } = handover;
  if (moved && targetDeleted && (await targetDeleted())) {
    client.logger.warn(`instance ${target} was deleted while allocations were moved to it; deleting them again`, {
      consumer: target,
    });
    await deleteAllocation(client, target, true, context);
  }
  return moved ?? false;
}

async function attempt(
  client: ClientContext,
  { source, target, keep, leave }: Handover,
  context: RequestContext,
): Promise<boolean | typeof AGAIN> {
  const from = await readConsumer(client.http, source, context);
  const to = await readConsumer(client.http, target, context);
  const retained = Object.fromEntries(Object.entries(from.allocations).filter(([provider]) => keep.has(provider)));
  const moved = Object.fromEntries(Object.entries(from.allocations).filter(([provider]) => !keep.has(provider)));
  if (Object.keys(moved).length === 0) {
    // An earlier attempt whose response was lost has moved them, or there was nothing to move.
    return !holdsNothing(to);
  }
  const left = (await leave?.(to.allocations)) ?? new Set<string>();
  const own = Object.fromEntries(Object.entries(to.allocations).filter(([provider]) => left.has(provider)));
  const response = await client.http.post("/allocations", {
    ...context,
    version: CONSUMER_GENERATION_VERSION,
    body: {
      [source]: consumerToWire(rewriteOf(from, retained)),
      [target]: consumerToWire({ ...rewriteOf(from, { ...own, ...moved }), consumerGeneration: to.consumerGeneration }),
    },
  });
  if (response.ok) {
    client.logger.info(`moved allocations from consumer ${source} to consumer ${target}`, {
      source,
      target,
      ...requestField(context),
    });
    return true;
  }
  if (response.isConsumerConflict) {
    throw createAllocationError(
      "AllocationMoveFailed",
      `${source} to consumer ${target}`,
      "another process changed one of them meanwhile",
      response,
    );
  }
  if (response.isConcurrentUpdate) {
    return AGAIN;
  }
  client.logger.warn(`the allocations of consumer ${source} could not be moved to consumer ${target}`, {
    source,
    target,
    response: response.describe(),
  });
  return false;
}
