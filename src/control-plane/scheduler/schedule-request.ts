import type { ReportClient } from "../../placement-client/report-client.js";
import type { Allocations, CandidatesGroup, Claim } from "../../placement-client/types.js";
import {
  imagePropertiesOf,
  type RequestSpec,
  type ResourceRequest,
  resourceRequest,
  type Selection,
} from "../../records/index.js";
import type { PortResourceRequest } from "../network/server-ports.js";
import type { Aggregate } from "../store/aggregates.js";
import type { Store } from "../store/store.js";
import { NOT_ENOUGH_HOSTS, NoValidHost } from "./errors.js";

/**
 * How a claim treats the consumer's existing allocations. `replace` drops them. `double` retains them and adds new
 * providers. `sum` retains them and adds amounts, also on providers that they already include (Pike's method for one
 * host, spec 6.0).
 * @internal
 */
export type Held = Claim["held"] | "sum";

export interface SelectionClaim extends Pick<Claim, "consumer" | "projectId" | "userId"> {
  readonly held: Held;
}

/** An instance to schedule, with constraints on its host. */
export interface ScheduleRequest {
  readonly instanceUuid: string;
  readonly spec: RequestSpec;
  /** Requested by the user; it must pass the filters. */
  readonly requestedHost?: string | undefined;
  readonly requestedNode?: string | undefined;
  /** `force_hosts`: the requested host is not filtered; only Placement can reject it. */
  readonly forced?: boolean;
  readonly ignoreHosts?: readonly string[];
  /** The resources that the server's ports need of the host. Default: none. */
  readonly portRequests?: readonly PortResourceRequest[];
  /** How the claim treats the instance's existing allocations (spec 5.5, 6.0). */
  readonly held: Held;
  readonly requestId: string;
  readonly signal?: AbortSignal;
}

/** `[scheduler]` options that restrict servers to host aggregates, applied through Placement. Nova's default for all: false. */
export interface AggregateRules {
  /** `limit_tenants_to_placement_aggregate`: projects named by `filter_tenant_id*` only get hosts of these aggregates. */
  readonly limitTenants: boolean;
  /** `placement_aggregate_required_for_tenants`: a project without such an aggregate gets no host. */
  readonly aggregateRequired: boolean;
  /** `enable_isolated_aggregate_filtering`: aggregates with `trait:X=required` only take servers that require X. */
  readonly isolate: boolean;
}

const TENANT_KEY = "filter_tenant_id";

const TRAIT_KEY = "trait:";

/** Returns the image's properties as of the server's creation or last rebuild. */
export function requestedImage(
  store: Store,
  { instanceUuid }: Pick<ScheduleRequest, "instanceUuid">,
): Readonly<Record<string, string>> {
  const instance = store.instances.get(instanceUuid) ?? store.requests.buildRequest(instanceUuid)?.instance;
  return instance === undefined ? {} : imagePropertiesOf(instance);
}

/** Returns the resources and traits that the server requests from Placement. */
export function requestedResources(
  { spec }: Pick<ScheduleRequest, "spec">,
  imageProperties: Readonly<Record<string, string>>,
): ResourceRequest {
  return resourceRequest(spec.flavor, { volumeBacked: spec.isBfv, imageProperties });
}

/** Returns the groups of ports, each with its id as the suffix. */
export function portGroups(requests: readonly PortResourceRequest[]): readonly CandidatesGroup[] {
  return requests.flatMap(({ request_groups: groups }) =>
    groups.map(({ id, resources, required }) => ({ suffix: id, resources, required: [...required].sort() })),
  );
}

/** Returns the groups of each port whose providers must belong to one subtree. */
export function sameSubtreesOf(requests: readonly PortResourceRequest[]): readonly (readonly string[])[] {
  return requests.map(({ same_subtree: suffixes }) => suffixes).filter((suffixes) => suffixes.length > 0);
}

/**
 * Returns the flavor's policy for the providers of several groups. Groups of ports need none in the flavor: as in Nova, they
 * may have providers in common by default.
 */
export function groupPolicyOf(
  { groups, groupPolicy }: ResourceRequest,
  ofPorts: readonly CandidatesGroup[],
): ResourceRequest["groupPolicy"] {
  const suffixed = [...groups, ...ofPorts].filter(({ suffix }) => suffix !== "");
  return groupPolicy ?? (suffixed.length > 1 ? "none" : null);
}

/**
 * Returns the request groups, the unsuffixed one first and those of ports last, with the aggregates that the rules require
 * or forbid.
 * @param aggregates returns all aggregates; only called if a rule needs them
 * @throws {NoValidHost} if Placement would reject the request, or the project has no aggregate
 */
