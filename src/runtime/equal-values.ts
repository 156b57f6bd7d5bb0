/** More than the hosts of one process mostly have: an entry too few costs memory, and nothing else. */
const MAX_VALUES = 16;

/** Keeps values that are equal once. The hosts of a process mostly have equal ones, and there may be thousands of hosts. */
export class EqualValues<T> {
  /** By their JSON. */
  readonly #met = new Map<string, T>();

  /** An equal value that was met of late, or this one. Neither may change any more. */
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
