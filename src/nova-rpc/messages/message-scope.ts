import { AsyncLocalStorage } from "node:async_hooks";
import { isObject } from "../../runtime/collections.js";
import { type NovaObject, novaObject, type ObjectData, objectOf } from "../objects/primitive.js";
import type { NovaContext } from "./oslo-message.js";

type RowName = "Instance" | "Migration";

/** Milliseconds for which what was just said of a row is not asked again. */
const JUST_NOW = 1_000;

/**
 * The rows that a message is about, as this process knows them while it works on it: as they came, with all that the conductor has
 * said of them since. What is old by more than a moment is good to be handed on, and to judge nothing by.
 */
export class RowsInHand {
  readonly #now: () => number;
  readonly #rows = new Map<string, NovaObject>();
  /** When somebody spoke of each who knows. */
  readonly #notedAt = new Map<string, number>();
  readonly #offeredAt = new Map<string, number>();

  /** @param now monotonic milliseconds */
  constructor({ instance, migration }: Readonly<Record<string, unknown>>, now: () => number) {
    this.#now = now;
    for (const came of [instance, migration].filter(isObject)) {
      const object = objectOf(came);
      this.#rows.set(keyOf(object), object);
    }
  }

  /** What the conductor, or who has just written it, has answered of a row; fields that are left out stay. */
  note(update: NovaObject): void {
    const key = keyOf(update);
    const known = this.#rows.get(key);
    this.#rows.set(key, known === undefined ? update : merged(known, update));
    this.#notedAt.set(key, this.#now());
  }

  /** However old. */
  latest(name: RowName, id: string | number): NovaObject | undefined {
    return this.#rows.get(`${name} ${id}`);
  }

  /** Only if that was said just now. */
  fresh(name: RowName, id: string | number): NovaObject | undefined {
    const at = this.#notedAt.get(`${name} ${id}`) ?? Number.NEGATIVE_INFINITY;
    return this.#now() - at <= JUST_NOW ? this.latest(name, id) : undefined;
  }

  /** The next who reads the row is given it as it is in hand, if that is soon. */
  offer(name: RowName, id: string | number): void {
    this.#offeredAt.set(`${name} ${id}`, this.#now());
  }

  /** What was offered, once. */
  accept(name: RowName, id: string | number): NovaObject | undefined {
    const at = this.#offeredAt.get(`${name} ${id}`) ?? Number.NEGATIVE_INFINITY;
    this.#offeredAt.delete(`${name} ${id}`);
    return this.#now() - at <= JUST_NOW ? this.latest(name, id) : undefined;
  }
}

/** A message that this process works on: what is done on its behalf carries its context, and hands its arguments on. */
export interface MessageScope {
  readonly context: NovaContext;
  readonly method: string;
  /** As they came. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Fields that the sender has set and not saved, by instance: the first save takes them along. */
  readonly unsaved: Map<string, ObjectData>;
  /** Rows as the conductor has them, without what is unsaved. */
  readonly rows: RowsInHand;
}

/** Which message the code that runs now was called for. */
export class MessageScopes {
  readonly #storage = new AsyncLocalStorage<MessageScope>();

  get current(): MessageScope | null {
    return this.#storage.getStore() ?? null;
  }

  run<T>(scope: MessageScope, action: () => Promise<T>): Promise<T> {
    return this.#storage.run(scope, action);
  }

  /** Until then, every promise of the process carries the scope (Node 20 and 22), and is slower for it. */
  close(): void {
    this.#storage.disable();
  }
}

function keyOf({ "nova_object.name": name, "nova_object.data": { uuid, id } }: NovaObject): string {
  return `${name} ${name === "Instance" ? uuid : id}`;
}

/** At the newer of their versions: what leaves the process is brought down to the control plane's with all that belongs to it. */
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
