import { setTimeout as timer } from "node:timers/promises";
import { VirtualRandom } from "../../src/simulation/virtual-random.js";

/** One actor's draws. Each has a stream of its own, so that what one draws does not depend on when another did. */
export class Dice {
  readonly #seed: string;
  readonly #random: VirtualRandom;

  constructor(seed: string) {
    this.#seed = seed;
    this.#random = new VirtualRandom(seed);
  }

  /** The stream of an actor. */
  of(actor: string): Dice {
    return new Dice(`${this.#seed}/${actor}`);
  }

  chance(share: number): boolean {
    return this.#random.next() < share;
  }

  /** A whole number, both ends included. */
  between(low: number, high: number): number {
    return this.#random.integer(low, high);
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[this.#random.integer(0, from.length - 1)];
  }

  /** The heavier, the more often. */
  weighted<T extends { readonly weight: number }>(from: readonly T[]): T | undefined {
    let left = this.#random.next() * from.reduce((sum, { weight }) => sum + weight, 0);
    return from.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
  }

  /** Waits as long as was drawn, in milliseconds; no longer than until the signal. */
  async pause(low: number, high: number, until: AbortSignal): Promise<void> {
    await timer(this.between(low, high), undefined, { signal: until }).catch(() => undefined);
  }
}
