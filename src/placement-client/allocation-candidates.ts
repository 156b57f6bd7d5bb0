import type { ClientContext } from "./client-context.js";
import { readAllocation } from "./consumer-allocations.js";
import { asArray, asNumber, asRecord, asString, mapRecord } from "./json.js";
import type {
  AllocationCandidates,
  AllocationRequest,
  CandidatesGroup,
  CandidatesQuery,
  ProviderSummary,
  RequestContext,
  RootOffer,
} from "./types.js";

/** The response of a Placement in the client's own process, without conversion to and from JSON. */
export class CandidateRecords implements AllocationCandidates {
  readonly allocationRequests: readonly AllocationRequest[];
  readonly providerSummaries: ReadonlyMap<string, ProviderSummary>;
  readonly version: string;

  constructor({ allocationRequests, providerSummaries, version }: AllocationCandidates) {
    this.allocationRequests = allocationRequests;
    this.providerSummaries = providerSummaries;
    this.version = version;
  }
}

/**
 * Like {@link CandidateRecords}, if each candidate is a single root provider. A scheduler that reads `roots` needs
 * neither of the lists.
 */
export class RootRecords implements AllocationCandidates {
  readonly roots: readonly RootOffer[];
  readonly version: string;

  constructor(roots: readonly RootOffer[], version: string) {
    this.roots = roots;
    this.version = version;
  }

  get allocationRequests(): readonly AllocationRequest[] {
    return this.roots.map(({ request }) => request);
  }

  get providerSummaries(): ReadonlyMap<string, ProviderSummary> {
    return new Map(this.roots.map(({ uuid, summary }) => [uuid, summary]));
  }
}

const VERSION = "1.36";

/** `GET /allocation_candidates`; null when Placement responds with an error (spec 5.5). */
export async function readCandidates(
  { http, logger }: ClientContext,
  query: CandidatesQuery,
  context: RequestContext,
): Promise<AllocationCandidates | null> {
  const response = await http.get(`/allocation_candidates?${queryString(query)}`, { ...context, version: VERSION });
  if (!response.ok) {
    logger.error("no allocation candidates", { query: queryString(query), response: response.describe() });
    return null;
  }
  if (response.records instanceof RootRecords || response.records instanceof CandidateRecords) {
    return response.records;
  }
  return response.read(({ allocation_requests, provider_summaries }) => ({
    allocationRequests: asArray(allocation_requests).map(readRequest),
    providerSummaries: new Map(
      Object.entries(asRecord(provider_summaries)).map(([uuid, summary]) => [uuid, readSummary(summary)]),
    ),
    version: VERSION,
  }));
}

function readRequest(value: unknown): AllocationRequest {
  const { allocations, mappings } = asRecord(value);
  const bySuffix = mapRecord(mappings, (uuids) => asArray(uuids).map(asString));
  const hasSuffix = Object.keys(bySuffix).some((suffix) => suffix !== "");
  return { allocations: mapRecord(allocations, readAllocation), ...(hasSuffix ? { mappings: bySuffix } : {}) };
}

function queryString({ groups, groupPolicy, sameSubtrees = [], rootRequired, inTree, limit }: CandidatesQuery): string {
  const parameters: (readonly [string, string])[] = groups.flatMap(groupParameters);
  if (groupPolicy !== undefined) {
    parameters.push(["group_policy", groupPolicy]);
  }
  if (inTree !== undefined) {
    parameters.push([`in_tree${groups[0]?.suffix ?? ""}`, inTree]);
  }
  for (const suffixes of sameSubtrees) {
    parameters.push(["same_subtree", [...suffixes].sort().join(",")]);
  }
  parameters.push(["limit", String(limit)]);
  if (rootRequired.length > 0) {
    parameters.push(["root_required", rootRequired.join(",")]);
  }
  return parameters
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .sort()
    .join("&");
}

function groupParameters(group: CandidatesGroup): (readonly [string, string])[] {
  const { suffix, resources, required = [], memberOf = [], notMemberOf = [] } = group;
  const amounts = Object.entries(resources).map(([name, amount]) => `${name}:${amount}`);
  const parameters = [
    ["resources", amounts.sort()],
    ["required", required],
    ...memberOf.map((any) => ["member_of", [`in:${[...any].sort().join(",")}`]] as const),
    ["member_of", notMemberOf.length === 0 ? [] : [`!in:${[...notMemberOf].sort().join(",")}`]],
  ] as const;
  return parameters
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => [`${name}${suffix}`, values.join(",")] as const);
}

function readSummary(value: unknown): ProviderSummary {
  const { resources, root_provider_uuid } = asRecord(value);
  return {
    resources: mapRecord(resources, (amount) => {
      const { capacity, used } = asRecord(amount);
      return { capacity: asNumber(capacity), used: asNumber(used) };
    }),
    rootUuid: asString(root_provider_uuid),
  };
}
