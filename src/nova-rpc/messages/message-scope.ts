import { AsyncLocalStorage } from "node:async_hooks";
import { isObject } from "../../runtime/collections.js";
import { type NovaObject, novaObject, type ObjectData, objectOf } from "../objects/primitive.js";
import type { NovaContext } from "./oslo-message.js";

type RowName = "Instance" | "Migration";

/** Milliseconds for which a row counts as fresh. */
const JUST_NOW = 1_000;

/**
 * The rows of the message that this process is handling: as received, with all later updates from the conductor. A row that
 * is not fresh may be forwarded, but no decision may depend on it.
 */
export class MessageRows {
  readonly #now: () => number;
  readonly #rows = new Map<string, NovaObject>();
  /** Time of the last update from the conductor, by row. */
  readonly #updatedAt = new Map<string, number>();
  readonly #offeredAt = new Map<string, number>();

  /** @param now monotonic milliseconds */
  constructor({ instance, migration }: Readonly<Record<string, unknown>>, now: () => number) {
    this.#now = now;
    for (const came of [instance, migration].filter(isObject)) {
      const object = objectOf(came);
      this.#rows.set(keyOf(object), object);
    }
  }

  /** Adds an update from the conductor, or from the writer of the row; absent fields keep their values. */
  note(update: NovaObject): void {
    const key = keyOf(update);
    const known = this.#rows.get(key);
    this.#rows.set(key, known === undefined ? update : merged(known, update));
    this.#updatedAt.set(key, this.#now());
  }

  /** Returns the row, whatever its age. */
  latest(name: RowName, id: string | number): NovaObject | undefined {
    return this.#rows.get(`${name} ${id}`);
  }

  /** Returns the row only if it was updated recently. */
  fresh(name: RowName, id: string | number): NovaObject | undefined {
    const at = this.#updatedAt.get(`${name} ${id}`) ?? Number.NEGATIVE_INFINITY;
    return this.#now() - at <= JUST_NOW ? this.latest(name, id) : undefined;
  }

  /** Lets the next reader use the row as it is, if that happens soon. */
  offer(name: RowName, id: string | number): void {
    this.#offeredAt.set(`${name} ${id}`, this.#now());
  }

  /** Returns an offered row, once. */
  accept(name: RowName, id: string | number): NovaObject | undefined {
    const at = this.#offeredAt.get(`${name} ${id}`) ?? Number.NEGATIVE_INFINITY;
    this.#offeredAt.delete(`${name} ${id}`);
    return this.#now() - at <= JUST_NOW ? this.latest(name, id) : undefined;
  }
}

/** A message that this process is handling. Calls made for it use its context, and forward its arguments. */
export interface MessageScope {
  readonly context: NovaContext;
  readonly method: string;
  /** The arguments as received. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Fields that the sender has set and not saved, by instance uuid: the first save includes them. */
  readonly unsaved: Map<string, ObjectData>;
  /** Rows as the conductor has them, without unsaved fields. */
  readonly rows: MessageRows;
}

/** Identifies the message on whose behalf the running code was called. */
export class MessageScopes {
  readonly #storage = new AsyncLocalStorage<MessageScope>();

  get current(): MessageScope | null {
    return this.#storage.getStore() ?? null;
  }

  run<T>(scope: MessageScope, action: () => Promise<T>): Promise<T> {
    return this.#storage.run(scope, action);
  }

  /** Releases the AsyncLocalStorage, which slows all promises of the process (Node 20 and 22). */
  close(): void {
    this.#storage.disable();
  }
}

function keyOf({ "nova_object.name": name, "nova_object.data": { uuid, id } }: NovaObject): string {
  return `${name} ${name === "Instance" ? uuid : id}`;
}

/**
 * Merges at the newer version; outgoing objects are later converted to the control plane's version with all nested objects.
 */
function merged(known: NovaObject, update: NovaObject): NovaObject {
  const { "nova_object.name": name, "nova_object.version": version, "nova_object.data": data } = update;
  const { "nova_object.version": other, "nova_object.data": knownData } = known;
  const [major, minor] = version.split(".").map(Number);
  const [otherMajor, otherMinor] = other.split(".").map(Number);
  if (major !== otherMajor) {
    return update;
  }
  return novaObject(name, (otherMinor ?? 0) > (minor ?? 0) ? other : version, { ...knownData, ...data }, []);
}
