import { type Signal, signal } from "@preact/signals";

/** Rows by key. Whoever reads one row, one group or all of them is told when that changes, and of nothing else. */
export class Table<V> {
  readonly #rows = new Map<string, V>();
  readonly #watched = new Map<string, Signal<V | undefined>>();
  readonly #version = signal(0);
  readonly #groups: Groups<V>[] = [];
  /** Rows from before a reset that have not been sent again. */
  #doubtful = new Set<string>();

  /** All rows, told of each change. */
  get rows(): ReadonlyMap<string, V> {
    this.#version.value;
    return this.#rows;
  }

  get(key: string): V | undefined {
    let watched = this.#watched.get(key);
    if (watched === undefined) {
      watched = signal(this.#rows.get(key));
      this.#watched.set(key, watched);
    }
    return watched.value;
  }

  /** Rows by what they belong to. */
  groupBy(of: (value: V, key: string) => readonly string[]): Groups<V> {
    const groups = new Groups(of, this.#rows);
    this.#groups.push(groups);
    return groups;
  }

  set(key: string, value: V): void {
    const before = this.#rows.get(key);
    this.#doubtful.delete(key);
    this.#rows.set(key, value);
    this.#changed(key, before, value);
  }

  delete(key: string): void {
    const before = this.#rows.get(key);
    if (before === undefined) {
      return;
    }
    this.#doubtful.delete(key);
    this.#rows.delete(key);
    this.#changed(key, before, undefined);
  }

  /** All rows are sent again: those that are not will be gone when {@link settle} is called, and are shown until then. */
  doubt(): void {
    this.#doubtful = new Set(this.#rows.keys());
  }

  settle(): void {
    for (const key of this.#doubtful) {
      this.delete(key);
    }
  }

  #changed(key: string, before: V | undefined, after: V | undefined): void {
    const watched = this.#watched.get(key);
    if (watched !== undefined) {
      watched.value = after;
    }
    for (const groups of this.#groups) {
      groups.move(key, before, after);
    }
    this.#version.value++;
  }
}

export class Groups<V> {
  readonly #of: (value: V, key: string) => readonly string[];
  readonly #rows: ReadonlyMap<string, V>;
  readonly #keys = new Map<string, Set<string>>();
  readonly #versions = new Map<string, Signal<number>>();

  constructor(of: (value: V, key: string) => readonly string[], rows: ReadonlyMap<string, V>) {
    this.#of = of;
    this.#rows = rows;
  }

  /** The rows of one group, in the order in which they came. */
  get(group: string): V[] {
    let version = this.#versions.get(group);
    if (version === undefined) {
      version = signal(0);
      this.#versions.set(group, version);
    }
    version.value;
    const keys = this.#keys.get(group) ?? new Set<string>();
    return [...keys].map((key) => this.#rows.get(key)).filter((row) => row !== undefined);
  }

  /** How many there are, for lists of many groups; who asks is not told when it changes. */
  count(group: string): number {
    return this.#keys.get(group)?.size ?? 0;
  }

  move(key: string, before: V | undefined, after: V | undefined): void {
    const from = before === undefined ? [] : this.#of(before, key);
    const to = after === undefined ? [] : this.#of(after, key);
    for (const group of from) {
      if (!to.includes(group)) {
        this.#keys.get(group)?.delete(key);
        if (this.#keys.get(group)?.size === 0) {
          this.#keys.delete(group);
        }
      }
    }
    for (const group of to) {
      const keys = this.#keys.get(group) ?? new Set<string>();
      keys.add(key);
      this.#keys.set(group, keys);
    }
    for (const group of new Set([...from, ...to])) {
      const version = this.#versions.get(group);
      if (version !== undefined) {
        version.value++;
      }
    }
  }
}
