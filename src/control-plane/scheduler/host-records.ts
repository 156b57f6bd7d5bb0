import type { ComputeNode, Service } from "../../records/index.js";
import type { Aggregate } from "../store/aggregates.js";
import type { Store } from "../store/store.js";

/** The attributes of a compute node that filters and weighers read, and that a selection names. */
export type ScheduledNode = Omit<ComputeNode, "metrics" | "numaTopology" | "pciDevicePools">;

/** By the key of an aggregate's metadata, `ram_weight_multiplier`; NaN: the text is no number. */
export type Multipliers = Readonly<Record<string, number>>;

const MULTIPLIER = "_weight_multiplier";

/** What they look at in a service. */
export type ScheduledService = Pick<
  Service,
  "id" | "host" | "disabled" | "forcedDown" | "availabilityZone" | "lastSeenUp" | "createdAt"
>;

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
