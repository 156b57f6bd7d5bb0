import type { Logger } from "../runtime/logger.js";
import { readAllocation } from "./consumer-allocations.js";
import { asArray, asNumber, asRecord, asString, asStringOrNull, mapRecord } from "./json.js";
import type { PlacementHttp } from "./placement-http.js";
import type { AllocationCandidates, CandidatesQuery, ProviderSummary, RequestContext } from "./types.js";

const VERSION = "1.36";

/** `GET /allocation_candidates`; null when Placement answers with an error (spec 5.5). */
export async function readCandidates(
  http: PlacementHttp,
  query: CandidatesQuery,
  logger: Logger,
  context: RequestContext,
): Promise<AllocationCandidates | null> {
  const answer = await http.get(`/allocation_candidates?${queryString(query)}`, { ...context, version: VERSION });
  if (!answer.ok) {
    logger.error("no allocation candidates", { query: queryString(query), answer: answer.describe() });
    return null;
  }
  return answer.read(({ allocation_requests, provider_summaries }) => ({
    allocationRequests: asArray(allocation_requests).map((request) => ({
      allocations: mapRecord(asRecord(request).allocations, readAllocation),
    })),
    providerSummaries: new Map(Object.entries(mapRecord(provider_summaries, readSummary))),
    version: VERSION,
  }));
}

function queryString({ resources, rootRequired, inTree, limit }: CandidatesQuery): string {
  const amounts = Object.entries(resources)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, amount]) => `${name}:${amount}`)
    .join(",");
  return [
    ...(inTree === undefined ? [] : [["in_tree", inTree] as const]),
    ["limit", String(limit)] as const,
    ["resources", amounts] as const,
    ...(rootRequired.length === 0 ? [] : [["root_required", rootRequired.join(",")] as const]),
  ]
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}

function readSummary(value: unknown): ProviderSummary {
  const { resources, traits, parent_provider_uuid, root_provider_uuid } = asRecord(value);
  return {
    resources: mapRecord(resources, (amount) => {
      const { capacity, used } = asRecord(amount);
      return { capacity: asNumber(capacity), used: asNumber(used) };
    }),
    traits: asArray(traits).map(asString),
    parentUuid: asStringOrNull(parent_provider_uuid),
    rootUuid: asString(root_provider_uuid),
  };
}
