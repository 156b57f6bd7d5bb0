import type { ProviderTree } from "../virt/provider-tree.js";
import type { PlacementPass } from "./pass.js";
import type {
  AllocationCandidates,
  Allocations,
  AllocationWrite,
  CandidatesQuery,
  ConsumerAllocations,
  ProviderAllocations,
  ProviderListing,
  RequestContext,
} from "./types.js";

/**
 * What agent, scheduler and conductor ask of Placement (spec 5). One client serves every node of a process: it caches
 * the provider trees, sends nothing that could not change anything, and names every failure as OpenStack does
 * (errors.ts). Every method may reject with {@link PlacementAPIConnectFailure} (nobody there, no endpoint, no valid token)
 * unless it is marked *safe*: those answer null instead and warn at most every 10th time.
 */
export interface ReportClient {
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
    context?: RequestContext & { readonly listed?: readonly ProviderListing[] | undefined },
  ): Promise<PlacementPass>;
  /** Every provider there is. @throws ResourceProviderRetrievalFailed */
  listProviders(context?: RequestContext): Promise<readonly ProviderListing[]>;
  /**
   * The cached tree of a node, made in Placement when it is not there, associations refreshed when stale. The result is a
   * copy to edit: that root's tree, and the providers that share with it as further roots.
   * @throws ResourceProviderCreationFailed (the name is taken), ResourceProviderRetrievalFailed,
   * ResourceProviderAggregateRetrievalFailed, ResourceProviderTraitRetrievalFailed
   */
  getProviderTreeAndEnsureRoot(
    uuid: string,
    name: string,
    options?: RequestContext & { readonly pass?: PlacementPass },
  ): Promise<ProviderTree>;
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
    options?: RequestContext & { readonly reshape?: ReadonlyMap<string, ConsumerAllocations> },
  ): Promise<void>;
  /** Forgets one provider and what is below it; it is read again when next ensured. */
  invalidateResourceProvider(uuid: string): void;
  /** Its inventory, aggregates and traits are read again when next ensured. */
  invalidateAssociations(uuid: string): void;
  /** Forgets everything: SIGHUP, another endpoint. */
  clearProviderCache(): void;

  // ── reading allocations ──────────────────────────────────────────────────────────────────────────────────────────
  /**
   * Lists who holds what on one provider (4.6). With a pass that proves that nothing was added since, what was read last is
   * answered without a request; a consumer in it may have gone meanwhile (a dropped allocation bumps no generation, 5.4).
   * @throws ResourceProviderAllocationRetrievalFailed
   */
  getAllocationsForProvider(
    uuid: string,
    options?: RequestContext & { readonly pass?: PlacementPass },
  ): Promise<ProviderAllocations>;
  /** @throws ConsumerAllocationRetrievalFailed */
  getAllocationsForConsumer(consumer: string, context?: RequestContext): Promise<ConsumerAllocations>;
  /**
   * Every consumer with anything in the cached tree of `root`, with everything it holds anywhere: what a reshape edits.
   * @throws ResourceProviderAllocationRetrievalFailed, ConsumerAllocationRetrievalFailed
   */
  getAllocationsForProviderTree(
    root: string,
    context?: RequestContext,
  ): Promise<ReadonlyMap<string, ConsumerAllocations>>;

  // ── writing allocations (5.5, 5.6) ───────────────────────────────────────────────────────────────────────────────
  /** *Safe*: null too when Placement answered with an error. */
  getAllocationCandidates(query: CandidatesQuery, context?: RequestContext): Promise<AllocationCandidates | null>;
  /**
   * *Safe.* Claims `request` for the consumer. False: it does not fit any more. `held`: what becomes of what the consumer
   * holds already: `double` keeps it and adds the providers that are new (moves), `replace` drops it (builds: a run that
   * was killed after its claim starts again).
   * @throws AllocationUpdateFailed (somebody else wrote this consumer), ConsumerAllocationRetrievalFailed
   */
  claimResources(claim: Claim, context?: RequestContext): Promise<boolean | null>;
  /**
   * Like the claim, without reading first. False: refused.
   * @throws AllocationUpdateFailed on a consumer generation conflict
   */
  putAllocations(consumer: string, write: AllocationWrite, context?: RequestContext): Promise<boolean>;
  /** Adds amounts to what the consumer holds. @throws AllocationUpdateFailed, ConsumerAllocationRetrievalFailed */
  addResources(consumer: string, amounts: Allocations, context?: RequestContext): Promise<void>;
  /**
   * Subtracts amounts; what becomes empty is dropped.
   * @throws AllocationUpdateFailed (more than there is, refused, or conflicts to the end), ConsumerAllocationRetrievalFailed
   */
  removeResources(consumer: string, amounts: Allocations, context?: RequestContext): Promise<void>;
  /**
   * Strips the tree of `root` from what the consumer holds. False: the consumer holds nothing, or the write was refused.
   * `retry`: a generation conflict is tried again after a fresh read, 4 times in all (spec 3.3 GAP-a OPT); upstream never does.
   * `unless` is asked between the read and the write that it guards; true: nothing is taken away, and the answer is true.
   * @throws ConsumerAllocationRetrievalFailed, ResourceProviderRetrievalFailed
   */
  removeProviderTreeFromInstanceAllocation(
    consumer: string,
    root: string,
    options: RequestContext & { readonly retry: boolean; readonly unless?: () => Promise<boolean> },
  ): Promise<boolean>;
  /**
   * *Safe.* Everything the consumer holds, on all providers. False: it held nothing. `force` asks no generation.
   * @throws AllocationDeleteFailed
   */
  deleteAllocation(consumer: string, options: RequestContext & { readonly force: boolean }): Promise<boolean | null>;
  /**
   * *Safe.* Everything that `source` holds becomes `target`'s, whose own is overwritten; done already: true.
   * `targetDeleted` is asked after the move: true deletes the target's allocation again (bug 1848343, the OPT of
   * `resurrect-deleted-allocations`).
   * `keep` names providers whose part stays the source's.
   * @throws AllocationMoveFailed on a consumer generation conflict, ConsumerAllocationRetrievalFailed
   */
  moveAllocations(
    source: string,
    target: string,
    options?: RequestContext & {
      readonly targetDeleted?: () => Promise<boolean>;
      readonly keep?: ReadonlySet<string>;
    },
  ): Promise<boolean | null>;

  // ── single providers ─────────────────────────────────────────────────────────────────────────────────────────────
  /** @throws ResourceProviderTraitRetrievalFailed */
  getProviderTraits(uuid: string, context?: RequestContext): Promise<ProviderTraits>;
  /**
   * Sets the traits whatever the cache says, and makes those that Placement does not know.
   * @throws ResourceProviderUpdateConflict, ResourceProviderUpdateFailed, TraitRetrievalFailed, TraitCreationFailed
   */
  setTraitsForProvider(uuid: string, traits: ProviderTraits, context?: RequestContext): Promise<void>;
  /**
   * Service delete and vanished nodes (5.8): first what `cascade` names, then the tree, children before parents. Providers
   * that are in use stay; they are logged and answered.
   */
  deleteResourceProvider(
    root: string,
    options?: RequestContext & { readonly cascade?: DeletionCascade },
  ): Promise<{ readonly remaining: readonly string[] }>;
  /**
   * Mirrors a host aggregate on the provider of that name (5.9).
   * @throws ResourceProviderNotFound, ResourceProviderUpdateConflict after 4 tries, ResourceProviderUpdateFailed
   */
  aggregateAddHost(aggregate: string, providerName: string, context?: RequestContext): Promise<void>;
  /** As {@link aggregateAddHost}; a provider that is missing is success. */
  aggregateRemoveHost(aggregate: string, providerName: string, context?: RequestContext): Promise<void>;
}

export interface Claim {
  readonly consumer: string;
  readonly request: { readonly allocations: Allocations };
  readonly projectId: string;
  readonly userId: string;
  /** Microversion that the candidates came with. */
  readonly version: string;
  readonly held: "double" | "replace";
}

export interface ProviderTraits {
  readonly traits: readonly string[];
  /** The provider's generation that goes with them. */
  readonly generation: number;
}

export interface DeletionCascade {
  /** Instances on the node: their whole allocations go. */
  readonly instances: readonly string[];
  /** Instances evacuated from the node (status `done`): only this tree goes. */
  readonly evacuated: readonly string[];
}
