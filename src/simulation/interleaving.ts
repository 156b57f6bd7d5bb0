import { VirtualRandom } from "./virtual-random.js";

export interface InterleavingOptions {
  /** The same seed gives the same choices. */
  readonly seed: string;
  /** Milliseconds that a door may take at most: an answer from a file, a message, the end of a wait. */
  readonly most: number;
}

/**
 * Decides what comes first of all that could: how long each door takes, and the order of what is due at one moment. A world
 * without one lets everything happen as soon, and in the order, in which it was asked for.
 */
export class Interleaving {
  readonly #random: VirtualRandom;
  readonly #most: number;

  constructor({ seed, most }: InterleavingOptions) {
    this.#random = new VirtualRandom(seed);
    this.#most = most;
  }

  /** Milliseconds. Most doors take none: what is rare must not hide what is common. */
  delay(): number {
    return this.#most > 0 && this.#random.next() < 0.25 ? this.#random.integer(1, this.#most) : 0;
  }

  /** Among the events of one moment the lower one comes first. */
  rank(): number {
    return this.#random.next();
  }
}
