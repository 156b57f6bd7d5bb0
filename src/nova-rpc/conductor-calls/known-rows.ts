import { JOINED_FIELDS } from "../objects/instance.js";
import { type NovaObject, type ObjectData, overlaid } from "../objects/primitive.js";

/** Most instances whose joined fields are remembered. */
const MOST = 2_000;
/** Beside the others, `flavor` brings these. */
const JOINED: readonly string[] = [...JOINED_FIELDS, "old_flavor", "new_flavor"];

/** An action's event that is under way. */
export interface OpenEvent {
  readonly instanceUuid: string;
  readonly event: string;
  readonly requestId: string;
}

/**
 * What a conductor has said and does not repeat: a save is answered without the fields of other tables, a service is saved whole,
 * and an event has no number.
 */
export class KnownRows {
  readonly #services = new Map<number, NovaObject>();
  readonly #joined = new Map<string, ObjectData>();
  readonly #events = new Map<number, OpenEvent>();
  #lastEvent = 0;

  service(id: number): NovaObject | undefined {
    return this.#services.get(id);
  }

  noteService(service: NovaObject): void {
    const { id } = service["nova_object.data"];
    if (typeof id === "number") {
      this.#services.set(id, service);
    }
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
    if (this.#joined.size > MOST && oldest !== undefined) {
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
