import { readCandidates } from "./allocation-candidates.js";
import type { ClientContext } from "./client-context.js";
import {
  CONSUMER_GENERATION_VERSION,
  consumerToWire,
  holdsNothing,
  isAsRead,
  readConsumer,
  requestField,
  rewriteOf,
  writeConsumer,
} from "./consumer-allocations.js";
import { createAllocationError, isPlacementError } from "./errors.js";
import type { PlacementResponse } from "./placement-http.js";
import { listTree } from "./provider-requests.js";
import { AGAIN, retryConflicts } from "./retries.js";
import type {
  AllocationCandidates,
  AllocationRewrite,
  Allocations,
  CandidatesQuery,
  Claim,
  ConsumerAllocations,
  RequestContext,
  ResourceAmounts,
} from "./types.js";

/** A *safe* method that cannot reach Placement warns at the first failure and at every 10th after it. */
const WARN_EVERY = 10;

const CHANGED = "another process changed the consumer after its allocations were read; retry the operation";

interface MoveOptions extends RequestContext {
  readonly targetDeleted?: () => Promise<boolean>;
  /** Providers whose allocations remain with the source. */
  readonly keep?: ReadonlySet<string>;
  /** Selects from the target's allocations the providers that it retains in addition to the moved ones. */
  readonly leave?: (held: Allocations) => Promise<ReadonlySet<string>>;
}

/** Reads and writes the allocations of consumers (spec 5.5, 5.6), with the consumer's generation that was read. */
export class AllocationClient {
  protected readonly client: ClientContext;
  #connectFailures = 0;

  constructor(client: ClientContext) {
    this.client = client;
  }

  /** @throws ConsumerAllocationRetrievalFailed */
  getAllocationsForConsumer(consumer: string, context: RequestContext = {}): Promise<ConsumerAllocations> {
    return readConsumer(this.client.http, consumer, context);
  }

  /** *Safe.* Returns null as well when Placement responded with an error. */
  getAllocationCandidates(query: CandidatesQuery, context: RequestContext = {}): Promise<AllocationCandidates | null> {
    return this.#safe(() => readCandidates(this.client, query, context));
  }

