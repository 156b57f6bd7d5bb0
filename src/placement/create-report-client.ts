import type { Clock } from "../runtime/clock.js";
import type { HttpClient } from "../runtime/http.js";
import type { Logger } from "../runtime/logger.js";
import type { Random } from "../runtime/random.js";
import type { Timers } from "../runtime/timers.js";
import type { PlacementAccess } from "./access/placement-access.js";
import { WatchedAccess } from "./access/watched-access.js";
import { readCandidates } from "./candidates.js";
import { Claimer } from "./claim.js";
import { readConsumer } from "./consumer-allocations.js";
import { AllocationDeleter } from "./delete-allocation.js";
import { ProviderDeleter } from "./delete-provider.js";
import { AllocationEditor } from "./edit-allocations.js";
import { ProviderEnsurer } from "./ensure-provider.js";
import { TreeFlusher } from "./flush.js";
import { ProviderWriter } from "./flush-provider.js";
import { HostAggregates } from "./host-aggregates.js";
import { AllocationMover } from "./move-allocations.js";
import { PlacementPass } from "./pass.js";
import { PlacementHttp, type PlacementRequestEvent } from "./placement-http.js";
import { readProviderAllocations } from "./provider-allocations.js";
import { ProviderCache } from "./provider-cache.js";
import { listProviders, readTraits } from "./provider-requests.js";
import { AssociationRefresher } from "./refresh-associations.js";
import type { ReportClient } from "./report-client.js";
import { Reshaper } from "./reshape.js";
import { ConflictRetries } from "./retries.js";
import { SafeConnect } from "./safe-connect.js";
import type { ConsumerAllocations, RequestContext } from "./types.js";

export interface ReportClientOptions {
  readonly http: HttpClient;
  readonly access: PlacementAccess;
  readonly config: ReportClientConfig;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  /** Told of every request; for metrics. */
  readonly observe?: (event: PlacementRequestEvent) => void;
}

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

/** Puts the report client together; {@link ReportClient} says what it does. */
export function createReportClient(options: ReportClientOptions): ReportClient {
  const { config, clock, timers, random, logger } = options;
  const cache = new ProviderCache(clock, config.associationRefresh ?? 300);
  const access = new WatchedAccess(options.access, () => forgetAll());
  const http = new PlacementHttp({
    ...options,
    access,
    userAgent: config.userAgent ?? "nova-compute",
    ...(config.timeout === undefined ? {} : { timeout: config.timeout }),
  });
  const retries = new ConflictRetries(timers, random);
  const safe = new SafeConnect(logger);
  const associations = new AssociationRefresher(http, cache, config.sharingProvidersMaxUuidsPerRequest ?? 200);
  const ensurer = new ProviderEnsurer(http, cache, associations);
  const writer = new ProviderWriter(http, cache);
  const flusher = new TreeFlusher({
    http,
    cache,
    ensurer,
    writer,
    reshaper: new Reshaper(http, cache, writer),
    logger,
  });
  const claimer = new Claimer(http, retries, logger);
  const editor = new AllocationEditor(http, retries, cache.allocations, logger);
  const deleter = new AllocationDeleter(http, cache.allocations, logger);
  const mover = new AllocationMover(http, retries, deleter, logger);
  const providerDeleter = new ProviderDeleter({ http, cache, deleter, editor, logger });
  const aggregates = new HostAggregates(http, retries);
  const forgetAll = (): void => {
    cache.clear();
    writer.clear();
  };

  return {
    beginPass: (roots, { listed: known, ...context } = {}) =>
      ensurer.list(roots, (listed) => new PlacementPass(roots, listed), { ...context, known }),
    listProviders: (context = {}) => listProviders(http, "", context),
    getProviderTreeAndEnsureRoot: async (uuid, name, { pass, ...context } = {}) => {
      await ensurer.ensureRoot(uuid, name, pass, context);
      return cache.editable(uuid);
    },
    updateFromProviderTree: (tree, { reshape, ...context } = {}) => flusher.flush(tree, reshape, context),
    invalidateResourceProvider: (uuid) => cache.invalidateProvider(uuid),
    invalidateAssociations: (uuid) => cache.invalidateAssociations(uuid),
    clearProviderCache: forgetAll,

    getAllocationsForProvider: async (uuid, { pass, ...context } = {}) => {
      const known = pass && cache.allocations.recall(uuid, pass);
      if (known) {
        return known;
      }
      const read = await readProviderAllocations(http, uuid, context);
      cache.allocations.remember(uuid, read);
      return read;
    },
    getAllocationsForConsumer: (consumer, context = {}) => readConsumer(http, consumer, context),
    getAllocationsForProviderTree: (root, context = {}) => consumersOfTree(http, cache, root, context),

    getAllocationCandidates: (query, context = {}) => safe.run(() => readCandidates(http, query, logger, context)),
    claimResources: (claim, context = {}) => safe.run(() => claimer.claim(claim, context)),
    putAllocations: (consumer, write, context = {}) => claimer.put(consumer, write, context),
    addResources: (consumer, amounts, context = {}) => editor.add(consumer, amounts, context),
    removeResources: (consumer, amounts, context = {}) => editor.remove(consumer, amounts, context),
    removeProviderTreeFromInstanceAllocation: (consumer, root, options) => editor.removeTree(consumer, root, options),
    deleteAllocation: (consumer, { force, ...context }) => safe.run(() => deleter.delete(consumer, force, context)),
    moveAllocations: (source, target, { targetDeleted, keep = new Set<string>(), ...context } = {}) =>
      safe.run(() => mover.move({ source, target, keep }, targetDeleted, context)),

    getProviderTraits: async (uuid, context = {}) => {
      const { value, generation } = await readTraits(http, uuid, context);
      return { traits: value, generation };
    },
    setTraitsForProvider: (uuid, traits, context = {}) => writer.putTraits(uuid, traits, context),
    deleteResourceProvider: (root, { cascade, ...context } = {}) => providerDeleter.delete(root, cascade, context),
    aggregateAddHost: (aggregate, name, context = {}) => aggregates.add(aggregate, name, context),
    aggregateRemoveHost: (aggregate, name, context = {}) => aggregates.remove(aggregate, name, context),
  };
}

/** Read afresh: a reshape must see everything. */
async function consumersOfTree(
  http: PlacementHttp,
  cache: ProviderCache,
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
