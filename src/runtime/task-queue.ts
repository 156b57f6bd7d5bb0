import { AsyncResource } from "node:async_hooks";
import PQueue from "p-queue";
import type { CancelTimer, Timers } from "./time.js";

/** Runs tasks concurrently with a bound; a task that must wait is started in the order it came. */
export class TaskQueue {
  readonly #concurrency: number;
  /** Made with the first task: most hosts of a process never have one. */
  #queue: PQueue | undefined;

  /** @param concurrency tasks that run at a time; 0 means unlimited. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency === 0 ? Number.POSITIVE_INFINITY : concurrency;
  }

  /** Tasks that wait for their turn. */
  get waiting(): number {
    return this.#queue?.size ?? 0;
  }

  get running(): number {
    return this.#queue?.pending ?? 0;
  }

  /**
   * Resolves or rejects as the task does.
   * @throws the signal's reason when `signal` is aborted while the task waits for its turn.
   */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // A task that waits is started by the end of another one; it still belongs to what asked for it.
    this.#queue ??= new PQueue({ concurrency: this.#concurrency });
    return this.#queue.add(AsyncResource.bind(task), signal ? { signal } : {});
  }

  /** Resolves when nothing runs and nothing waits. */
  async idle(): Promise<void> {
    await this.#queue?.onIdle();
  }
}

/** Applies `task` to every item, at most `concurrency` at a time; results in the order of the items. The first error wins. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  task: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const queue = new TaskQueue(concurrency);
  return Promise.all(items.map((item, index) => queue.run(() => task(item, index))));
}

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

/** Makes something for the first who asks, and gives it to all; what could not be made is made again for the next one who asks. */
export function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return async () => {
    const own = made ?? make();
    made = own;
    try {
      return await own;
    } catch (error) {
      // Another may have begun anew meanwhile.
      made = made === own ? undefined : made;
      throw error;
    }
  };
}
