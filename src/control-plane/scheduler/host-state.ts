import type {
  AllocationCandidates,
  AllocationRequest,
  Allocations,
  ProviderSummary,
  RootOffer,
} from "../../placement-client/types.js";
import type { Selection } from "../../records/index.js";
import type { HostRecords, ScheduledNode, ScheduledService } from "./host-records.js";

/** A compute node that Placement offers, with what filters and weighers look at. */
export interface HostState {
  readonly node: ScheduledNode;
  /** Null: the node has no service any more. */
  readonly service: ScheduledService | null;
  /** The first way in which the request fits there. */
  readonly allocationRequest: AllocationRequest;
  /** The root provider's by class, as Placement counts them. */
  readonly resources: ProviderSummary["resources"];
}

export interface OfferedHosts {
  readonly hosts: readonly HostState[];
  /** Providers that Placement offers and no compute node belongs to. */
  readonly unknown: number;
}

/** Joins what Placement offers with the compute nodes and services of the state of record. */
export function hostStates(records: HostRecords, candidates: AllocationCandidates): OfferedHosts {
  const offers = candidates.roots ?? offersOf(candidates);
  const nodes = records.nodes(offers.map(({ uuid }) => uuid));
  const known: (readonly [ScheduledNode, RootOffer])[] = [];
  for (const offer of offers) {
    const node = nodes.get(offer.uuid);
    if (node !== undefined) {
      known.push([node, offer]);
    }
  }
  const services = records.services(known.map(([{ host }]) => host));
  const hosts = known.map(([node, { request, summary }]) => ({
    node,
    service: services.get(node.host) ?? null,
    allocationRequest: request,
    resources: summary.resources,
  }));
  return { hosts, unknown: hosts.length === offers.length ? 0 : countUnknown(hosts, candidates) };
}

/** By root, in the order of the answer. Placement's first way to use a root is as good as any other. */
function offersOf(candidates: AllocationCandidates): readonly RootOffer[] {
  const byRoot = new Map<string, RootOffer>();
  for (const request of candidates.allocationRequests) {
    for (const uuid of rootsOf(request.allocations, candidates)) {
      if (!byRoot.has(uuid)) {
        const summary = candidates.providerSummaries.get(uuid) ?? { resources: {}, rootUuid: uuid };
        byRoot.set(uuid, { uuid, request, summary });
      }
    }
  }
  return [...byRoot.values()];
}

function countUnknown(hosts: readonly HostState[], candidates: AllocationCandidates): number {
  const known = new Set(hosts.map(({ node }) => node.uuid));
  // A sharing provider is a root too, but one that comes with a node's: it is not a host by itself.
  const unknown = candidates.allocationRequests.filter(({ allocations }) =>
    rootsOf(allocations, candidates).every((root) => !known.has(root)),
  );
  return new Set(unknown.flatMap(({ allocations }) => Object.keys(allocations))).size;
}

/** What a claim on the host writes. */
export function selectionOf(host: HostState, version: string): Selection {
  return {
    host: host.node.host,
    node: host.node.hypervisorHostname,
    computeNodeUuid: host.node.uuid,
    allocationRequest: host.allocationRequest.allocations,
    allocationRequestVersion: version,
  };
}

function rootsOf(allocations: Allocations, { providerSummaries }: AllocationCandidates): readonly string[] {
  const uuids = Object.keys(allocations);
  const [only] = uuids;
  if (uuids.length === 1 && only !== undefined && (providerSummaries.get(only)?.rootUuid ?? only) === only) {
    return uuids;
  }
  return [...new Set(uuids.map((uuid) => providerSummaries.get(uuid)?.rootUuid ?? uuid))];
}
