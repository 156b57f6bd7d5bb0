import { isDeepStrictEqual } from "node:util";
import { createAllocationError } from "./errors.js";
import { asNumber, asRecord, asStringOrNull, mapRecord } from "./json.js";
import type { PlacementHttp, PlacementResponse } from "./placement-http.js";
import type { Allocations, AllocationWrite, ConsumerAllocations, RequestContext, ResourceAmounts } from "./types.js";

/** The first microversion whose writes include the consumer's generation. */
export const CONSUMER_GENERATION_VERSION = "1.28";

/**
 * `GET /allocations/C`.
 * @throws ConsumerAllocationRetrievalFailed
 */
export async function readConsumer(
  http: PlacementHttp,
  consumer: string,
  context: RequestContext,
): Promise<ConsumerAllocations> {
  const response = await http.get(`/allocations/${consumer}`, { ...context, version: CONSUMER_GENERATION_VERSION });
  if (!response.ok) {
    throw createAllocationError("ConsumerAllocationRetrievalFailed", consumer, "they could not be read", response);
  }
  return response.read(({ allocations, project_id, user_id, consumer_generation }) => ({
    allocations: mapRecord(allocations, readAllocation),
    projectId: asStringOrNull(project_id),
    userId: asStringOrNull(user_id),
    consumerGeneration:
      consumer_generation === undefined || consumer_generation === null ? null : asNumber(consumer_generation),
  }));
}

/** `PUT /allocations/C`; empty allocations delete. The caller must check the response. */
export function writeConsumer(
  http: PlacementHttp,
  consumer: string,
  write: AllocationWrite,
  context: RequestContext,
  version = CONSUMER_GENERATION_VERSION,
): Promise<PlacementResponse> {
  return http.put(`/allocations/${consumer}`, { ...context, version, body: consumerToWire(write) });
}

export function consumerToWire({ allocations, projectId, userId, consumerGeneration }: ConsumerAllocations) {
  return {
    allocations,
    project_id: projectId,
    user_id: userId,
    consumer_generation: consumerGeneration,
  };
}

/**
 * Returns whether the consumer is unchanged since `read`. Its generation is not sufficient. A move removes all
 * allocations of an instance and with them its consumer; the next claim recreates it at the same generation.
 */
export function isAsRead(read: ConsumerAllocations, now: ConsumerAllocations): boolean {
  const isSame = isDeepStrictEqual(amountsOf(read.allocations), amountsOf(now.allocations));
  return isSame && read.consumerGeneration === now.consumerGeneration;
}

function amountsOf(allocations: Allocations): Readonly<Record<string, ResourceAmounts>> {
  return Object.fromEntries(Object.entries(allocations).map(([provider, { resources }]) => [provider, resources]));
}

/** Returns the body of a write that replaces the allocations of `held`. */
export function rewriteOf(held: ConsumerAllocations, allocations: Allocations): AllocationWrite {
  return {
    allocations,
    projectId: held.projectId ?? "",
    userId: held.userId ?? "",
    consumerGeneration: held.consumerGeneration,
  };
}

export const holdsNothing = ({ allocations }: ConsumerAllocations): boolean => Object.keys(allocations).length === 0;

export function readAllocation(value: unknown): Allocations[string] {
  const { resources, generation } = asRecord(value);
  return {
    resources: mapRecord(resources, asNumber),
    ...(generation === undefined ? {} : { generation: asNumber(generation) }),
  };
}

/** Returns the log field with the request's id. */
export function requestField({ requestId }: RequestContext): { readonly request_id?: string } {
  return requestId === undefined ? {} : { request_id: requestId };
}
