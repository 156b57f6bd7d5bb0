/** Random numbers from a seed (mulberry32), so that a run can be repeated. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number of at least 0 and less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** Returns an integer of both limits or between. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** @param items not empty */
  pick<T>(items: readonly T[]): T {
    return items[this.integer(0, items.length - 1)] as T;
  }

  /** Picks by weights. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T {
    let rest = this.next() * items.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of items) {
      rest -= weight;
      if (rest < 0) {
        return item;
      }
    }
    return (items.at(-1) as readonly [number, T])[1];
  }
}
