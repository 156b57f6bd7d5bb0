import type { PlacementHttp } from "./placement-http.js";
import type { ProviderCache } from "./provider-cache.js";
import { listProviders, readAggregates, readInventory, readTraits } from "./provider-requests.js";
import type { ProviderListing, RequestContext } from "./types.js";

/** Reads inventory, aggregates and traits of cached providers, and finds who shares with them (spec 5.2). */
export class AssociationRefresher {
  readonly #http: PlacementHttp;
  readonly #cache: ProviderCache;
  readonly #uuidsPerRequest: number;

  /** @param uuidsPerRequest `[compute] sharing_providers_max_uuids_per_request` */
  constructor(http: PlacementHttp, cache: ProviderCache, uuidsPerRequest: number) {
    this.#http = http;
    this.#cache = cache;
    this.#uuidsPerRequest = uuidsPerRequest;
  }

  /** Refreshes the provider if it is stale, or if `force`. */
  async refresh(uuid: string, options: { readonly force: boolean }, context: RequestContext): Promise<void> {
    if (!options.force && !this.#cache.isStale(uuid)) {
      return;
    }
    const aggregates = await this.#read(uuid, context);
    for (const sharing of await this.#sharingVia(aggregates, context)) {
      await this.#refreshSharing(sharing, context);
    }
  }

  async #read(uuid: string, context: RequestContext): Promise<readonly string[]> {
    const [inventory, aggregates, traits] = await Promise.all([
      readInventory(this.#http, uuid, context),
      readAggregates(this.#http, uuid, context),
      readTraits(this.#http, uuid, context),
    ]);
    // Somebody may write between the three reads: with the lowest generation, our next write conflicts and reads again.
    const generation = Math.min(inventory.generation, aggregates.generation, traits.generation);
    const { tree } = this.#cache;
    tree.updateInventory(uuid, inventory.value);
    tree.updateAggregates(uuid, aggregates.value);
    tree.updateTraits(uuid, traits.value, generation);
    this.#cache.allocations.forgetProvider(uuid);
    this.#cache.markFresh(uuid);
    return aggregates.value;
  }

  async #sharingVia(aggregates: readonly string[], context: RequestContext): Promise<ProviderListing[]> {
    const found = new Map<string, ProviderListing>();
    for (let start = 0; start < aggregates.length; start += this.#uuidsPerRequest) {
      const some = aggregates.slice(start, start + this.#uuidsPerRequest).join(",");
      const query = `member_of=in:${some}&required=MISC_SHARES_VIA_AGGREGATE`;
      for (const provider of await listProviders(this.#http, query, context, "1.18")) {
        found.set(provider.uuid, provider);
      }
    }
    return [...found.values()];
  }

  /** Not its own sharers; and not again for every node that it shares with. */
  async #refreshSharing(sharing: ProviderListing, context: RequestContext): Promise<void> {
    const { uuid, name, generation } = sharing;
    if (!this.#cache.tree.exists(uuid)) {
      this.#cache.tree.newRoot(name, uuid, generation);
    }
    this.#cache.markSharing(uuid);
    if (this.#cache.isStale(uuid)) {
      await this.#read(uuid, context);
    }
  }
}
