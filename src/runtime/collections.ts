/**
 * A map that takes the memory of one reference while it is empty. An agent has dozens of maps that stay empty on most
 * hosts, and a process has thousands of agents.
 */
export class SparseMap<K, V> implements ReadonlyMap<K, V> {
  #entries: Map<K, V> | undefined;

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  has(key: K): boolean {
    return this.#entries?.has(key) ?? false;
  }

  get(key: K): V | undefined {
    return this.#entries?.get(key);
  }

  set(key: K, value: V): this {
    this.#entries ??= new Map();
    this.#entries.set(key, value);
    return this;
  }

  delete(key: K): boolean {
    const deleted = this.#entries?.delete(key) ?? false;
    if (this.#entries?.size === 0) {
      this.#entries = undefined;
    }
    return deleted;
  }

  clear(): void {
    this.#entries = undefined;
  }

  forEach(action: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this) {
      action(value, key, this);
    }
  }

  keys(): MapIterator<K> {
    return (this.#entries ?? new Map()).keys();
  }

  values(): MapIterator<V> {
    return (this.#entries ?? new Map()).values();
  }

  entries(): MapIterator<[K, V]> {
    return (this.#entries ?? new Map()).entries();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }
}

/** The set that corresponds to {@link SparseMap}. */
export class SparseSet<T> implements ReadonlySet<T> {
  #members: Set<T> | undefined;

  get size(): number {
    return this.#members?.size ?? 0;
  }

  has(member: T): boolean {
    return this.#members?.has(member) ?? false;
  }

  add(member: T): this {
    this.#members ??= new Set();
    this.#members.add(member);
    return this;
  }

  delete(member: T): boolean {
    const deleted = this.#members?.delete(member) ?? false;
    if (this.#members?.size === 0) {
      this.#members = undefined;
    }
    return deleted;
  }

  clear(): void {
    this.#members = undefined;
  }

  forEach(action: (member: T, again: T, set: ReadonlySet<T>) => void): void {
    for (const member of this) {
      action(member, member, this);
    }
  }

  keys(): SetIterator<T> {
    return this.values();
  }

  values(): SetIterator<T> {
    return (this.#members ?? new Set<T>()).values();
  }

  entries(): SetIterator<[T, T]> {
    return (this.#members ?? new Set<T>()).entries();
  }

  [Symbol.iterator](): SetIterator<T> {
    return this.values();
  }
}

/** More than the distinct values that the hosts of one process usually have. Too small a limit only costs memory. */
const MAX_VALUES = 16;

/** Interns equal values, so that the thousands of hosts of a process share one copy. */
export class EqualValues<T> {
  /** Keyed by the value's JSON. */
  readonly #met = new Map<string, T>();

  /** Returns an equal value that was interned recently, or `value` itself. Neither may be changed afterwards. */
  shared(value: T): T {
    const text = JSON.stringify(value);
    const known = this.#met.get(text);
    if (known !== undefined) {
      return known;
    }
    this.#met.set(text, value);
    if (this.#met.size > MAX_VALUES) {
      const [first = text] = this.#met.keys();
      this.#met.delete(first);
    }
    return value;
  }
}

/** Groups items by a key, in the order of the first item of each group. */
export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    append(groups, keyOf(item), item);
  }
  return groups;
}

/** Adds a value to the list of a key. */
export function append<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) {
    lists.set(key, [value]);
  } else {
    list.push(value);
  }
}

/** Returns whether a value is a JSON object: neither a list nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
