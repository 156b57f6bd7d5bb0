import type { ClientContext } from "./client-context.js";
import {
  holdsNothing,
  isAsRead,
  readConsumer,
  requestField,
  rewriteOf,
  writeConsumer,
} from "./consumer-allocations.js";
import { createAllocationError } from "./errors.js";
import type { PlacementResponse } from "./placement-http.js";
import { listTree } from "./provider-requests.js";
import { AGAIN, retryConflicts } from "./retries.js";
import type {
  AllocationRewrite,
  Allocations,
  Claim,
  ConsumerAllocations,
  RequestContext,
  ResourceAmounts,
} from "./types.js";

/** Changes a part of a consumer's allocations: reads, edits and writes with the generation that was read (spec 5.5). */
export function addResources(
  client: ClientContext,
  consumer: string,
  amounts: Allocations,
  context: RequestContext,
): Promise<void> {
  return edit(client, consumer, (held) => merge(held, amounts, (have, more) => have + more), context);
}

export interface SubtractionOptions extends RequestContext {
  /**
   * Called with the current allocations before each write; if it returns false, nothing is subtracted. A conflict may
   * follow a write that was applied, and subtracting the amounts twice would leave too little.
   */
  readonly whileHeld?: (held: Allocations) => boolean;
}

export function removeResources(
  client: ClientContext,
  consumer: string,
  amounts: Allocations,
  { whileHeld = () => true, ...context }: SubtractionOptions,
): Promise<void> {
  const left = (held: Allocations) => (whileHeld(held) ? subtract(consumer, held, amounts) : null);
  return edit(client, consumer, left, context);
}

/** @param edit returns null to write nothing */
async function edit(
  client: ClientContext,
  consumer: string,
  edit: (held: Allocations) => Allocations | null,
  context: RequestContext,
): Promise<void> {
  const done = await retryConflicts(
    client,
    async () => {
      const current = await readConsumer(client.http, consumer, context);
      if (holdsNothing(current)) {
        throw createAllocationError("AllocationUpdateFailed", consumer, "it has no allocations");
      }
      const edited = edit(current.allocations);
      if (edited === null) {
        client.logger.info(`the allocations of consumer ${consumer} have changed meanwhile; leaving them`, {
          consumer,
          ...requestField(context),
        });
        return true;
      }
      const response = await writeConsumer(client.http, consumer, rewriteOf(current, edited), context);
      if (response.isConcurrentUpdate) {
        return AGAIN;
      }
      if (!response.ok) {
        throw createAllocationError("AllocationUpdateFailed", consumer, "Placement rejected the change", response);
      }
      client.logger.info(`changed the allocations of consumer ${consumer}`, { consumer, ...requestField(context) });
      return true;
    },
    context.signal,
  );
  if (!done) {
    throw createAllocationError("AllocationUpdateFailed", consumer, "they changed repeatedly; try again later");
  }
}

export interface RemovalOptions extends RequestContext {
  /** Whether to read and write again after a conflict (spec 3.3 GAP-a OPT). */
  readonly retry: boolean;
  /** Called with the current allocations between the read and the write; if it returns true, nothing is removed. */
  readonly unless?: (held: Allocations) => Promise<boolean>;
}

/**
 * Removes the tree of `root` from the consumer's allocations. Returns false if it has no allocations or the write was
 * rejected.
 */
export async function removeProviderTree(
  client: ClientContext,
  consumer: string,
  root: string,
  { retry, unless, ...context }: RemovalOptions,
): Promise<boolean> {
  const fields = { consumer, provider: root, ...requestField(context) };
  const attempt = async () => {
    const current = await readConsumer(client.http, consumer, context);
    if (holdsNothing(current)) {
      client.cache.allocations.forgetConsumer(consumer);
      client.logger.warn(`consumer ${consumer} has no allocations to remove`, fields);
      return false;
    }
    const tree = new Set((await listTree(client.http, root, context)).map(({ uuid }) => uuid));
    const others = Object.entries(current.allocations).filter(([provider]) => !tree.has(provider));
    if (others.length === Object.keys(current.allocations).length) {
      forget(client, tree, consumer);
      client.logger.warn(`consumer ${consumer} has no allocations on provider ${root} or its children`, fields);
      return true;
    }
    if (await unless?.(current.allocations)) {
      client.logger.info(`keeping the allocations of consumer ${consumer} on provider ${root}: still in use`, fields);
      return true;
    }
    const write = rewriteOf(current, Object.fromEntries(others));
    const response = await writeConsumer(client.http, consumer, write, context);
    if (response.isConcurrentUpdate) {
      return AGAIN;
    }
    if (response.ok) {
      forget(client, tree, consumer);
      client.logger.info(
        `removed provider ${root} and its children from the allocations of consumer ${consumer}`,
        fields,
      );
    } else {
      client.logger.warn(
        `Placement rejected the removal of provider ${root} from the allocations of consumer ${consumer}`,
        {
          ...fields,
          response: response.describe(),
        },
      );
    }
    return response.ok;
  };
  const done = retry ? await retryConflicts(client, attempt, context.signal) : await attempt();
  return done === true;
}

