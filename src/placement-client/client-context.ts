import { SparseSet } from "../runtime/collections.js";
import type { Random } from "../runtime/cryptography.js";
import type { Logger } from "../runtime/runtime.js";
import type { Clock, Timers } from "../runtime/time.js";
import { ProviderTree } from "../virt/provider-tree.js";
import { SharedAccess } from "./access/placement-access.js";
import type { PlacementHttp } from "./placement-http.js";
import { ProviderAllocationMemory } from "./provider-requests.js";

/** The custom resource classes and traits known to exist in a Placement, shared by all its clients in a process. */
export class KnownNames {
  readonly classes = new Set<string>();
  readonly traits = new Set<string>();

  /** Clears the names, so that they are checked again. */
  clear(): void {
    this.classes.clear();
    this.traits.clear();
  }
}

/**
 * Caches the provider trees as last read or written, and the time of the last read of each provider's associations
 * (spec 5.1).
 */
export class ProviderCache {
  readonly allocations = new ProviderAllocationMemory();
  readonly #clock: Clock;
  readonly #refresh: number;
  readonly #refreshed = new Map<string, number>();
  readonly #sharing = new SparseSet<string>();
  #tree = new ProviderTree();

  /** @param refreshSeconds `[compute] resource_provider_association_refresh`; 0: no refresh after the first load. */
  constructor(clock: Clock, refreshSeconds: number) {
    this.#clock = clock;
    this.#refresh = refreshSeconds === 0 ? Number.POSITIVE_INFINITY : refreshSeconds * 1000;
  }

  get tree(): ProviderTree {
    return this.#tree;
  }

  /** Returns whether inventory, aggregates and traits were never read, or too long ago. */
  isStale(uuid: string): boolean {
    const refreshed = this.#refreshed.get(uuid);
    return refreshed === undefined || this.#clock.monotonic() - refreshed > this.#refresh;
  }

  markFresh(uuid: string): void {
    this.#refreshed.set(uuid, this.#clock.monotonic());
  }

  markSharing(uuid: string): void {
    this.#sharing.add(uuid);
  }

  /** Returns the sharing providers that have an aggregate in common with the tree of `root`. */
  sharingWith(root: string): readonly string[] {
    const reached = new Set(this.#tree.providerUuids(root).flatMap((uuid) => [...this.#tree.data(uuid).aggregates]));
    return [...this.#sharing].filter((uuid) => {
      const provider = this.#tree.find(uuid);
      return (
        provider?.rootUuid !== root && provider !== undefined && [...provider.aggregates].some((a) => reached.has(a))
      );
    });
  }

  /** Returns a copy to edit: the tree of `root`, and the providers that share with it. */
  editable(root: string): ProviderTree {
    return this.#tree.subtree(root, ...this.sharingWith(root));
  }

  invalidateAssociations(uuid: string): void {
    this.#refreshed.delete(uuid);
  }

  /** Removes the provider and its descendants from the cache. */
  invalidateProvider(uuid: string): void {
    const known = this.#tree.exists(uuid);
    for (const gone of known ? this.#tree.providerUuids(uuid) : [uuid]) {
      this.#refreshed.delete(gone);
      this.#sharing.delete(gone);
      this.allocations.forgetProvider(gone);
    }
    if (known) {
      this.#tree.remove(uuid);
    }
  }

  /** Removes the complete tree that contains the provider from the cache. */
  invalidateTree(uuid: string): void {
    this.invalidateProvider(this.#tree.find(uuid)?.rootUuid ?? uuid);
  }

  clear(): void {
    this.#tree = new ProviderTree();
    this.#refreshed.clear();
    this.#sharing.clear();
    this.allocations.clear();
  }
}

/** The dependencies of a report client's operations. */
export interface ClientContext {
  readonly http: PlacementHttp;
  readonly cache: ProviderCache;
  readonly known: KnownNames;
  /** `[compute] sharing_providers_max_uuids_per_request` */
  readonly uuidsPerRequest: number;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
}

/** State that the hosts of a process with the same `[placement]` section share. */
export class SharedPlacementState {
  readonly names = new KnownNames();
  readonly placement = new SharedAccess();
  readonly images = new SharedAccess();
  readonly volumes = new SharedAccess();
}
