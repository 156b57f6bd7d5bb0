import type { Random } from "../runtime/cryptography.js";
import type { HttpClient } from "../runtime/http.js";
import type { Logger } from "../runtime/runtime.js";
import type { Clock, Timers } from "../runtime/time.js";
import type { ProviderTree } from "../virt/provider-tree.js";
import { type PlacementAccess, WatchedAccess } from "./access/placement-access.js";
import { readCandidates } from "./allocation-candidates.js";
import { type ClientContext, KnownNames, ProviderCache } from "./client-context.js";
import { readConsumer } from "./consumer-allocations.js";
import {
  addResources,
  claimResources,
  deleteAllocation,
  putAllocations,
  type RemovalOptions,
  removeProviderTree,
  removeResources,
  type SubtractionOptions,
} from "./edit-allocations.js";
import { isPlacementError } from "./errors.js";
import { flushTree } from "./flush.js";
import { moveAllocations } from "./move-allocations.js";
import { PlacementHttp, type PlacementRequestEvent } from "./placement-http.js";
import { addToAggregate, putTraits, removeFromAggregate } from "./provider-associations.js";
import {
  listProviders,
  listTree,
  type PlacementPass,
  readProviderAllocations,
  readTraits,
} from "./provider-requests.js";
import { beginPass, deleteProviderTree, ensureRoot } from "./resource-providers.js";
import type {
  AllocationCandidates,
  AllocationRewrite,
  Allocations,
  CandidatesQuery,
  Claim,
  ConsumerAllocations,
  DeletionCascade,
  ProviderAllocations,
  ProviderListing,
  ProviderTraits,
  RequestContext,
} from "./types.js";

export interface ReportClientOptions {
  readonly http: HttpClient;
  readonly access: PlacementAccess;
  readonly config: ReportClientConfig;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  /** Shared with other clients of the same Placement. Default: not shared. */
  readonly known?: KnownNames;
  /** Called with every request; for metrics. */
  readonly observe?: (event: PlacementRequestEvent) => void;
}

/** @internal for tests */
export interface ReportClientConfig {
  /** `[compute] resource_provider_association_refresh` in seconds; 0: no refresh after the first load. Default 300. */
  readonly associationRefresh?: number;
  /** `[compute] sharing_providers_max_uuids_per_request`. Default 200. */
  readonly sharingProvidersMaxUuidsPerRequest?: number;
  /** The calling service: `nova-compute` (default), `nova-conductor`, `nova-scheduler`. */
  readonly userAgent?: string;
  /** `[placement] timeout`, in milliseconds. Default: that of the HTTP client. */
  readonly timeout?: number;
}

/** A *safe* method that cannot reach Placement warns at the first failure and at every 10th after it. */
const WARN_EVERY = 10;

/**
 * The Placement client of agent, scheduler and conductor (spec 5). One client serves all nodes of a process: it caches
 * the provider trees, skips writes that change nothing, and names every failure as OpenStack does (errors.ts).
 * Every method may reject with PlacementAPIConnectFailure (no response, no endpoint, no valid token) unless it
 * is marked *safe*. Safe methods return null instead and warn at most every 10th time.
 */
export class ReportClient {
  readonly #client: ClientContext;
  readonly #logger: Logger;
  #connectFailures = 0;

