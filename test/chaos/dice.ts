import { setTimeout as timer } from "node:timers/promises";
import { VirtualRandom } from "../../src/simulation/virtual-random.js";

/** An actor's random numbers. Each actor has its own stream, so that draws do not depend on other actors' timing. */
export class Dice {
  readonly #seed: string;
  readonly #random: VirtualRandom;

  constructor(seed: string) {
    this.#seed = seed;
    this.#random = new VirtualRandom(seed);
  }

  /** Creates an actor's stream. */
  of(actor: string): Dice {
    return new Dice(`${this.#seed}/${actor}`);
  }

  chance(share: number): boolean {
    return this.#random.next() < share;
  }

  /** Returns an integer between both bounds, inclusive. */
  between(low: number, high: number): number {
    return this.#random.integer(low, high);
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[this.#random.integer(0, from.length - 1)];
  }

  /** Selects an item with a probability proportional to its weight. */
  weighted<T extends { readonly weight: number }>(from: readonly T[]): T | undefined {
    let left = this.#random.next() * from.reduce((sum, { weight }) => sum + weight, 0);
    return from.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
  }

  /** Waits a random number of milliseconds, or until the signal. */
  async pause(low: number, high: number, until: AbortSignal): Promise<void> {
    await timer(this.between(low, high), undefined, { signal: until }).catch(() => undefined);
  }
}
