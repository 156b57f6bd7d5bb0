import { JOINED_FIELDS } from "../objects/instance.js";
import { type NovaObject, type ObjectData, overlaid } from "../objects/primitive.js";

/** Maximum number of instances whose joined fields are cached. */
const MAX_INSTANCES = 2_000;
/** Lifetime of a cached service in milliseconds: somewhat longer than the interval between heartbeats. */
const SERVICE_TTL_MS = 15_000;
/** `flavor` also loads the two others. */
const JOINED: readonly string[] = [...JOINED_FIELDS, "old_flavor", "new_flavor"];

/** A pending event of an action. */
export interface OpenEvent {
  readonly instanceUuid: string;
  readonly event: string;
  readonly requestId: string;
}

/** Fields of a compute node that are also part of its moves. */
export interface KnownNode {
  readonly id: number;
  readonly hostIp: string | null;
}

interface NodeKey {
  readonly host: string;
  readonly hypervisorHostname: string;
}

interface KnownService {
  readonly service: NovaObject;
  /** Time of the request to the conductor, in monotonic milliseconds. */
  readonly requestedAt: number;
}

/**
 * Caches data that the conductor does not repeat. The response to a save lacks the fields of other tables; a service must be
 * saved with all its fields; and an event has no id.
 */
export class KnownRows {
  readonly #now: () => number;
  readonly #services = new Map<number, KnownService>();
  /** Time by host before which cached data of its service is invalid. */
  readonly #doubtedAt = new Map<string, number>();
  readonly #nodes = new Map<string, KnownNode>();
  readonly #joined = new Map<string, ObjectData>();
  readonly #events = new Map<number, OpenEvent>();
  #lastEvent = 0;

  /** @param now monotonic milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  service(id: number): NovaObject | undefined {
    return this.#services.get(id)?.service;
  }

  /**
   * Returns the service if its cached row is fresh. Each heartbeat returns the changed row, so an active service is not
   * read.
   */
  freshService(host: string, binary: string): NovaObject | undefined {
    const since = Math.max(this.#now() - SERVICE_TTL_MS, this.#doubtedAt.get(host) ?? Number.NEGATIVE_INFINITY);
    return [...this.#services.values()].find(
      ({ service: { "nova_object.data": data }, requestedAt }) =>
        data.host === host && data.binary === binary && requestedAt > since,
    )?.service;
  }

  noteService(service: NovaObject, requestedAt = Number.NEGATIVE_INFINITY): void {
    const { id } = service["nova_object.data"];
    if (typeof id === "number") {
      this.#services.set(id, { service, requestedAt });
    }
  }

  /** Invalidates the cached service of the host. */
  doubtService(host: string): void {
    this.#doubtedAt.set(host, this.#now());
  }

  node(host: string, name: string): KnownNode | undefined {
    return this.#nodes.get(`${host} ${name}`);
  }

  noteNode({ host, hypervisorHostname, id, hostIp }: KnownNode & NodeKey): void {
    this.#nodes.set(`${host} ${hypervisorHostname}`, { id, hostIp });
  }

  /** Caches the fields of other tables; fields absent from the response keep their values. */
  noteInstance(instance: NovaObject): void {
    const { "nova_object.data": data } = instance;
    const uuid = String(data.uuid);
    const came = Object.fromEntries(Object.entries(data).filter(([field]) => JOINED.includes(field)));
    const known = this.#joined.get(uuid);
    // Re-inserted, so that the oldest entry is evicted first.
    this.#joined.delete(uuid);
    this.#joined.set(uuid, { ...known, ...came });
    const [oldest] = this.#joined.keys();
    if (this.#joined.size > MAX_INSTANCES && oldest !== undefined) {
      this.#joined.delete(oldest);
    }
  }

  /** Adds cached fields that the instance lacks; null if none are cached. */
  completed(instance: NovaObject): NovaObject | null {
    const data = instance["nova_object.data"];
    const known = this.#joined.get(String(data.uuid));
    return known === undefined || known.flavor === undefined ? null : overlaid(instance, { ...known, ...data });
  }

  forgetInstance(uuid: string): void {
    this.#joined.delete(uuid);
  }

  openEvent(event: OpenEvent): number {
    this.#lastEvent += 1;
    this.#events.set(this.#lastEvent, event);
    return this.#lastEvent;
  }

  closeEvent(id: number): OpenEvent | undefined {
    const event = this.#events.get(id);
    this.#events.delete(id);
    return event;
  }
}
