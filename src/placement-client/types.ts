/** Context of a call: used in logs, in Placement's `X-Openstack-Request-Id` and by the HTTP client. */
export interface RequestContext {
  /** `req-<uuid>` of the calling operation. */
  readonly requestId?: string;
  readonly signal?: AbortSignal;
}

/** Amounts by resource class. */
export type ResourceAmounts = Readonly<Record<string, number>>;

/**
 * Placement's `allocations`: provider uuid → amounts. `generation` is the provider's, from the response; a request may
 * include it.
 */
export type Allocations = Readonly<
  Record<string, { readonly resources: ResourceAmounts; readonly generation?: number }>
>;

/** The allocations of a consumer (the uuid of an instance or a migration). */
export interface ConsumerAllocations {
  /** Empty if the consumer has no allocations; Placement then does not know it. */
  readonly allocations: Allocations;
  /** Null if Placement does not know the consumer. */
  readonly projectId: string | null;
  readonly userId: string | null;
  /** Null if Placement does not know the consumer. The next write must send it. */
  readonly consumerGeneration: number | null;
}

/** The allocations on one provider: consumer uuid → amounts. */
export interface ProviderAllocations {
  readonly consumers: ReadonlyMap<string, ResourceAmounts>;
  /** The provider's generation at the time of the read. */
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
  /** Null if the consumer must not exist yet. */
  readonly consumerGeneration: number | null;
}

/** A new consumer record that replaces the one that was read. */
export interface AllocationRewrite extends Omit<AllocationWrite, "consumerGeneration"> {
  readonly read: ConsumerAllocations;
}

/** A set of allocations that satisfies a request. */
export interface AllocationRequest {
  readonly allocations: Allocations;
  /** Absent if the request has no group with a suffix. */
  readonly mappings?: GroupMappings;
}

/** The providers that satisfy each request group: suffix → provider uuids. */
export type GroupMappings = Readonly<Record<string, readonly string[]>>;

/** The allocation candidates for a query (1.36). */
export interface AllocationCandidates {
  readonly allocationRequests: readonly AllocationRequest[];
  readonly providerSummaries: ReadonlyMap<string, ProviderSummary>;
  /** The microversion for claiming these requests: `1.36`. */
  readonly version: string;
  /** Present if each candidate is a single root provider: the same content as the two lists, in the same order. */
  readonly roots?: readonly RootOffer[];
}

/** A root provider that satisfies a request alone. Each root occurs once. */
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
  /** Empty: the group that several providers of a tree may satisfy jointly. */
  readonly suffix: string;
  readonly resources: ResourceAmounts;
  /** `TRAIT` or `!TRAIT`. */
  readonly required?: readonly string[];
  /** Aggregate uuids; the provider must be in one of each list. */
  readonly memberOf?: readonly (readonly string[])[];
  /** Aggregate uuids; the provider must be in none of them. */
  readonly notMemberOf?: readonly string[];
}

export interface CandidatesQuery {
  readonly groups: readonly CandidatesGroup[];
  /** Whether groups with suffixes may use the same provider. */
  readonly groupPolicy?: "none" | "isolate";
  /** Lists of suffixes; of the providers of each list, one must be an ancestor of the others. */
  readonly sameSubtrees?: readonly (readonly string[])[];
  /** `TRAIT` or `!TRAIT`, for the root of each candidate. */
  readonly rootRequired: readonly string[];
  /** The tree of this provider must satisfy the first group, and thus all groups. */
  readonly inTree?: string;
  /** `[scheduler] max_placement_results` */
  readonly limit: number;
}

export interface Claim {
  readonly consumer: string;
  readonly request: AllocationRequest;
  readonly projectId: string;
  readonly userId: string;
  /** The microversion of the candidates' response. */
  readonly version: string;
  readonly held: "double" | "replace";
}

export interface ProviderTraits {
  readonly traits: readonly string[];
  /** The provider's generation at that time. */
  readonly generation: number;
}

export interface DeletionCascade {
  /** Instances on the node, whose allocations are deleted completely. */
  readonly instances: readonly string[];
  /** Instances evacuated from the node (status `done`), which only lose their allocations in this tree. */
  readonly evacuated: readonly string[];
}
