import type { Logger } from "../runtime/logger.js";
import { holdsNothing, readConsumer, requestField, rewriteOf, writeConsumer } from "./consumer-allocations.js";
import { AllocationUpdateFailed } from "./errors.js";
import type { PlacementHttp } from "./placement-http.js";
import type { ProviderAllocationMemory } from "./provider-allocations.js";
import { listTree } from "./provider-requests.js";
import { AGAIN, type ConflictRetries } from "./retries.js";
import type { Allocations, RequestContext, ResourceAmounts } from "./types.js";

/** Changes a part of what a consumer holds: read, edit, write with the generation read (spec 5.5). */
export class AllocationEditor {
  readonly #http: PlacementHttp;
  readonly #retries: ConflictRetries;
  readonly #memory: ProviderAllocationMemory;
  readonly #logger: Logger;

  constructor(http: PlacementHttp, retries: ConflictRetries, memory: ProviderAllocationMemory, logger: Logger) {
    this.#http = http;
    this.#retries = retries;
    this.#memory = memory;
    this.#logger = logger;
  }

  add(consumer: string, amounts: Allocations, context: RequestContext): Promise<void> {
    return this.#edit(consumer, (held) => merge(held, amounts, (have, more) => have + more), context);
  }

  remove(consumer: string, amounts: Allocations, context: RequestContext): Promise<void> {
    return this.#edit(consumer, (held) => subtract(consumer, held, amounts), context);
  }

  async #edit(consumer: string, edit: (held: Allocations) => Allocations, context: RequestContext): Promise<void> {
    const done = await this.#retries.run(async () => {
      const current = await readConsumer(this.#http, consumer, context);
      if (holdsNothing(current)) {
        throw new AllocationUpdateFailed(consumer, "it holds nothing that could be changed");
      }
      const write = rewriteOf(current, edit(current.allocations));
      const answer = await writeConsumer(this.#http, consumer, write, context);
      if (answer.isConcurrentUpdate) {
        return AGAIN;
      }
      if (!answer.ok) {
        throw new AllocationUpdateFailed(consumer, "the change was refused", answer);
      }
      return true;
    }, context.signal);
    if (!done) {
      throw new AllocationUpdateFailed(consumer, "they kept changing; try again later");
    }
    this.#logger.info("changed the amounts that a consumer holds", { consumer, ...requestField(context) });
  }

  /**
   * Takes the tree of `root` away from the consumer. False: it holds nothing, or the write was refused.
   * `retry`: a conflict is tried again after a fresh read (spec 3.3 GAP-a OPT). `unless` is asked between read and write.
   */
  async removeTree(
    consumer: string,
    root: string,
    {
      retry,
      unless,
      ...context
    }: RequestContext & { readonly retry: boolean; readonly unless?: () => Promise<boolean> },
  ): Promise<boolean> {
    const fields = { consumer, provider: root, ...requestField(context) };
    const attempt = async () => {
      const current = await readConsumer(this.#http, consumer, context);
      if (holdsNothing(current)) {
        this.#memory.forgetConsumer(consumer);
        this.#logger.warn("a consumer holds nothing that could be taken from it", fields);
        return false;
      }
      const tree = new Set((await listTree(this.#http, root, context)).map(({ uuid }) => uuid));
      const others = Object.entries(current.allocations).filter(([provider]) => !tree.has(provider));
      if (others.length === Object.keys(current.allocations).length) {
        this.#forget(tree, consumer);
        this.#logger.warn("a consumer holds nothing on the providers that are to be taken from it", fields);
        return true;
      }
      if (await unless?.()) {
        this.#logger.info("what a consumer holds on a provider is needed after all: it is left", fields);
        return true;
      }
      const write = rewriteOf(current, Object.fromEntries(others));
      const answer = await writeConsumer(this.#http, consumer, write, context);
      if (answer.isConcurrentUpdate) {
        return AGAIN;
      }
      if (answer.ok) {
        this.#forget(tree, consumer);
        this.#logger.info("took a provider and those below it from the allocations of a consumer", fields);
      } else {
        this.#logger.warn("the change of a consumer's allocations was refused", {
          ...fields,
          answer: answer.describe(),
        });
      }
      return answer.ok;
    };
    const done = retry ? await this.#retries.run(attempt, context.signal) : await attempt();
    return done === true;
  }

  #forget(tree: ReadonlySet<string>, consumer: string): void {
    for (const provider of tree) {
      this.#memory.forget(provider, consumer);
    }
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

function merge(held: Allocations, amounts: Allocations, combine: (have: number, given: number) => number): Allocations {
  const merged: Record<string, { resources: ResourceAmounts }> = {};
  for (const provider of new Set([...Object.keys(held), ...Object.keys(amounts)])) {
    const have = held[provider]?.resources ?? {};
    const given = amounts[provider]?.resources ?? {};
    const combined = Object.entries(given).map(([name, amount]) => [name, combine(have[name] ?? 0, amount)]);
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