  constructor({ access, config, clock, timers, random, logger, known, ...options }: ReportClientOptions) {
    this.#logger = logger;
    this.#client = {
      http: new PlacementHttp({
        clock,
        access: new WatchedAccess(access, () => this.clearProviderCache()),
        userAgent: config.userAgent ?? "nova-compute",
        ...(config.timeout === undefined ? {} : { timeout: config.timeout }),
        ...options,
      }),
      cache: new ProviderCache(clock, config.associationRefresh ?? 300),
      known: known ?? new KnownNames(),
      uuidsPerRequest: config.sharingProvidersMaxUuidsPerRequest ?? 200,
      timers,
      random,
      logger,
    };
  }

  // ── Passes of the resource tracker (5.2) ─────────────────────────────────────────────────────────────────────────
  /**
   * Lists the generations of the trees of `roots` in one request: `?in_tree=` for one root, the unfiltered listing for
   * several. Pass the result to the calls of the same tracker pass, which do not read again what it proves unchanged.
   * Trees that are gone or whose members changed are dropped from the cache at once.
   * @param context.listed a result of {@link listProviders} to use instead of a new listing.
   * @throws ResourceProviderRetrievalFailed
   */
  beginPass(
    roots: readonly string[],
    context: RequestContext & { readonly listed?: readonly ProviderListing[] | undefined } = {},
  ): Promise<PlacementPass> {
    return beginPass(this.#client, roots, context);
  }

  /**
   * Lists all providers.
   * @throws ResourceProviderRetrievalFailed
   */
  listProviders(context: RequestContext = {}): Promise<readonly ProviderListing[]> {
    return listProviders(this.#client.http, "", context);
  }

  /**
   * Lists at least the providers that have the uuid or the name of one of these nodes. Does not use the cache.
   * @param nodes uuid → name
   * @throws ResourceProviderRetrievalFailed
   */
  async listNodeProviders(
    nodes: ReadonlyMap<string, string>,
    context: RequestContext = {},
  ): Promise<readonly ProviderListing[]> {
    if (nodes.size > 1) {
      return this.listProviders(context);
    }
    const { http } = this.#client;
    const queries = [...nodes].flatMap(([uuid, name]) => [
      listTree(http, uuid, context),
      listProviders(http, `name=${encodeURIComponent(name)}`, context),
    ]);
    return (await Promise.all(queries)).flat();
  }

  /**
   * Returns the cached tree of a node. Creates the root in Placement if it does not exist and refreshes stale
   * associations. The result is a copy to edit: the node's tree, and the providers that share with it as further roots.
   * @throws ResourceProviderCreationFailed (the name is taken), ResourceProviderRetrievalFailed,
   * ResourceProviderAggregateRetrievalFailed, ResourceProviderTraitRetrievalFailed
   */
  async getProviderTreeAndEnsureRoot(
    uuid: string,
    name: string,
    { pass, ...context }: RequestContext & { readonly pass?: PlacementPass } = {},
  ): Promise<ProviderTree> {
    await ensureRoot(this.#client, uuid, name, pass, context);
    return this.#client.cache.editable(uuid);
  }

  /**
   * Writes the differences from the cache: creates children top-down, deletes removed ones bottom-up, then writes
   * inventory, aggregates and traits bottom-up. With `reshape` (edited by {@link editedAllocations}), inventories and
   * allocations are moved first, in one request (5.7). Updates the generations in `tree`.
   * @throws ResourceProviderUpdateConflict (redrive the pass, at most 4 times; the tree was dropped from the cache),
   * PlacementReshapeConflict (likewise; the complete cache was dropped), ReshapeFailed (fatal), PlacementPciException
   * (an inventory in use would disappear), ResourceProviderSyncFailed (anything else)
   */
  updateFromProviderTree(
    tree: ProviderTree,
    { reshape, ...context }: RequestContext & { readonly reshape?: ReadonlyMap<string, ConsumerAllocations> } = {},
  ): Promise<void> {
    return flushTree(this.#client, tree, reshape, context);
  }

  /** Removes a provider and its descendants from the cache; they are read again when next ensured. */
  invalidateResourceProvider(uuid: string): void {
    this.#client.cache.invalidateProvider(uuid);
  }

  /** Marks the associations as stale: inventory, aggregates and traits are read again when next ensured. */
  invalidateAssociations(uuid: string): void {
    this.#client.cache.invalidateAssociations(uuid);
  }

  /** Clears the cache, after a SIGHUP or when the endpoint may have changed. */
  clearProviderCache(): void {
    const { cache, known } = this.#client;
    cache.clear();
    known.clear();
  }

  // ── Reading allocations ──────────────────────────────────────────────────────────────────────────────────────────
  /**
   * Lists the consumers of a provider and their amounts (4.6). If the pass proves that nothing was added since the last
   * read, returns that result without a request. It may then contain consumers without allocations, since a removed
   * allocation bumps no generation (5.4).
   * @throws ResourceProviderAllocationRetrievalFailed
   */
  async getAllocationsForProvider(
    uuid: string,
    { pass, ...context }: RequestContext & { readonly pass?: PlacementPass } = {},
  ): Promise<ProviderAllocations> {
    const { http, cache } = this.#client;
    const recalled = pass && cache.allocations.recall(uuid, pass);
    if (recalled) {
      return recalled;
    }
    const read = await readProviderAllocations(http, uuid, context);
    cache.allocations.remember(uuid, read);
    return read;
  }

  /** @throws ConsumerAllocationRetrievalFailed */
  getAllocationsForConsumer(consumer: string, context: RequestContext = {}): Promise<ConsumerAllocations> {
    return readConsumer(this.#client.http, consumer, context);
  }

  /**
   * Returns all allocations of every consumer that has any in the cached tree of `root`: the input of a reshape.
   * @throws ResourceProviderAllocationRetrievalFailed, ConsumerAllocationRetrievalFailed
   */
  getAllocationsForProviderTree(
    root: string,
    context: RequestContext = {},
  ): Promise<ReadonlyMap<string, ConsumerAllocations>> {
    return consumersOfTree(this.#client, root, context);
  }

  // ── Writing allocations (5.5, 5.6) ───────────────────────────────────────────────────────────────────────────────
  /** *Safe.* Returns null as well when Placement responded with an error. */
  getAllocationCandidates(query: CandidatesQuery, context: RequestContext = {}): Promise<AllocationCandidates | null> {
    return this.#safe(() => readCandidates(this.#client, query, context));
  }

  /**
   * *Safe.* Claims `request` for the consumer. Returns false if it no longer fits. `held` selects what happens to the
   * consumer's existing allocations: `double` retains them and adds new providers (moves). `replace` drops them
   * (builds: a run killed after its claim starts again).
   * @throws AllocationUpdateFailed (another client wrote this consumer), ConsumerAllocationRetrievalFailed
   */
  claimResources(claim: Claim, context: RequestContext = {}): Promise<boolean | null> {
    return this.#safe(() => claimResources(this.#client, claim, context));
  }

  /**
   * Replaces the allocations of a consumer, based on a previous read. Returns false if Placement rejected the write.
   * @throws AllocationUpdateFailed when the consumer was written since that read
   */
  putAllocations(consumer: string, write: AllocationRewrite, context: RequestContext = {}): Promise<boolean> {
    return putAllocations(this.#client, consumer, write, context);
  }

  /**
   * Adds amounts to the consumer's allocations.
   * @throws AllocationUpdateFailed, ConsumerAllocationRetrievalFailed
   */
  addResources(consumer: string, amounts: Allocations, context: RequestContext = {}): Promise<void> {
    return addResources(this.#client, consumer, amounts, context);
  }

  /**
   * Subtracts amounts and drops what becomes empty. `whileHeld` is called with the current allocations before each
   * write; if it returns false, nothing is subtracted.
   * @throws AllocationUpdateFailed (the amounts exceed the allocations, the write was rejected, or conflicts persist),
   * ConsumerAllocationRetrievalFailed
   */
  removeResources(consumer: string, amounts: Allocations, options: SubtractionOptions = {}): Promise<void> {
    return removeResources(this.#client, consumer, amounts, options);
  }

  /**
   * Removes the tree of `root` from the consumer's allocations. Returns false if the consumer has no allocations or the
   * write was rejected. `retry`: after a generation conflict, reads and writes again, at most 4 times (spec 3.3 GAP-a
   * OPT); upstream never does. `unless` is called with the current allocations between the read and the write; if it
   * returns true, nothing is removed and the result is true.
   * @throws ConsumerAllocationRetrievalFailed, ResourceProviderRetrievalFailed
   */
  removeProviderTreeFromInstanceAllocation(consumer: string, root: string, options: RemovalOptions): Promise<boolean> {
    return removeProviderTree(this.#client, consumer, root, options);
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
    return this.#safe(() => deleteAllocation(this.#client, consumer, force, context));
  }

  /**
   * *Safe.* Moves all allocations of `source` to `target`, replacing the target's own. Returns true if they were moved
   * before. `targetDeleted` is called after the move; if it returns true, the target's allocations are deleted again
   * (bug 1848343, the OPT of `resurrect-deleted-allocations`). `keep` names providers whose allocations remain with the
   * source. `leave` selects providers whose allocations remain with the target.
   * @throws AllocationMoveFailed on a consumer generation conflict, ConsumerAllocationRetrievalFailed
   */
  moveAllocations(
    source: string,
    target: string,
    {
      targetDeleted,
      keep = new Set<string>(),
      leave,
      ...context
    }: RequestContext & {
      readonly targetDeleted?: () => Promise<boolean>;
      readonly keep?: ReadonlySet<string>;
      readonly leave?: (held: Allocations) => Promise<ReadonlySet<string>>;
    } = {},
  ): Promise<boolean | null> {
    return this.#safe(() => moveAllocations(this.#client, { source, target, keep, leave }, targetDeleted, context));
  }

  // ── Single providers ─────────────────────────────────────────────────────────────────────────────────────────────
  /** @throws ResourceProviderTraitRetrievalFailed */
  async getProviderTraits(uuid: string, context: RequestContext = {}): Promise<ProviderTraits> {
    const { value, generation } = await readTraits(this.#client.http, uuid, context);
    return { traits: value, generation };
  }

  /**
   * Sets the traits regardless of the cache and creates those that Placement does not know.
   * @throws ResourceProviderUpdateConflict, ResourceProviderUpdateFailed, TraitRetrievalFailed, TraitCreationFailed
   */
  setTraitsForProvider(uuid: string, traits: ProviderTraits, context: RequestContext = {}): Promise<void> {
    return putTraits(this.#client, uuid, traits, context);
  }

  /**
   * Deletes the providers of a deleted service or a vanished node (5.8): first the allocations in `cascade`, then the
   * tree, children before parents. Providers in use remain; they are logged and returned.
   */
  deleteResourceProvider(
    root: string,
    { cascade, ...context }: RequestContext & { readonly cascade?: DeletionCascade } = {},
  ): Promise<{ readonly remaining: readonly string[] }> {
    return deleteProviderTree(this.#client, root, cascade, context);
  }

  /**
   * Adds an aggregate to the provider of that name, as for a host aggregate (5.9).
   * @throws ResourceProviderNotFound, ResourceProviderUpdateConflict after 4 attempts, ResourceProviderUpdateFailed
   */
  aggregateAddHost(aggregate: string, providerName: string, context: RequestContext = {}): Promise<void> {
    return addToAggregate(this.#client, aggregate, providerName, context);
  }

  /** Like {@link aggregateAddHost}, for removal; a missing provider is not an error. */
  aggregateRemoveHost(aggregate: string, providerName: string, context: RequestContext = {}): Promise<void> {
    return removeFromAggregate(this.#client, aggregate, providerName, context);
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
        this.#logger.warn(`Placement cannot be reached: ${error.message}`, { err: error });
      }
      this.#connectFailures += 1;
      return null;
    }
  }
}

/** Reads everything again: a reshape must not use cached allocations. */
async function consumersOfTree(
  { http, cache }: ClientContext,
  root: string,
  context: RequestContext,
): Promise<ReadonlyMap<string, ConsumerAllocations>> {
  const consumers = new Map<string, ConsumerAllocations>();
  for (const uuid of cache.tree.providerUuidsInTree(root)) {
    const { consumers: holders } = await readProviderAllocations(http, uuid, context);
    for (const consumer of holders.keys()) {
      if (!consumers.has(consumer)) {
        consumers.set(consumer, await readConsumer(http, consumer, context));
      }
    }
  }
  return consumers;
}
