import type { ClientContext } from "./client-context.js";
import { holdsNothing, readConsumer, requestField, rewriteOf, writeConsumer } from "./consumer-allocations.js";
import { AllocationUpdateFailed } from "./errors.js";
import { listTree } from "./provider-requests.js";
import { AGAIN, retryConflicts } from "./retries.js";
import type { Allocations, RequestContext, ResourceAmounts } from "./types.js";

/** Changes a part of what a consumer holds: read, edit, write with the generation read (spec 5.5). */
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
   * Asked with what is read before each write; false: nothing is taken away. A conflict may be the echo of a write that was carried
   * out, and taking the amounts away twice would leave too little.
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

/** @param edit null: nothing is to be written */
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
        throw new AllocationUpdateFailed(consumer, "it holds nothing that could be changed");
      }
      const edited = edit(current.allocations);
      if (edited === null) {
        client.logger.info("what a consumer holds is not what it was: it is left", {
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
        throw new AllocationUpdateFailed(consumer, "the change was refused", response);
      }
      client.logger.info("changed the amounts that a consumer holds", { consumer, ...requestField(context) });
      return true;
    },
    context.signal,
  );
  if (!done) {
    throw new AllocationUpdateFailed(consumer, "they kept changing; try again later");
  }
}

export interface RemovalOptions extends RequestContext {
  /** A conflict is tried again after a fresh read (spec 3.3 GAP-a OPT). */
  readonly retry: boolean;
  /** Asked between the read and the write that it guards, with what was read; true: nothing is taken away. */
  readonly unless?: (held: Allocations) => Promise<boolean>;
}

/** Takes the tree of `root` away from the consumer. False: it holds nothing, or the write was refused. */
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
      client.logger.warn("a consumer holds nothing that could be taken from it", fields);
      return false;
    }
    const tree = new Set((await listTree(client.http, root, context)).map(({ uuid }) => uuid));
    const others = Object.entries(current.allocations).filter(([provider]) => !tree.has(provider));
    if (others.length === Object.keys(current.allocations).length) {
      forget(client, tree, consumer);
      client.logger.warn("a consumer holds nothing on the providers that are to be taken from it", fields);
      return true;
    }
    if (await unless?.(current.allocations)) {
      client.logger.info("what a consumer holds on a provider is needed after all: it is left", fields);
      return true;
    }
    const write = rewriteOf(current, Object.fromEntries(others));
    const response = await writeConsumer(client.http, consumer, write, context);
    if (response.isConcurrentUpdate) {
      return AGAIN;
    }
    if (response.ok) {
      forget(client, tree, consumer);
      client.logger.info("took a provider and those below it from the allocations of a consumer", fields);
    } else {
      client.logger.warn("the change of a consumer's allocations was refused", {
        ...fields,
        response: response.describe(),
      });
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
        throw new AllocationUpdateFailed(
          consumer,
          `it holds ${held[provider]?.resources[name] ?? 0} ${name} on provider ${provider}, ` +
            `${amounts[provider]?.resources[name]} should be taken away`,
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
