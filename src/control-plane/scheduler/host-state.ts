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

/** The attributes of a compute node that filters and weighers read, and that a selection names. */
type ScheduledNode = Omit<ComputeNode, "metrics" | "numaTopology" | "pciDevicePools">;

/** By the key of an aggregate's metadata, `ram_weight_multiplier`; NaN: the text is no number. */
export type Multipliers = Readonly<Record<string, number>>;

/** What they look at in a service. */
type ScheduledService = Pick<
  Service,
  "id" | "host" | "disabled" | "forcedDown" | "availabilityZone" | "lastSeenUp" | "createdAt"
>;

const MULTIPLIER = "_weight_multiplier";

/**
 * Alive compute nodes and their services, as the state of record has them: each is kept until it changes, since a schedule
 * looks at a thousand of them.
 */
export class HostRecords {
  readonly #store: Store;
  readonly #nodes = new Map<string, ScheduledNode>();
  readonly #services = new Map<string, ScheduledService>();
  /** What is kept, by the ids that the store's changes name. */
  readonly #uuidOf = new Map<number, string>();
  readonly #hostOf = new Map<number, string>();
  /** By host; undefined: an aggregate has changed since they were read. */
  #multipliers: ReadonlyMap<string, Multipliers> | undefined;

  /** Listens to the store for as long as that is open. */
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

  /** Hundreds of hosts are heard of at a time, and the next schedule would read them all. */
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

  /** By uuid, with the alive ones of these. */
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

  /** By host, with the nova-compute services of these. */
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

  /** The multipliers of weighers that host aggregates set in their metadata, by host. */
  multipliers(): ReadonlyMap<string, Multipliers> {
    this.#multipliers ??= multipliersOf(this.#store.aggregates.list());
    return this.#multipliers;
  }
}

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

function multipliersOf(aggregates: readonly Aggregate[]): ReadonlyMap<string, Multipliers> {
  const byHost = new Map<string, Record<string, number>>();
  for (const { hosts, metadata } of aggregates) {
    const found = Object.entries(metadata).filter(([key]) => key.endsWith(MULTIPLIER));
    for (const host of found.length > 0 ? hosts : []) {
      const multipliers = byHost.get(host) ?? {};
      byHost.set(host, multipliers);
      for (const [key, text] of found) {
        // Of several aggregates the least counts; a text that is no number makes Nova fall back to the option.
        multipliers[key] = Math.min(multipliers[key] ?? Number.POSITIVE_INFINITY, numberOf(text));
      }
    }
  }
  return byHost;
}

function numberOf(text: string): number {
  return text.trim() === "" ? Number.NaN : Number(text);
}
