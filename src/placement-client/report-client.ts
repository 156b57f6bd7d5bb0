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
import { PlacementAPIConnectFailure } from "./errors.js";
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
  /** Shared with other clients of the same Placement; default: its own. */
  readonly known?: KnownNames;
  /** Called with every request; for metrics. */
  readonly observe?: (event: PlacementRequestEvent) => void;
}

/** @internal for tests */
export interface ReportClientConfig {
  /** `[compute] resource_provider_association_refresh` in seconds; 0: never again once loaded. Default 300. */
  readonly associationRefresh?: number;
  /** `[compute] sharing_providers_max_uuids_per_request`. Default 200. */
  readonly sharingProvidersMaxUuidsPerRequest?: number;
  /** The service that asks: `nova-compute` (default), `nova-conductor`, `nova-scheduler`. */
  readonly userAgent?: string;
  /** `[placement] timeout`, in milliseconds. Default: the HTTP door's. */
  readonly timeout?: number;
}

/** A *safe* method that finds nobody warns at the first failure, and at every 10th after it. */
const WARN_EVERY = 10;

/**
 * What agent, scheduler and conductor ask of Placement (spec 5). One client serves every node of a process: it caches
 * the provider trees, sends nothing that could not change anything, and names every failure as OpenStack does
 * (errors.ts). Every method may reject with {@link PlacementAPIConnectFailure} (no answer, no endpoint, no valid token)
 * unless it is marked *safe*: those answer null instead and warn at most every 10th time.
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

  // ── passes of the tracker (5.2) ──────────────────────────────────────────────────────────────────────────────────
  /**
   * Lean tracking: one listing that shows the generations of the trees of `roots` (`?in_tree=` for one root, the
   * unfiltered listing for many). Give the result to the calls of the same pass: what it proves unchanged is not read
   * again. Trees whose members changed, or that are gone, are dropped from the cache at once.
   * @param context.listed what {@link listProviders} answered just now, instead of a listing of its own.
   * @throws ResourceProviderRetrievalFailed
   */
  beginPass(
    roots: readonly string[],
    context: RequestContext & { readonly listed?: readonly ProviderListing[] | undefined } = {},
  ): Promise<PlacementPass> {
    return beginPass(this.#client, roots, context);
  }

  /** Every provider there is. @throws ResourceProviderRetrievalFailed */
  listProviders(context: RequestContext = {}): Promise<readonly ProviderListing[]> {
    return listProviders(this.#client.http, "", context);
  }

  /**
   * Lists at least the providers that have the uuid or the name of one of these nodes; the cache is not used.
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
   * The cached tree of a node, made in Placement when it is not there, associations refreshed when stale. The result is a
   * copy to edit: that root's tree, and the providers that share with it as further roots.
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
   * Writes what differs from the cache: creates children top-down, deletes removed ones bottom-up, then inventory,
   * aggregates, traits of each bottom-up. With `reshape` (edited by {@link editedAllocations}) inventories and allocations
   * are moved in one step first (5.7). The tree is changed: it gets the new generations.
   * @throws ResourceProviderUpdateConflict (redrive the pass, at most 4 times; the tree was dropped from the cache),
   * PlacementReshapeConflict (the same; the whole cache was dropped), ReshapeFailed (fatal), PlacementPciException (an
   * inventory that is in use would vanish), ResourceProviderSyncFailed (anything else)
   */
  updateFromProviderTree(
    tree: ProviderTree,
    { reshape, ...context }: RequestContext & { readonly reshape?: ReadonlyMap<string, ConsumerAllocations> } = {},
  ): Promise<void> {
    return flushTree(this.#client, tree, reshape, context);
  }

  /** Forgets one provider and what is below it; it is read again when next ensured. */
  invalidateResourceProvider(uuid: string): void {
    this.#client.cache.invalidateProvider(uuid);
  }

  /** Its inventory, aggregates and traits are read again when next ensured. */
  invalidateAssociations(uuid: string): void {
    this.#client.cache.invalidateAssociations(uuid);
  }

  /** Forgets everything: SIGHUP, another endpoint. */
  clearProviderCache(): void {
    const { cache, known } = this.#client;
    cache.clear();
    known.clear();
  }

  // ── reading allocations ──────────────────────────────────────────────────────────────────────────────────────────
  /**
   * Lists the consumers of one provider and what they hold (4.6). With a pass that proves that nothing was added since,
   * what was read last is answered without a request; a consumer in it may have gone meanwhile (a dropped allocation
   * bumps no generation, 5.4).
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
   * Every consumer with anything in the cached tree of `root`, with everything it holds anywhere: what a reshape edits.
   * @throws ResourceProviderAllocationRetrievalFailed, ConsumerAllocationRetrievalFailed
   */
  getAllocationsForProviderTree(
    root: string,
    context: RequestContext = {},
  ): Promise<ReadonlyMap<string, ConsumerAllocations>> {
    return consumersOfTree(this.#client, root, context);
  }

  // ── writing allocations (5.5, 5.6) ───────────────────────────────────────────────────────────────────────────────
  /** *Safe*: null too when Placement answered with an error. */
  getAllocationCandidates(query: CandidatesQuery, context: RequestContext = {}): Promise<AllocationCandidates | null> {
    return this.#safe(() => readCandidates(this.#client, query, context));
  }

  /**
   * *Safe.* Claims `request` for the consumer. False: it does not fit any more. `held`: what becomes of what the
   * consumer holds already: `double` keeps it and adds the providers that are new (moves), `replace` drops it (builds:
   * a run that was killed after its claim starts again).
   * @throws AllocationUpdateFailed (another client wrote this consumer), ConsumerAllocationRetrievalFailed
   */
  claimResources(claim: Claim, context: RequestContext = {}): Promise<boolean | null> {
    return this.#safe(() => claimResources(this.#client, claim, context));
  }

  /**
   * Like the claim, from what was read before. False: refused.
   * @throws AllocationUpdateFailed: somebody has written the consumer since
   */
  putAllocations(consumer: string, write: AllocationRewrite, context: RequestContext = {}): Promise<boolean> {
    return putAllocations(this.#client, consumer, write, context);
  }

  /** Adds amounts to what the consumer holds. @throws AllocationUpdateFailed, ConsumerAllocationRetrievalFailed */
  addResources(consumer: string, amounts: Allocations, context: RequestContext = {}): Promise<void> {
    return addResources(this.#client, consumer, amounts, context);
  }

  /**
   * Subtracts amounts; what becomes empty is dropped. `whileHeld` is asked with what was read before each write; false: nothing is
   * taken away.
   * @throws AllocationUpdateFailed (more than there is, refused, or conflicts to the end), ConsumerAllocationRetrievalFailed
   */
  removeResources(consumer: string, amounts: Allocations, options: SubtractionOptions = {}): Promise<void> {
    return removeResources(this.#client, consumer, amounts, options);
  }

  /**
   * Strips the tree of `root` from what the consumer holds. False: the consumer holds nothing, or the write was refused.
   * `retry`: a generation conflict is tried again after a fresh read, 4 times in all (spec 3.3 GAP-a OPT); upstream never does.
   * `unless` is asked between the read and the write that it guards, with what was read; true: nothing is taken away, and the answer is true.
   * @throws ConsumerAllocationRetrievalFailed, ResourceProviderRetrievalFailed
   */
  removeProviderTreeFromInstanceAllocation(consumer: string, root: string, options: RemovalOptions): Promise<boolean> {
    return removeProviderTree(this.#client, consumer, root, options);
  }

  /**
   * *Safe.* Everything the consumer holds, on all providers. False: it held nothing. `force` asks no generation.
   * @throws AllocationDeleteFailed
   */
  deleteAllocation(
    consumer: string,
    { force, ...context }: RequestContext & { readonly force: boolean },
  ): Promise<boolean | null> {
    return this.#safe(() => deleteAllocation(this.#client, consumer, force, context));
  }

  /**
   * *Safe.* Everything that `source` holds becomes `target`'s, whose own is overwritten; done already: true.
   * `targetDeleted` is asked after the move: true deletes the target's allocation again (bug 1848343, the OPT of
   * `resurrect-deleted-allocations`).
   * `keep` names providers whose part stays the source's; `leave` those, of what the target holds, whose part stays the target's.
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

  // ── single providers ─────────────────────────────────────────────────────────────────────────────────────────────
  /** @throws ResourceProviderTraitRetrievalFailed */
  async getProviderTraits(uuid: string, context: RequestContext = {}): Promise<ProviderTraits> {
    const { value, generation } = await readTraits(this.#client.http, uuid, context);
    return { traits: value, generation };
  }

  /**
   * Sets the traits whatever the cache says, and makes those that Placement does not know.
   * @throws ResourceProviderUpdateConflict, ResourceProviderUpdateFailed, TraitRetrievalFailed, TraitCreationFailed
   */
  setTraitsForProvider(uuid: string, traits: ProviderTraits, context: RequestContext = {}): Promise<void> {
    return putTraits(this.#client, uuid, traits, context);
  }

  /**
   * Service delete and vanished nodes (5.8): first what `cascade` names, then the tree, children before parents. Providers
   * that are in use stay; they are logged and answered.
   */
  deleteResourceProvider(
    root: string,
    { cascade, ...context }: RequestContext & { readonly cascade?: DeletionCascade } = {},
  ): Promise<{ readonly remaining: readonly string[] }> {
    return deleteProviderTree(this.#client, root, cascade, context);
  }

  /**
   * Mirrors a host aggregate on the provider of that name (5.9).
   * @throws ResourceProviderNotFound, ResourceProviderUpdateConflict after 4 tries, ResourceProviderUpdateFailed
   */
  aggregateAddHost(aggregate: string, providerName: string, context: RequestContext = {}): Promise<void> {
    return addToAggregate(this.#client, aggregate, providerName, context);
  }

  /** As {@link aggregateAddHost}; a provider that is missing is success. */
  aggregateRemoveHost(aggregate: string, providerName: string, context: RequestContext = {}): Promise<void> {
    return removeFromAggregate(this.#client, aggregate, providerName, context);
  }

  /** Answers null when Placement is away. */
  async #safe<T>(action: () => Promise<T>): Promise<T | null> {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof PlacementAPIConnectFailure)) {
        throw error;
      }
      if (this.#connectFailures % WARN_EVERY === 0) {
        this.#logger.warn(`Placement cannot be asked: ${error.message}`, { err: error });
      }
      this.#connectFailures += 1;
      return null;
    }
  }
}

/** Read afresh: a reshape must see everything. */
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