export function candidatesGroups(
  { groups, groupPolicy }: ResourceRequest,
  projectId: string,
  aggregates: () => readonly Aggregate[],
  rules: AggregateRules,
  ofPorts: readonly CandidatesGroup[] = [],
): readonly CandidatesGroup[] {
  const suffixes = groups.map(({ suffix }) => suffix).filter((suffix) => suffix !== "");
  if (suffixes.length > 1 && groupPolicy === null) {
    throw new NoValidHost(
      NOT_ENOUGH_HOSTS,
      `The server requests the resource groups ${suffixes.join(", ")} without a group_policy for their ` +
        "providers: set the flavor's extra spec group_policy to none or isolate.",
    );
  }
  const [first, ...others] = groups.map(
    ({ suffix, resources, requiredTraits, forbiddenTraits }): CandidatesGroup => ({
      suffix,
      resources,
      required: [...[...requiredTraits].sort(), ...[...forbiddenTraits].sort().map((trait) => `!${trait}`)],
    }),
  );
  if (first === undefined) {
    throw new NoValidHost(NOT_ENOUGH_HOSTS, "The flavor requests no resources.");
  }
  const memberOf = rules.limitTenants ? aggregatesOfProject(projectId, aggregates(), rules) : [];
  const required = new Set(groups.flatMap(({ requiredTraits }) => [...requiredTraits]));
  const notMemberOf = rules.isolate ? isolatedAggregates(required, aggregates()) : [];
  const aggregateLimits = { ...(memberOf.length > 0 ? { memberOf: [memberOf] } : {}), notMemberOf };
  return [{ ...first, ...aggregateLimits }, ...others, ...ofPorts];
}

function aggregatesOfProject(
  projectId: string,
  aggregates: readonly Aggregate[],
  rules: AggregateRules,
): readonly string[] {
  const own = aggregates.filter(({ metadata }) =>
    Object.entries(metadata).some(([key, value]) => key.startsWith(TENANT_KEY) && value === projectId),
  );
  if (own.length === 0 && rules.aggregateRequired) {
    throw new NoValidHost("No hosts available for tenant");
  }
  return own.map(({ uuid }) => uuid);
}

/** Returns the aggregates that are reserved for traits which the server does not require. */
function isolatedAggregates(required: ReadonlySet<string>, aggregates: readonly Aggregate[]): readonly string[] {
  return aggregates
    .filter(({ metadata }) =>
      Object.entries(metadata).some(
        ([key, value]) =>
          key.startsWith(TRAIT_KEY) && value === "required" && !required.has(key.slice(TRAIT_KEY.length)),
      ),
    )
    .map(({ uuid }) => uuid);
}

/**
 * Claims a destination. If the response is lost, the claim may exist; the second attempt then replaces it. Returns null
 * if Placement is unavailable; the claim may still exist.
 * @throws {AllocationUpdateFailed} {ConsumerAllocationRetrievalFailed}
 * @throws {PlacementAPIConnectFailure} only with `sum`, which cannot be retried; the claim may exist
 */
export async function claimSelection(
  placement: ReportClient,
  selection: Pick<Selection, "allocationRequest" | "allocationRequestVersion">,
  claim: SelectionClaim,
  requestId: string,
): Promise<boolean | null> {
  const { held, ...consumer } = claim;
  if (held === "sum") {
    const summed = await claimSum(placement, selection.allocationRequest, claim, requestId);
    if (summed !== undefined) {
      return summed;
    }
  }
  const request = { allocations: selection.allocationRequest };
  const claimMode = held === "sum" ? "double" : held;
  const attempt = () =>
    placement.claimResources(
      { ...consumer, held: claimMode, request, version: selection.allocationRequestVersion },
      { requestId },
    );
  return (await attempt()) ?? attempt();
}

/** Returns undefined if the consumer has no allocations on these providers, so that `double` has the same result. */
async function claimSum(
  placement: ReportClient,
  request: Allocations,
  { consumer, projectId, userId }: SelectionClaim,
  requestId: string,
): Promise<boolean | undefined> {
  const current = await placement.getAllocationsForConsumer(consumer, { requestId });
  if (Object.keys(request).every((uuid) => current.allocations[uuid] === undefined)) {
    return undefined;
  }
  const allocations: Record<string, { readonly resources: Readonly<Record<string, number>> }> = {};
  for (const uuid of new Set([...Object.keys(current.allocations), ...Object.keys(request)])) {
    const total: Record<string, number> = { ...current.allocations[uuid]?.resources };
    for (const [name, amount] of Object.entries(request[uuid]?.resources ?? {})) {
      total[name] = (total[name] ?? 0) + amount;
    }
    allocations[uuid] = { resources: total };
  }
  const write = { read: current, allocations, projectId, userId };
  return placement.putAllocations(consumer, write, { requestId });
}
