import type {
  AllocationCandidates,
  AllocationRequest,
  Allocations,
  ProviderSummary,
  RootOffer,
} from "../../placement-client/types.js";
import type { ComputeNode, Selection, Service } from "../../records/index.js";
import type { Aggregate } from "../store/aggregates.js";
import type { Store } from "../store/store.js";

/** Attributes of a compute node that filters, weighers and selections use. */
type ScheduledNode = Omit<ComputeNode, "metrics" | "numaTopology" | "pciDevicePools">;

/** Values by metadata key of an aggregate, such as `ram_weight_multiplier`; NaN if the value is not a number. */
export type Multipliers = Readonly<Record<string, number>>;

/** Attributes of a service that filters use. */
type ScheduledService = Pick<
  Service,
  "id" | "host" | "disabled" | "forcedDown" | "availabilityZone" | "lastSeenUp" | "createdAt"
>;

const MULTIPLIER = "_weight_multiplier";

/**
 * Cache of compute nodes and services that are not deleted. Entries are valid until their records change, since a
 * schedule may read a thousand of them.
 */
export class HostRecords {
  readonly #store: Store;
  readonly #nodes = new Map<string, ScheduledNode>();
  readonly #services = new Map<string, ScheduledService>();
  /** Keys of cached entries by the ids in the store's change events. */
  readonly #uuidOf = new Map<number, string>();
  readonly #hostOf = new Map<number, string>();
  /** Values by host; undefined if an aggregate has changed since they were read. */
  #multipliers: ReadonlyMap<string, Multipliers> | undefined;

  /** Subscribes to the store's changes; there is no unsubscribe. */
  constructor(store: Store) {
    this.#store = store;
    store.onChange(({ kind, id, heartbeatAt }) => {
      if (kind === "compute_node") {
        this.#nodes.delete(this.#uuidOf.get(Number(id)) ?? "");
      } else if (kind === "service") {
        this.#serviceChanged(this.#hostOf.get(Number(id)) ?? "", heartbeatAt);
      } else if (kind === "aggregate") {
        this.#multipliers = undefined;
      }
    });
  }

  /** Updates a cached heartbeat in place: hundreds arrive at a time, and the next schedule would read all services again. */
  #serviceChanged(host: string, heartbeatAt: number | undefined): void {
    const service = this.#services.get(host);
    if (service === undefined) {
      return;
    }
    if (heartbeatAt === undefined) {
      this.#services.delete(host);
    } else {
      this.#services.set(host, { ...service, lastSeenUp: heartbeatAt });
    }
  }

  /** Returns nodes by uuid, at least the existing ones among these. */
  nodes(uuids: readonly string[]): ReadonlyMap<string, ScheduledNode> {
    const unread = uuids.filter((uuid) => !this.#nodes.has(uuid));
    if (unread.length > 0) {
      for (const { metrics: _, numaTopology: _numa, pciDevicePools: _pci, ...node } of this.#store.computeNodes.byUuids(
        unread,
      )) {
        this.#nodes.set(node.uuid, node);
        this.#uuidOf.set(node.id, node.uuid);
      }
    }
    return this.#nodes;
  }

  /** Returns nova-compute services by host, at least those of these hosts. */
  services(hosts: readonly string[]): ReadonlyMap<string, ScheduledService> {
    const unread = hosts.filter((host) => !this.#services.has(host));
    if (unread.length > 0) {
      for (const service of this.#store.services.byHosts(unread, "nova-compute")) {
        const { id, host, disabled, forcedDown, availabilityZone, lastSeenUp, createdAt } = service;
        this.#services.set(host, { id, host, disabled, forcedDown, availabilityZone, lastSeenUp, createdAt });
        this.#hostOf.set(id, host);
      }
    }
    return this.#services;
  }

  /** Returns the weight multipliers from aggregates' metadata by host. */
  multipliers(): ReadonlyMap<string, Multipliers> {
    this.#multipliers ??= multipliersOf(this.#store.aggregates.list());
    return this.#multipliers;
  }
}

/** A compute node among Placement's candidates, with the data that filters and weighers use. */
export interface HostState {
  readonly node: ScheduledNode;
  /** Null if the node's service was deleted. */
  readonly service: ScheduledService | null;
  /** The first allocation request for this node. */
  readonly allocationRequest: AllocationRequest;
  /** Root provider's resources by class, as Placement counts them. */
  readonly resources: ProviderSummary["resources"];
}

export interface OfferedHosts {
  readonly hosts: readonly HostState[];
  /** Number of candidate providers without a compute node. */
  readonly unknown: number;
}

/** Joins Placement's candidates with compute nodes and services. */
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

/**
 * Groups candidates by root in response order. The first allocation request of each root is used; Placement does not rank
 * them.
 */
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
  // Sharing providers are roots as well, but are not hosts; they appear together with a node's provider.
  const unknown = candidates.allocationRequests.filter(({ allocations }) =>
    rootsOf(allocations, candidates).every((root) => !known.has(root)),
  );
  return new Set(unknown.flatMap(({ allocations }) => Object.keys(allocations))).size;
}

/** Returns the selection that a claim on the host needs. */
export function selectionOf(host: HostState, version: string): Selection {
  const { allocations, mappings } = host.allocationRequest;
  return {
    host: host.node.host,
    node: host.node.hypervisorHostname,
    computeNodeUuid: host.node.uuid,
    allocationRequest: allocations,
    allocationRequestVersion: version,
    ...(mappings === undefined ? {} : { mappings }),
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

function multipliersOf(aggregates: readonly Aggregate[]): ReadonlyMap<string, Multipliers> {
  const byHost = new Map<string, Record<string, number>>();
  for (const { hosts, metadata } of aggregates) {
    const found = Object.entries(metadata).filter(([key]) => key.endsWith(MULTIPLIER));
    for (const host of found.length > 0 ? hosts : []) {
      const multipliers = byHost.get(host) ?? {};
      byHost.set(host, multipliers);
      for (const [key, text] of found) {
        // The lowest value of several aggregates counts. For a value that is not a number, Nova falls back to the option.
        multipliers[key] = Math.min(multipliers[key] ?? Number.POSITIVE_INFINITY, numberOf(text));
      }
    }
  }
  return byHost;
}

function numberOf(text: string): number {
  return text.trim() === "" ? Number.NaN : Number(text);
}
