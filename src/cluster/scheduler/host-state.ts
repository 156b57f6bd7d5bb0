import type { AllocationCandidates, AllocationRequest, Allocations, ProviderSummary } from "../../placement/types.js";
import type { Selection, Service } from "../../records/index.js";
import type { HostRecords, ScheduledNode } from "./host-records.js";

/** A compute node that Placement offers, with what filters and weighers look at. */
export interface HostState {
  readonly node: ScheduledNode;
  /** Null: the node has no service any more. */
  readonly service: Service | null;
  /** The ways in which the request fits there; never empty. */
  readonly allocationRequests: readonly AllocationRequest[];
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
  const { allocationRequests, providerSummaries } = candidates;
  const byRoot = new Map<string, AllocationRequest[]>();
  for (const request of allocationRequests) {
    for (const root of rootsOf(request.allocations, candidates)) {
      const requests = byRoot.get(root);
      if (requests) {
        requests.push(request);
      } else {
        byRoot.set(root, [request]);
      }
    }
  }
  const nodes = records.nodes([...byRoot.keys()]);
  const services = records.services(nodes.map(({ host }) => host));
  const hosts = nodes.map((node) => ({
    node,
    service: services.get(node.host) ?? null,
    allocationRequests: byRoot.get(node.uuid) ?? [],
    resources: providerSummaries.get(node.uuid)?.resources ?? {},
  }));
  return { hosts, unknown: hosts.length === byRoot.size ? 0 : countUnknown(hosts, candidates) };
}

function countUnknown(hosts: readonly HostState[], candidates: AllocationCandidates): number {
  const known = new Set(hosts.map(({ node }) => node.uuid));
  // A sharing provider is a root too, but one that comes with a node's: it is not a host by itself.
  const unknown = candidates.allocationRequests.filter(({ allocations }) =>
    rootsOf(allocations, candidates).every((root) => !known.has(root)),
  );
  return new Set(unknown.flatMap(({ allocations }) => Object.keys(allocations))).size;
}

/** What a claim on the host writes; Placement's first way is as good as any other. */
export function selectionOf(host: HostState, version: string): Selection {
  return {
    host: host.node.host,
    node: host.node.hypervisorHostname,
    computeNodeUuid: host.node.uuid,
    allocationRequest: host.allocationRequests[0]?.allocations ?? {},
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