  /**
   * *Safe.* Claims `request` for the consumer. Returns false if it no longer fits. `held` selects what happens to the
   * consumer's existing allocations: `double` retains those on other providers (moves). `replace` drops them (builds: a
   * run killed after its claim starts again).
   * @throws AllocationUpdateFailed (another client wrote this consumer), ConsumerAllocationRetrievalFailed
   */
  claimResources(claim: Claim, context: RequestContext = {}): Promise<boolean | null> {
    const { consumer, projectId, userId, version } = claim;
    return this.#safe(async () => {
      const done = await this.#retry(async () => {
        const current = await this.getAllocationsForConsumer(consumer, context);
        const { consumerGeneration } = current;
        const write = { allocations: toDesiredAllocations(claim, current), projectId, userId, consumerGeneration };
        return this.#evaluate(consumer, await writeConsumer(this.client.http, consumer, write, context, version));
      }, context);
      return done ?? false;
    });
  }

  /**
   * Replaces the allocations of a consumer, based on a previous read. Returns false if Placement rejected the write.
   * Before another attempt, compares the current allocations with those read: seconds have passed.
   * @throws AllocationUpdateFailed when the consumer was written since that read
   */
  async putAllocations(
    consumer: string,
    { read, ...rewrite }: AllocationRewrite,
    context: RequestContext = {},
  ): Promise<boolean> {
    const write = { ...rewrite, consumerGeneration: read.consumerGeneration };
    const done = await this.#retry(async (tried) => {
      if (tried > 0 && !isAsRead(read, await this.getAllocationsForConsumer(consumer, context))) {
        throw createAllocationError("AllocationUpdateFailed", consumer, CHANGED);
      }
      return this.#evaluate(consumer, await writeConsumer(this.client.http, consumer, write, context));
    }, context);
    return done ?? false;
  }

  /**
   * Adds amounts to the consumer's allocations.
   * @throws AllocationUpdateFailed, ConsumerAllocationRetrievalFailed
   */
  addResources(consumer: string, amounts: Allocations, context: RequestContext = {}): Promise<void> {
    const sum = (held: Allocations) => merge(nonEmpty(consumer, held), amounts, (have, more) => have + more);
    return this.editAllocations(consumer, sum, context);
  }

  /**
   * Subtracts amounts and drops what becomes empty. `whileHeld` is called with the current allocations before each
   * write; if it returns false, nothing is subtracted. A conflict may follow a write that was applied, and subtracting
   * the amounts twice would leave too little.
   * @throws AllocationUpdateFailed (the amounts exceed the allocations, the write was rejected, or conflicts persist),
   * ConsumerAllocationRetrievalFailed
   */
  removeResources(
    consumer: string,
    amounts: Allocations,
    {
      whileHeld = () => true,
      ...context
    }: RequestContext & { readonly whileHeld?: (held: Allocations) => boolean } = {},
  ): Promise<void> {
    const left = (held: Allocations) =>
      whileHeld(nonEmpty(consumer, held)) ? subtract(consumer, held, amounts) : null;
    return this.editAllocations(consumer, left, context);
  }

  /**
   * Removes the tree of `root` from the consumer's allocations. Returns false if the consumer has no allocations or the
   * write was rejected. `retry`: after a generation conflict, reads and writes again, at most 4 times (spec 3.3 GAP-a
   * OPT); upstream never does. `unless` is called with the current allocations between the read and the write; if it
   * returns true, nothing is removed and the result is true.
   * @throws ConsumerAllocationRetrievalFailed, ResourceProviderRetrievalFailed
   */
  async removeProviderTreeFromInstanceAllocation(
    consumer: string,
    root: string,
    {
      retry,
      unless,
      ...context
    }: RequestContext & { readonly retry: boolean; readonly unless?: (held: Allocations) => Promise<boolean> },
  ): Promise<boolean> {
    const { http, cache, logger } = this.client;
    const fields = { consumer, provider: root, ...requestField(context) };
    const attempt = async () => {
      const current = await this.getAllocationsForConsumer(consumer, context);
      if (holdsNothing(current)) {
        cache.allocations.forgetConsumer(consumer);
        logger.warn(`consumer ${consumer} has no allocations to remove`, fields);
        return false;
      }
      const tree = new Set((await listTree(http, root, context)).map(({ uuid }) => uuid));
      const others = Object.entries(current.allocations).filter(([provider]) => !tree.has(provider));
      if (others.length === Object.keys(current.allocations).length) {
        this.#forget(tree, consumer);
        logger.warn(`consumer ${consumer} has no allocations on provider ${root} or its children`, fields);
        return true;
      }
      if (await unless?.(current.allocations)) {
        logger.info(`keeping the allocations of consumer ${consumer} on provider ${root}: still in use`, fields);
        return true;
      }
      const write = rewriteOf(current, Object.fromEntries(others));
      const response = await writeConsumer(http, consumer, write, context);
      if (response.isConcurrentUpdate) {
        return AGAIN;
      }
      if (response.ok) {
        this.#forget(tree, consumer);
        logger.info(`removed provider ${root} and its children from the allocations of consumer ${consumer}`, fields);
      } else {
        logger.warn(`Placement rejected the removal of provider ${root} from the allocations of consumer ${consumer}`, {
          ...fields,
          response: response.describe(),
        });
      }
      return response.ok;
    };
    const done = retry ? await this.#retry(attempt, context) : await attempt();
    return done === true;
  }

  /**
   * *Safe.* Deletes all allocations of the consumer, on all providers. Returns false if it had none. `force` skips the
   * generation check.
   * @throws AllocationDeleteFailed
   */
  deleteAllocation(
    consumer: string,
    { force, ...context }: RequestContext & { readonly force: boolean },
  ): Promise<boolean | null> {
    return this.#safe(() => this.deleteReachable(consumer, force, context));
  }

  /** Deletes like {@link deleteAllocation}. @throws AllocationDeleteFailed, PlacementAPIConnectFailure */
  protected async deleteReachable(consumer: string, force: boolean, context: RequestContext): Promise<boolean> {
    const { cache, logger } = this.client;
    const deleted = await (force ? this.#deleteAtOnce(consumer, context) : this.#deleteGuarded(consumer, context));
    cache.allocations.forgetConsumer(consumer);
    if (deleted) {
      logger.info(`deleted the allocations of consumer ${consumer}`, { consumer, ...requestField(context) });
    }
    return deleted;
  }

  async #deleteAtOnce(consumer: string, context: RequestContext): Promise<boolean> {
    const response = await this.client.http.delete(`/allocations/${consumer}`, context);
    return response.status === 404 ? false : expectDeleted(consumer, response);
  }

  /**
   * Deletes the allocations unless the consumer was written since it was read. After a conflict it may have no
   * allocations: another client deleted them, or this request was applied twice. That counts as deleted.
   */
  async #deleteGuarded(consumer: string, context: RequestContext): Promise<boolean> {
    const held = await this.getAllocationsForConsumer(consumer, context);
    if (holdsNothing(held)) {
      return false;
    }
    const response = await writeConsumer(this.client.http, consumer, rewriteOf(held, {}), context);
    if (response.status === 409 && holdsNothing(await this.getAllocationsForConsumer(consumer, context))) {
      return true;
    }
    return expectDeleted(consumer, response);
  }

  /**
   * *Safe.* Moves all allocations of `source` to `target` in one write, replacing the target's own. Returns true if they
   * were moved before. `targetDeleted` is called after the move; if it returns true, the target's allocations are
   * deleted again (bug 1848343, the OPT of `resurrect-deleted-allocations`).
   * @throws AllocationMoveFailed on a consumer generation conflict, ConsumerAllocationRetrievalFailed
   */
  moveAllocations(
    source: string,
    target: string,
    { targetDeleted, keep = new Set(), leave, ...context }: MoveOptions = {},
  ): Promise<boolean | null> {
    return this.#safe(async () => {
      const moved = await this.#retry(() => this.#move(source, target, keep, leave, context), context);
      if (moved && (await targetDeleted?.())) {
        this.client.logger.warn(
          `instance ${target} was deleted while allocations were moved to it; deleting them again`,
          { consumer: target },
        );
        await this.deleteReachable(target, true, context);
      }
      return moved ?? false;
    });
  }

  async #move(
    source: string,
    target: string,
    keep: ReadonlySet<string>,
    leave: MoveOptions["leave"],
    context: RequestContext,
  ): Promise<boolean | typeof AGAIN> {
    const { http, logger } = this.client;
    const from = await this.getAllocationsForConsumer(source, context);
    const to = await this.getAllocationsForConsumer(target, context);
    const retained = Object.fromEntries(Object.entries(from.allocations).filter(([provider]) => keep.has(provider)));
    const moved = Object.fromEntries(Object.entries(from.allocations).filter(([provider]) => !keep.has(provider)));
    if (Object.keys(moved).length === 0) {
      // An earlier attempt whose response was lost has moved them, or there was nothing to move.
      return !holdsNothing(to);
    }
    const left = (await leave?.(to.allocations)) ?? new Set<string>();
    const own = Object.fromEntries(Object.entries(to.allocations).filter(([provider]) => left.has(provider)));
    const response = await http.post("/allocations", {
      ...context,
      version: CONSUMER_GENERATION_VERSION,
      body: {
        [source]: consumerToWire(rewriteOf(from, retained)),
        [target]: consumerToWire({
          ...rewriteOf(from, { ...own, ...moved }),
          consumerGeneration: to.consumerGeneration,
        }),
      },
    });
    const fields = { source, target };
    if (response.ok) {
      const request = requestField(context);
      logger.info(`moved allocations from consumer ${source} to consumer ${target}`, { ...fields, ...request });
      return true;
    }
    if (response.isConsumerConflict) {
      const both = `${source} to consumer ${target}`;
      const reason = "another process changed one of them meanwhile";
      throw createAllocationError("AllocationMoveFailed", both, reason, response);
    }
    if (response.isConcurrentUpdate) {
      return AGAIN;
    }
    logger.warn(`the allocations of consumer ${source} could not be moved to consumer ${target}`, {
      ...fields,
      response: response.describe(),
    });
    return false;
  }

  /**
   * Replaces the allocations that the consumer has at the time of the write.
   * @param edit is called before each write with the current allocations; returns null to write nothing
   * @throws AllocationUpdateFailed (with a status: the write was rejected; without: conflicts persist),
   * ConsumerAllocationRetrievalFailed
   */
  async editAllocations(
    consumer: string,
    edit: (held: Allocations) => Allocations | null,
    context: RequestContext = {},
  ): Promise<void> {
    const { http, logger } = this.client;
    const fields = { consumer, ...requestField(context) };
    const done = await this.#retry(async () => {
      const current = await this.getAllocationsForConsumer(consumer, context);
      const edited = edit(current.allocations);
      if (edited === null) {
        logger.info(`the allocations of consumer ${consumer} have changed meanwhile; leaving them`, fields);
        return true;
      }
      const response = await writeConsumer(http, consumer, rewriteOf(current, edited), context);
      if (response.isConcurrentUpdate) {
        return AGAIN;
      }
      if (!response.ok) {
        throw createAllocationError("AllocationUpdateFailed", consumer, "Placement rejected the change", response);
      }
      logger.info(`changed the allocations of consumer ${consumer}`, fields);
      return true;
    }, context);
    if (!done) {
      throw createAllocationError("AllocationUpdateFailed", consumer, "they changed repeatedly; try again later");
    }
  }

  /** @throws AllocationUpdateFailed on a consumer generation conflict: a retry would overwrite another client's claim */
  #evaluate(consumer: string, response: PlacementResponse): boolean | typeof AGAIN {
    if (response.ok) {
      return true;
    }
    if (response.isConsumerConflict) {
      throw createAllocationError("AllocationUpdateFailed", consumer, CHANGED, response);
    }
    if (response.isConcurrentUpdate) {
      return AGAIN;
    }
    this.client.logger.warn(`Placement rejected the allocations of consumer ${consumer}`, {
      consumer,
      response: response.describe(),
    });
    return false;
  }

  #retry<T>(attempt: (tried: number) => Promise<T | typeof AGAIN>, { signal }: RequestContext): Promise<T | undefined> {
    return retryConflicts(this.client, attempt, signal);
  }

  #forget(tree: ReadonlySet<string>, consumer: string): void {
    for (const provider of tree) {
      this.client.cache.allocations.forget(provider, consumer);
    }
  }

  /** Returns null if Placement cannot be reached. */
  async #safe<T>(action: () => Promise<T>): Promise<T | null> {
    try {
      return await action();
    } catch (error) {
      if (!isPlacementError(error, "PlacementAPIConnectFailure")) {
        throw error;
      }
      if (this.#connectFailures % WARN_EVERY === 0) {
        this.client.logger.warn(`Placement cannot be reached: ${error.message}`, { err: error });
      }
      this.#connectFailures += 1;
      return null;
    }
  }
}

/** @throws AllocationUpdateFailed for a consumer without allocations */
function nonEmpty(consumer: string, held: Allocations): Allocations {
  if (Object.keys(held).length === 0) {
    throw createAllocationError("AllocationUpdateFailed", consumer, "it has no allocations");
  }
  return held;
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

/**
 * `double` retains the existing allocations on other providers. They come first: Nova also writes the source's
 * allocations of an evacuation first. On a provider that is requested, the existing amounts are either equal (a sharing
 * provider) or left over from an earlier stay, and the request replaces them. OPT: upstream's doubling keeps them, so that
 * a server that returns with another flavor to a host it was evacuated from holds its former amounts there.
 */
function toDesiredAllocations({ request, held }: Claim, current: ConsumerAllocations): Allocations {
  const requested = onlyResources(request.allocations);
  return held === "replace" ? requested : { ...onlyResources(current.allocations), ...requested };
}

function onlyResources(allocations: Allocations): Allocations {
  return Object.fromEntries(Object.entries(allocations).map(([provider, { resources }]) => [provider, { resources }]));
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