function forget(client: ClientContext, tree: ReadonlySet<string>, consumer: string): void {
  for (const provider of tree) {
    client.cache.allocations.forget(provider, consumer);
  }
}

function subtract(consumer: string, held: Allocations, amounts: Allocations): Allocations {
  const left = merge(held, amounts, (have, less) => have - less);
  for (const [provider, { resources }] of Object.entries(left)) {
    for (const [name, amount] of Object.entries(resources)) {
      if (amount < 0) {
        throw createAllocationError(
          "AllocationUpdateFailed",
          consumer,
          `it has ${held[provider]?.resources[name] ?? 0} ${name} on provider ${provider}, ` +
            `cannot subtract ${amounts[provider]?.resources[name]}`,
        );
      }
    }
  }
  return withoutEmpty(left);
}

function merge(held: Allocations, amounts: Allocations, combine: (have: number, delta: number) => number): Allocations {
  const merged: Record<string, { resources: ResourceAmounts }> = {};
  for (const provider of new Set([...Object.keys(held), ...Object.keys(amounts)])) {
    const have = held[provider]?.resources ?? {};
    const deltas = amounts[provider]?.resources ?? {};
    const combined = Object.entries(deltas).map(([name, amount]) => [name, combine(have[name] ?? 0, amount)]);
    merged[provider] = { resources: { ...have, ...Object.fromEntries(combined) } };
  }
  return merged;
}

function withoutEmpty(allocations: Allocations): Allocations {
  return Object.fromEntries(
    Object.entries(allocations)
      .map(
        ([provider, { resources }]) =>
          [
            provider,
            { resources: Object.fromEntries(Object.entries(resources).filter(([, amount]) => amount > 0)) },
          ] as const,
      )
      .filter(([, { resources }]) => Object.keys(resources).length > 0),
  );
}

/** Claims resources for a consumer: the scheduler's part of a build or a move (spec 5.5). */
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

/** Before another attempt, compares the current allocations with those read: seconds have passed. */
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
        throw createAllocationError("AllocationUpdateFailed", consumer, CHANGED);
      }
      return evaluateResponse(client, consumer, await writeConsumer(client.http, consumer, write, context));
    },
    context.signal,
  );
  return done ?? false;
}

const CHANGED = "another process changed the consumer after its allocations were read; retry the operation";

/** @throws AllocationUpdateFailed on a consumer generation conflict: a retry would overwrite another client's claim */
function evaluateResponse(
  client: ClientContext,
  consumer: string,
  response: PlacementResponse,
): boolean | typeof AGAIN {
  if (response.ok) {
    return true;
  }
  if (response.isConsumerConflict) {
    throw createAllocationError("AllocationUpdateFailed", consumer, CHANGED, response);
  }
  if (response.isConcurrentUpdate) {
    return AGAIN;
  }
  client.logger.warn(`Placement rejected the allocations of consumer ${consumer}`, {
    consumer,
    response: response.describe(),
  });
  return false;
}

/**
 * Retains the existing allocations of a provider, so that those of sharing providers are not claimed twice. They come
 * first: Nova also writes the source's allocations of an evacuation first.
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

const CONFLICT = 409;

/**
 * Deletes all allocations of a consumer (spec 5.5). Returns false if it had none.
 * @throws AllocationDeleteFailed
 */
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
    client.logger.info(`deleted the allocations of consumer ${consumer}`, { consumer, ...requestField(context) });
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
 * Deletes the allocations unless the consumer was written since it was read. After a conflict it may have no
 * allocations: another client deleted them, or this request was applied twice. That counts as deleted.
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
  throw createAllocationError(
    "AllocationDeleteFailed",
    consumer,
    `they were not deleted; try again, or use "openstack resource provider allocation delete ${consumer}"`,
    response,
  );
}
