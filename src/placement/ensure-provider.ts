import type { PlacementPass } from "./pass.js";
import type { PlacementHttp } from "./placement-http.js";
import type { ProviderCache } from "./provider-cache.js";
import { createProvider, listProviders, listTree } from "./provider-requests.js";
import type { AssociationRefresher } from "./refresh-associations.js";
import type { ProviderListing, RequestContext } from "./types.js";

/** Brings providers into the cache, and into Placement when they are not there (spec 5.2). */
export class ProviderEnsurer {
  readonly #http: PlacementHttp;
  readonly #cache: ProviderCache;
  readonly #associations: AssociationRefresher;

  constructor(http: PlacementHttp, cache: ProviderCache, associations: AssociationRefresher) {
    this.#http = http;
    this.#cache = cache;
    this.#associations = associations;
  }

  /** One listing for the trees of all roots; what it contradicts is dropped from the cache. */
  async list(
    roots: readonly string[],
    pass: (listed: readonly ProviderListing[]) => PlacementPass,
    { known, ...context }: RequestContext & { readonly known?: readonly ProviderListing[] | undefined },
  ) {
    const seen = pass(known ?? (await this.#listed(roots, context)));
    for (const root of roots) {
      if (this.#cache.tree.exists(root) && !this.#sameMembers(root, seen.members(root) ?? [])) {
        this.#cache.invalidateTree(root);
      }
    }
    return seen;
  }

  async #listed(roots: readonly string[], context: RequestContext): Promise<readonly ProviderListing[]> {
    const [only] = roots;
    if (only === undefined) {
      return [];
    }
    return roots.length === 1 ? listTree(this.#http, only, context) : listProviders(this.#http, "", context);
  }

  /** The root of a node, with everything below it. */
  async ensureRoot(
    uuid: string,
    name: string,
    pass: PlacementPass | undefined,
    context: RequestContext,
  ): Promise<void> {
    // Taken even when it is not needed: a redrive of this pass must not find it, its conflict shows that it is old.
    const members = pass?.takeMembers(uuid);
    if (this.#cache.tree.exists(uuid) && !this.#cache.isStale(uuid)) {
      for (const member of this.#cache.tree.providerUuids(uuid)) {
        await this.#associations.refresh(member, { force: false }, context);
      }
      return;
    }
    await this.load({ uuid, name, parentUuid: null }, members, context);
  }

  /**
   * A provider that is not cached. Somebody may have made it before: another client, or an earlier pass that died.
   * @param members its tree, if it was listed just now
   */
  async load(
    provider: { readonly uuid: string; readonly name: string; readonly parentUuid: string | null },
    members: readonly ProviderListing[] | undefined,
    context: RequestContext,
  ): Promise<void> {
    const listed = members ?? (await listTree(this.#http, provider.uuid, context));
    if (listed.length > 0) {
      await this.#adopt(listed, context);
      return;
    }
    this.#cache.invalidateProvider(provider.uuid);
    const made = await createProvider(this.#http, provider, context);
    if (made.created) {
      this.#insert(made.provider);
      // New ones have no associations and no consumers: there is nothing to read.
      this.#cache.markFresh(provider.uuid);
      this.#cache.allocations.remember(provider.uuid, { consumers: new Map(), generation: made.provider.generation });
    } else {
      await this.#adopt(await listTree(this.#http, provider.uuid, context), context);
    }
  }

  async #adopt(listed: readonly ProviderListing[], context: RequestContext): Promise<void> {
    this.#cache.tree.populate(listed);
    for (const { uuid } of listed) {
      await this.#associations.refresh(uuid, { force: true }, context);
    }
  }

  #insert({ uuid, name, parentUuid, generation }: ProviderListing): void {
    const { tree } = this.#cache;
    if (parentUuid === null) {
      tree.newRoot(name, uuid, generation);
    } else {
      tree.newChild(name, parentUuid, uuid, generation);
    }
  }

  #sameMembers(root: string, members: readonly ProviderListing[]): boolean {
    const { tree } = this.#cache;
    return (
      members.length === tree.providerUuidsInTree(root).length &&
      members.every(({ uuid, name, parentUuid }) => {
        const known = tree.find(uuid);
        return known?.name === name && known.parentUuid === parentUuid;
      })
    );
  }
}
