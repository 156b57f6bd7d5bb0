import { badRequest, conflict } from "../../http/http-error.js";
import type { Call } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import type { Consumer } from "../model.js";
import {
  createConsumer,
  ensureConsumerType,
  ensureProject,
  ensureUser,
  type Ownership,
  type RequestedAllocation,
} from "../store/allocation-changes.js";

/** The allocations of a consumer in a request body. */
export interface ConsumerBody {
  readonly allocations: Readonly<Record<string, { readonly resources: Readonly<Record<string, number>> }>>;
  readonly project_id?: string;
  readonly user_id?: string;
  readonly consumer_generation?: number | null;
  readonly consumer_type?: string;
}

export interface EnsuredConsumer {
  readonly consumer: Consumer;
  /** The requested owner. For an existing consumer, it applies when the allocations are replaced. */
  readonly owner: Ownership;
}

/**
 * Returns the consumer; creates it if it does not exist.
 * @throws {HttpError} 409 if the requested generation, required from microversion 1.28 on, is not the consumer's.
 */
export function ensureConsumer(call: Call, uuid: string, body: ConsumerBody): EnsuredConsumer {
  const { tuning, state, minor } = call;
  const known = state.consumers.get(uuid);
  if (minor >= 28) {
    checkGeneration(known, body.consumer_generation ?? null);
  }
  const project = ensureProject(call, body.project_id ?? tuning.incompleteConsumerProjectId);
  const userId = body.project_id === undefined ? tuning.incompleteConsumerUserId : body.user_id;
  const user = ensureUser(call, userId ?? tuning.incompleteConsumerUserId);
  const type = minor >= 38 && body.consumer_type !== undefined ? ensureConsumerType(call, body.consumer_type) : null;
  const owner = { project, user, type };
  return { consumer: known ?? createConsumer(call, uuid, owner), owner };
}

function checkGeneration(known: Consumer | undefined, generation: number | null): void {
  const expected = known?.generation ?? null;
  if (expected === generation) {
    return;
  }
  throw conflict(
    known === undefined
      ? `consumer generation conflict - expected null but got ${generation}`
      : `consumer generation conflict - expected ${expected} but got ${generation ?? "None"}`,
    ErrorCode.concurrentUpdate,
  );
}

/**
 * Returns the requested allocations of a consumer. An empty body removes all current ones.
 * @throws {HttpError} 400 if a provider does not exist.
 */
export function requestedAllocations(call: Call, consumer: Consumer, body: ConsumerBody): RequestedAllocation[] {
  const requested: RequestedAllocation[] = [];
  const uuids = Object.keys(body.allocations);
  if (uuids.length === 0) {
    return consumer.allocations.map(({ inventory }) => ({
      consumer,
      provider: inventory.provider,
      className: inventory.resourceClass.name,
      used: 0,
    }));
  }
  for (const uuid of uuids) {
    const provider = call.state.providers.get(uuid);
    if (provider === undefined) {
      throw badRequest(`Allocation for resource provider '${uuid}' that does not exist.`);
    }
    const resources = body.allocations[uuid]?.resources ?? {};
    for (const className in resources) {
      requested.push({ consumer, provider, className, used: resources[className] ?? 0 });
    }
  }
  return requested;
}

/** The responses to errors of an allocation change. `subject` differs for one and for several consumers. */
export function allocationErrors(subject: string) {
  return {
    NotFound: (message: string) => badRequest(`Unable to allocate inventory ${subject}${message}`),
    InvalidInventory: (message: string) => conflict(`Unable to allocate inventory: ${message}`),
  };
}
