import type { ClientContext } from "./client-context.js";
import { holdsNothing, readConsumer, requestField, rewriteOf, writeConsumer } from "./consumer-allocations.js";
import { AllocationDeleteFailed } from "./errors.js";
import type { PlacementResponse } from "./placement-http.js";
import type { RequestContext } from "./types.js";

const CONFLICT = 409;

/** Takes everything away from a consumer (spec 5.5). False: it held nothing. @throws AllocationDeleteFailed */
export async function deleteAllocation(
  client: ClientContext,
  consumer: string,
  force: boolean,
  context: RequestContext,
): Promise<boolean> {
  const deleted = force
    ? await deleteAtOnce(client, consumer, context)
    : await deleteGuarded(client, consumer, context);
  client.cache.allocations.forgetConsumer(consumer);
  if (deleted) {
    client.logger.info("deleted the allocations of a consumer", { consumer, ...requestField(context) });
  }
  return deleted;
}

async function deleteAtOnce(client: ClientContext, consumer: string, context: RequestContext): Promise<boolean> {
  const response = await client.http.delete(`/allocations/${consumer}`, context);
  if (response.status === 404) {
    return false;
  }
  return expectDeleted(consumer, response);
}

/**
 * Refused when somebody wrote the consumer since it was read. Whoever wrote it may have deleted the allocations, too, or it was this
 * very request, carried out twice: then there is nothing left to delete.
 */
async function deleteGuarded(client: ClientContext, consumer: string, context: RequestContext): Promise<boolean> {
  const held = await readConsumer(client.http, consumer, context);
  if (holdsNothing(held)) {
    return false;
  }
  const response = await writeConsumer(client.http, consumer, rewriteOf(held, {}), context);
  if (response.status === CONFLICT && holdsNothing(await readConsumer(client.http, consumer, context))) {
    return true;
  }
  return expectDeleted(consumer, response);
}

function expectDeleted(consumer: string, response: PlacementResponse): true {
  if (response.ok) {
    return true;
  }
  throw new AllocationDeleteFailed(
    consumer,
    `they were not deleted; try again, or use "openstack resource provider allocation delete ${consumer}"`,
    response,
  );
}
