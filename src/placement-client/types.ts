/** Travels with each call: into the logs, to Placement's `X-Openstack-Request-Id`, and to the HTTP door. */
export interface RequestContext {
  /** `req-<uuid>` of the operation that asks. */
  readonly requestId?: string;
  readonly signal?: AbortSignal;
}

/** Amounts by resource class. */
export type ResourceAmounts = Readonly<Record<string, number>>;

/** Placement's `allocations`: provider uuid → amounts. `generation` is the provider's, as answered; it may be sent back. */
export type Allocations = Readonly<
  Record<string, { readonly resources: ResourceAmounts; readonly generation?: number }>
>;

/** What a consumer (an instance's or a migration's uuid) holds. */
export interface ConsumerAllocations {
  /** Empty: the consumer holds nothing, and is then unknown to Placement. */
  readonly allocations: Allocations;
  /** Null when unknown to Placement. */
  readonly projectId: string | null;
  readonly userId: string | null;
  /** Null when unknown to Placement; what the next write has to send. */
  readonly consumerGeneration: number | null;
}

/** What is held on one provider: consumer uuid → amounts. */
export interface ProviderAllocations {
  readonly consumers: ReadonlyMap<string, ResourceAmounts>;
  /** The provider's generation when this was read. */
  readonly generation: number;
}

/** A provider as `GET /resource_providers` lists it (1.14). */
export interface ProviderListing {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly parentUuid: string | null;
  readonly rootUuid: string;
}

/** A new consumer record for one write (1.28). */
export interface AllocationWrite {
  readonly allocations: Allocations;
  readonly projectId: string;
  readonly userId: string;
  /** Null: the consumer must not exist yet. */
  readonly consumerGeneration: number | null;
}

/** A new consumer record that was made up from the one that was read. */
export interface AllocationRewrite extends Omit<AllocationWrite, "consumerGeneration"> {
  readonly read: ConsumerAllocations;
}

/** One way to serve a request. */
export interface AllocationRequest {
  readonly allocations: Allocations;
}

/** What may fit (1.36). */
export interface AllocationCandidates {
  readonly allocationRequests: readonly AllocationRequest[];
  readonly providerSummaries: ReadonlyMap<string, ProviderSummary>;
  /** Microversion that the requests are to be claimed with: `1.36`. */
  readonly version: string;
  /** Present where each candidate is one root that serves all by itself: the same as the two lists, in the same order. */
  readonly roots?: readonly RootOffer[];
}

/** A root provider that serves all of a request by itself, each root once. */
export interface RootOffer {
  readonly uuid: string;
  readonly request: AllocationRequest;
  readonly summary: ProviderSummary;
}

export interface ProviderSummary {
  readonly resources: Readonly<Record<string, { readonly capacity: number; readonly used: number }>>;
  readonly rootUuid: string;
}

/** One request group; spec 5.5. */
export interface CandidatesGroup {
  /** Empty: the group that several providers of a tree may serve together. */
  readonly suffix: string;
  readonly resources: ResourceAmounts;
  /** `TRAIT` or `!TRAIT`. */
  readonly required?: readonly string[];
  /** Aggregates by uuid: one of each list. */
  readonly memberOf?: readonly (readonly string[])[];
  /** Aggregates by uuid, none of which may be the provider's. */
  readonly notMemberOf?: readonly string[];
}

export interface CandidatesQuery {
  readonly groups: readonly CandidatesGroup[];
  /** How groups with suffixes may share providers. */
  readonly groupPolicy?: "none" | "isolate";
  /** `TRAIT` or `!TRAIT`, for the root of each candidate. */
  readonly rootRequired: readonly string[];
  /** The first group, and so all, has to be served by the tree of this provider. */
  readonly inTree?: string;
  /** `[scheduler] max_placement_results` */
  readonly limit: number;
}

/** Placement's JSON of one inventory; what is undefined is not written. */
export interface WireInventory {
  total: number;
  reserved: number | undefined;
  min_unit: number | undefined;
  max_unit: number | undefined;
  step_size: number | undefined;
  allocation_ratio: number | undefined;
}

export interface Claim {
  readonly consumer: string;
  readonly request: AllocationRequest;
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
