import type { Random } from "../runtime/cryptography.js";
import type { HttpClient } from "../runtime/http.js";
import type { Logger } from "../runtime/runtime.js";
import type { Clock, Timers } from "../runtime/time.js";
import type { ProviderTree } from "../virt/provider-tree.js";
import { type PlacementAccess, WatchedAccess } from "./access/placement-access.js";
import { AllocationClient } from "./allocation-client.js";
import { KnownNames, ProviderCache } from "./client-context.js";
import { isPlacementError, PlacementError } from "./errors.js";
import { TreeFlush } from "./flush.js";
import { PlacementHttp, type PlacementRequestEvent } from "./placement-http.js";
import { loadProvider, putTraits, refreshAssociations } from "./provider-associations.js";
import {
  deleteProvider,
  listProviders,
  listTree,
  PlacementPass,
  putAggregates,
  readAggregates,
  readProviderAllocations,
  readTraits,
} from "./provider-requests.js";
import { AGAIN, retryConflicts } from "./retries.js";
import type {
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

/**
 * The Placement client of agent, scheduler and conductor (spec 5). One client serves all nodes of a process: it caches
 * the provider trees, skips writes that change nothing, and names every failure as OpenStack does (errors.ts).
 * Every method may reject with PlacementAPIConnectFailure (no response, no endpoint, no valid token) unless it
 * is marked *safe*. Safe methods return null instead and warn at most every 10th time.
 */
export class ReportClient extends AllocationClient {
  constructor({ access, config, clock, timers, random, logger, known, ...options }: ReportClientOptions) {
    super({
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
    });
  }

  /**
   * Lists the generations of the trees of `roots` in one request: `?in_tree=` for one root, the unfiltered listing for
   * several. Pass the result to the calls of the same tracker pass, which do not read again what it proves unchanged.
   * Trees that are gone or whose members changed are dropped from the cache at once.
   * @param context.listed a result of {@link listProviders} to use instead of a new listing.
   * @throws ResourceProviderRetrievalFailed
   */
  async beginPass(
    roots: readonly string[],
    { listed, ...context }: RequestContext & { readonly listed?: readonly ProviderListing[] | undefined } = {},
  ): Promise<PlacementPass> {
    const pass = new PlacementPass(roots, listed ?? (await this.#listRoots(roots, context)));
    for (const root of roots) {
      if (this.client.cache.tree.exists(root) && !this.#hasMembers(root, pass.members(root) ?? [])) {
        this.client.cache.invalidateTree(root);
      }
    }
    return pass;
  }

  async #listRoots(roots: readonly string[], context: RequestContext): Promise<readonly ProviderListing[]> {
    const [only] = roots;
    if (only === undefined) {
      return [];
    }
    return roots.length === 1 ? listTree(this.client.http, only, context) : this.listProviders(context);
  }

  /** Returns whether the cached tree has exactly these members. */
  #hasMembers(root: string, members: readonly ProviderListing[]): boolean {
    const { tree } = this.client.cache;
    return (
      members.length === tree.providerUuidsInTree(root).length &&
      members.every(({ uuid, name, parentUuid }) => {
        const known = tree.find(uuid);
        return known?.name === name && known.parentUuid === parentUuid;
      })
    );
  }

  /**
   * Lists all providers.
   * @throws ResourceProviderRetrievalFailed
   */
  listProviders(context: RequestContext = {}): Promise<readonly ProviderListing[]> {
    return listProviders(this.client.http, "", context);
  }

  /** Returns the uuids of all providers in the trees of these roots. @throws ResourceProviderRetrievalFailed */
  async providersOfTrees(roots: Iterable<string>, context: RequestContext = {}): Promise<ReadonlySet<string>> {
    const trees = await Promise.all([...roots].map((root) => listTree(this.client.http, root, context)));
    return new Set(trees.flat().map(({ uuid }) => uuid));
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
    const queries = [...nodes].flatMap(([uuid, name]) => [
      listTree(this.client.http, uuid, context),
      this.#listNamed(name, context),
    ]);
    return (await Promise.all(queries)).flat();
  }

  #listNamed(name: string, context: RequestContext): Promise<readonly ProviderListing[]> {
    return listProviders(this.client.http, `name=${encodeURIComponent(name)}`, context);
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
    const { cache } = this.client;
    // Consumed even if it is not needed: a redrive of this pass must not use it, since the conflict shows that it is
    // outdated.
    const members = pass?.takeMembers(uuid);
    if (cache.tree.exists(uuid) && !cache.isStale(uuid)) {
      for (const member of cache.tree.providerUuids(uuid)) {
        await refreshAssociations(this.client, member, { force: false }, context);
      }
    } else {
      await loadProvider(this.client, { uuid, name, parentUuid: null }, members, context);
    }
    return cache.editable(uuid);
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
    return new TreeFlush(this.client, tree, context).run(reshape);
  }

  /** Removes a provider and its descendants from the cache; they are read again when next ensured. */
  invalidateResourceProvider(uuid: string): void {
    this.client.cache.invalidateProvider(uuid);
  }

  /** Marks the associations as stale: inventory, aggregates and traits are read again when next ensured. */
  invalidateAssociations(uuid: string): void {
    this.client.cache.invalidateAssociations(uuid);
  }

  /** Clears the cache, after a SIGHUP or when the endpoint may have changed. */
  clearProviderCache(): void {
    this.client.cache.clear();
    this.client.known.clear();
  }

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
    const { http, cache } = this.client;
    const recalled = pass && cache.allocations.recall(uuid, pass);
    if (recalled) {
      return recalled;
    }
    const read = await readProviderAllocations(http, uuid, context);
    cache.allocations.remember(uuid, read);
    return read;
  }

  /**
   * Returns all allocations of every consumer that has any in the cached tree of `root`: the input of a reshape, which
   * must not use cached allocations.
   * @throws ResourceProviderAllocationRetrievalFailed, ConsumerAllocationRetrievalFailed
   */
  async getAllocationsForProviderTree(
    root: string,
    context: RequestContext = {},
  ): Promise<ReadonlyMap<string, ConsumerAllocations>> {
    const { http, cache } = this.client;
    const found = new Map<string, ConsumerAllocations>();
    for (const uuid of cache.tree.providerUuidsInTree(root)) {
      const { consumers } = await readProviderAllocations(http, uuid, context);
      for (const consumer of consumers.keys()) {
        if (!found.has(consumer)) {
          found.set(consumer, await this.getAllocationsForConsumer(consumer, context));
        }
      }
    }
    return found;
  }

  /** @throws ResourceProviderTraitRetrievalFailed */
  async getProviderTraits(uuid: string, context: RequestContext = {}): Promise<ProviderTraits> {
    const { value, generation } = await readTraits(this.client.http, uuid, context);
    return { traits: value, generation };
  }

  /**
   * Sets the traits regardless of the cache and creates those that Placement does not know.
   * @throws ResourceProviderUpdateConflict, ResourceProviderUpdateFailed, TraitRetrievalFailed, TraitCreationFailed
   */
  setTraitsForProvider(uuid: string, traits: ProviderTraits, context: RequestContext = {}): Promise<void> {
    return putTraits(this.client, uuid, traits, context);
  }

  /**
   * Deletes the providers of a deleted service or a vanished node (5.8): first the allocations in `cascade`, which
   * upstream deletes as well, then the tree, children before parents. Providers in use remain; they are logged and
   * returned.
   */
  async deleteResourceProvider(
    root: string,
    { cascade, ...context }: RequestContext & { readonly cascade?: DeletionCascade } = {},
  ): Promise<{ readonly remaining: readonly string[] }> {
    const { http, cache, logger } = this.client;
    for (const instance of cascade?.instances ?? []) {
      await this.deleteReachable(instance, true, context);
    }
    for (const instance of cascade?.evacuated ?? []) {
      if (!(await this.removeProviderTreeFromInstanceAllocation(instance, root, { retry: false, ...context }))) {
        logger.error(
          `instance ${instance} was evacuated, but its allocations on provider ${root} could not be removed`,
          {
            instance,
            provider: root,
          },
        );
      }
    }
    const remaining: string[] = [];
    for (const { uuid } of childrenFirst(await listTree(http, root, context))) {
      try {
        await deleteProvider(http, uuid, context);
        cache.invalidateProvider(uuid);
      } catch (error) {
        if (!isPlacementError(error, "ResourceProviderInUse", "ResourceProviderDeletionFailed")) {
          throw error;
        }
        logger.error(`resource provider ${uuid} could not be deleted; keeping it`, { provider: uuid, err: error });
        remaining.push(uuid);
      }
    }
    if (remaining.length === 0) {
      cache.invalidateProvider(root);
    }
    return { remaining };
  }

  /**
   * Adds an aggregate to the provider of that name, as for a host aggregate (5.9).
   * @throws ResourceProviderNotFound, ResourceProviderUpdateConflict after 4 attempts, ResourceProviderUpdateFailed
   */
  aggregateAddHost(aggregate: string, providerName: string, context: RequestContext = {}): Promise<void> {
    return this.#editAggregates(providerName, (known) => new Set([...known, aggregate]), context);
  }

  /** Like {@link aggregateAddHost}, for removal; a missing provider is not an error. */
  async aggregateRemoveHost(aggregate: string, providerName: string, context: RequestContext = {}): Promise<void> {
    const without = (known: readonly string[]) => new Set(known.filter((uuid) => uuid !== aggregate));
    try {
      await this.#editAggregates(providerName, without, context);
    } catch (error) {
      if (!isPlacementError(error, "ResourceProviderNotFound")) {
        throw error;
      }
    }
  }

  async #editAggregates(
    name: string,
    edit: (known: readonly string[]) => ReadonlySet<string>,
    context: RequestContext,
  ): Promise<void> {
    const { http } = this.client;
    const [provider] = await this.#listNamed(name, context);
    if (provider === undefined) {
      throw new PlacementError(
        "ResourceProviderNotFound",
        `there is no resource provider named ${name}; its compute service creates it when it starts`,
      );
    }
    const attempt = async () => {
      const { value, generation } = await readAggregates(http, provider.uuid, context);
      const aggregates = edit(value);
      if (aggregates.size === value.length) {
        return true;
      }
      const response = await putAggregates(http, provider.uuid, { aggregates, generation }, context);
      if (response.status === 409) {
        return AGAIN;
      }
      if (!response.ok) {
        const text = `the aggregates of provider ${name} could not be written`;
        throw new PlacementError("ResourceProviderUpdateFailed", text, response);
      }
      return true;
    };
    if (!(await retryConflicts(this.client, attempt, context.signal))) {
      throw new PlacementError(
        "ResourceProviderUpdateConflict",
        `the aggregates of provider ${name} changed repeatedly; try again later`,
      );
    }
  }
}

function childrenFirst(providers: readonly ProviderListing[]): ProviderListing[] {
  const parents = new Map(providers.map(({ uuid, parentUuid }) => [uuid, parentUuid]));
  const depth = (uuid: string): number => {
    const parent = parents.get(uuid);
    return parent === undefined || parent === null ? 0 : 1 + depth(parent);
  };
  return providers.toSorted((left, right) => depth(right.uuid) - depth(left.uuid));
}
