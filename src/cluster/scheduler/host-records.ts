import type { ComputeNode, Service } from "../../records/index.js";
import type { Store } from "../store/store.js";

/** What filters and weighers look at in a compute node, and what a selection names. */
export type ScheduledNode = Pick<ComputeNode, "id" | "uuid" | "host" | "hypervisorHostname" | "stats">;

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

  /** Listens to the store for as long as that is open. */
  constructor(store: Store) {
    this.#store = store;
    store.onChange(({ kind, id, heardAt }) => {
      if (kind === "compute_node") {
        this.#nodes.delete(this.#uuidOf.get(Number(id)) ?? "");
      } else if (kind === "service") {
        this.#serviceChanged(this.#hostOf.get(Number(id)) ?? "", heardAt);
      }
    });
  }

  /** Hundreds of hosts are heard of at a time, and the next schedule would read them all. */
  #serviceChanged(host: string, heardAt: number | undefined): void {
    const service = this.#services.get(host);
    if (service === undefined) {
      return;
    }
    if (heardAt === undefined) {
      this.#services.delete(host);
    } else {
      this.#services.set(host, { ...service, lastSeenUp: heardAt });
    }
  }

  /** By uuid, with the alive ones of these. */
  nodes(uuids: readonly string[]): ReadonlyMap<string, ScheduledNode> {
    const unread = uuids.filter((uuid) => !this.#nodes.has(uuid));
    if (unread.length > 0) {
      for (const { id, uuid, host, hypervisorHostname, stats } of this.#store.computeNodes.byUuids(unread)) {
        this.#nodes.set(uuid, { id, uuid, host, hypervisorHostname, stats });
        this.#uuidOf.set(id, uuid);
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
}
