import type { ProviderListing } from "./types.js";

/** What one listing of Placement showed at the beginning of a tracker pass; made by `ReportClient.beginPass`. */
export class PlacementPass {
  readonly #trees = new Map<string, ProviderListing[]>();
  readonly #generations = new Map<string, number>();

  /** @param roots what the pass is about: a root that is not listed does not exist. */
  constructor(roots: readonly string[], listed: readonly ProviderListing[]) {
    for (const root of roots) {
      this.#trees.set(root, []);
    }
    for (const provider of listed) {
      this.#trees.get(provider.rootUuid)?.push(provider);
      this.#generations.set(provider.uuid, provider.generation);
    }
  }

  /** The provider's generation when it was listed; undefined: it did not exist, or the pass is not about it. */
  generation(provider: string): number | undefined {
    return this.#generations.get(provider);
  }

  /** The members of a tree; empty: none exists. Undefined when the pass is not about it. */
  members(root: string): readonly ProviderListing[] | undefined {
    return this.#trees.get(root);
  }

  /** As {@link members}, but once only: a caller that asks again does so because the tree changed meanwhile. */
  takeMembers(root: string): readonly ProviderListing[] | undefined {
    const members = this.#trees.get(root);
    this.#trees.delete(root);
    return members;
  }
}
