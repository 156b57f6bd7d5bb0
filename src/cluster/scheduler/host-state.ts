import type { AllocationCandidates, Allocations } from "../../placement/types.js";
import type { ComputeNode, Resources, Selection, Service } from "../../records/index.js";
import type { Store } from "../store/store.js";

/** A compute node that Placement offers, with what filters and weighers look at. */
export interface HostState {
  readonly node: ComputeNode;
  /** Null: the node has no service any more. */
  readonly service: Service | null;
  /** The ways in which the request fits there; never empty. */
  readonly allocationRequests: readonly { readonly allocations: Allocations }[];
  /** Left on the root provider by class, as Placement counts it; what this request claimed is taken off. */
  readonly free: Record<string, number>;
}

export interface OfferedHosts {
  readonly hosts: readonly HostState[];
  /** Providers that Placement offers and no compute node belongs to. */
  readonly unknown: number;
}

/** Joins what Placement offers with the compute nodes and services of the state of record. */
export function hostStates(store: Store, candidates: AllocationCandidates): OfferedHosts {
  const { allocationRequests, providerSummaries } = candidates;
  const byRoot = new Map<string, { readonly allocations: Allocations }[]>();
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
  const nodes = store.computeNodes.byUuids([...byRoot.keys()]);
  const services = new Map<string, Service | null>();
  for (const { host } of nodes) {
    if (!services.has(host)) {
      services.set(host, store.services.getByHost(host, "nova-compute"));
    }
  }
  const hosts = nodes.map((node) => ({
    node,
    service: services.get(node.host) ?? null,
    allocationRequests: byRoot.get(node.uuid) ?? [],
    free: Object.fromEntries(
      Object.entries(providerSummaries.get(node.uuid)?.resources ?? {}).map(([name, { capacity, used }]) => [
        name,
        capacity - used,
      ]),
    ),
  }));
  const known = new Set(nodes.map(({ uuid }) => uuid));
  // A sharing provider is a root too, but one that comes with a node's: it is not a host by itself.
  const unknown = allocationRequests.filter(({ allocations }) =>
    rootsOf(allocations, candidates).every((root) => !known.has(root)),
  );
  return { hosts, unknown: new Set(unknown.flatMap(({ allocations }) => Object.keys(allocations))).size };
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

/** Notes a claim, so that the next instance of the same request sees the host as it is now. */
export function consume(host: HostState, resources: Resources): void {
  for (const [name, amount] of Object.entries(resources)) {
    host.free[name] = (host.free[name] ?? 0) - amount;
  }
}

function rootsOf(allocations: Allocations, { providerSummaries }: AllocationCandidates): string[] {
  return [...new Set(Object.keys(allocations).map((uuid) => providerSummaries.get(uuid)?.rootUuid ?? uuid))];
}
