import type { CancelTimer, Timers } from "./timers.js";

/** Hands on what comes: the first at once, and what follows soon together, in its order. */
export class Batcher<T> {
  readonly #timers: Pick<Timers, "after">;
  readonly #pause: number;
  readonly #hand: (all: readonly T[]) => void;
  #waiting: T[] = [];
  #cancelPause: CancelTimer | undefined;
  #cancelHaste: CancelTimer | undefined;

  /** @param pause milliseconds between two hand-overs that nobody has asked for */
  constructor(timers: Pick<Timers, "after">, pause: number, hand: (all: readonly T[]) => void) {
    this.#timers = timers;
    this.#pause = pause;
    this.#hand = hand;
  }

  add(one: T): void {
    this.#waiting.push(one);
    if (this.#cancelPause === undefined) {
      this.#handOver();
    }
  }

  /** What waits does so no longer than until the end of this turn of the event loop. */
  hasten(): void {
    if (this.#waiting.length === 0) {
      return;
    }
    this.#cancelHaste ??= this.#timers.after(0, () => this.flush());
  }

  /** Hands on what waits: what comes next must not overtake it. */
  flush(): void {
    this.#cancelPause?.();
    this.#cancelPause = undefined;
    this.#cancelHaste?.();
    this.#cancelHaste = undefined;
    const all = this.#waiting;
    this.#waiting = [];
    if (all.length > 0) {
      this.#hand(all);
    }
  }

  #handOver(): void {
    this.flush();
    this.#cancelPause = this.#timers.after(this.#pause, () => {
      this.#cancelPause = undefined;
      if (this.#waiting.length > 0) {
        this.#handOver();
      }
    });
  }
}
