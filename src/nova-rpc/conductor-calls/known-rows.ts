import { JOINED_FIELDS } from "../objects/instance.js";
import { type NovaObject, type ObjectData, overlaid } from "../objects/primitive.js";

/** Most instances whose joined fields are remembered. */
const MAX_INSTANCES = 2_000;
/** Milliseconds for which a service is as it was last told: somewhat longer than from one heartbeat to the next. */
const SERVICE_TTL_MS = 15_000;
/** Beside the others, `flavor` brings these. */
const JOINED: readonly string[] = [...JOINED_FIELDS, "old_flavor", "new_flavor"];

/** An action's event that is under way. */
export interface OpenEvent {
  readonly instanceUuid: string;
  readonly event: string;
  readonly requestId: string;
}

/** What a compute node's row says of it that its moves say, too. */
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
  /** When the conductor was asked; monotonic milliseconds. */
  readonly requestedAt: number;
}

/**
 * What a conductor has said and does not repeat: a save is answered without the fields of other tables, a service is saved whole,
 * and an event has no number.
 */
export class KnownRows {
  readonly #now: () => number;
  readonly #services = new Map<number, KnownService>();
  /** By host: until then nothing that is known of its service counts. */
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

  /** Each heartbeat is answered with what has changed, so that a service that beats need not be read. */
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

  /** It is said to have changed. */
  doubtService(host: string): void {
    this.#doubtedAt.set(host, this.#now());
  }

  node(host: string, name: string): KnownNode | undefined {
    return this.#nodes.get(`${host} ${name}`);
  }

  noteNode({ host, hypervisorHostname, id, hostIp }: KnownNode & NodeKey): void {
    this.#nodes.set(`${host} ${hypervisorHostname}`, { id, hostIp });
  }

  /** Remembers what came of other tables; what did not come is kept as it was. */
  noteInstance(instance: NovaObject): void {
    const { "nova_object.data": data } = instance;
    const uuid = String(data.uuid);
    const came = Object.fromEntries(Object.entries(data).filter(([field]) => JOINED.includes(field)));
    const known = this.#joined.get(uuid);
    // The latest is the last to be forgotten.
    this.#joined.delete(uuid);
    this.#joined.set(uuid, { ...known, ...came });
    const [oldest] = this.#joined.keys();
    if (this.#joined.size > MAX_INSTANCES && oldest !== undefined) {
      this.#joined.delete(oldest);
    }
  }

  /** The instance with what is remembered where it has nothing itself; null: nothing is. */
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
