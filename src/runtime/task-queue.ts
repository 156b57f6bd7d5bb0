import { AsyncResource } from "node:async_hooks";
import PQueue from "p-queue";
import type { CancelTimer, Timers } from "./time.js";

/** Runs tasks with limited concurrency. Waiting tasks start in the order of their arrival. */
export class TaskQueue {
  readonly #queue: PQueue;

  /** @param concurrency max number of tasks that run at the same time; 0 means unlimited. */
  constructor(concurrency: number) {
    this.#queue = new PQueue({ concurrency: concurrency === 0 ? Number.POSITIVE_INFINITY : concurrency });
  }

  /** The number of tasks that wait for a slot. */
  get waiting(): number {
    return this.#queue.size;
  }

  get running(): number {
    return this.#queue.pending;
  }

  /**
   * Resolves or rejects as the task does.
   * @throws the signal's reason when `signal` is aborted while the task waits for a slot.
   */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // A waiting task is started when another one ends. Bind it to the caller's async context.
    return this.#queue.add(AsyncResource.bind(task), signal ? { signal } : {});
  }

  /** Resolves when no task is running or waiting. */
  async idle(): Promise<void> {
    await this.#queue.onIdle();
  }
}

/**
 * Applies `task` to every item, at most `concurrency` at a time. Returns the results in the order of the items; rejects
 * with the first error.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  task: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const queue = new TaskQueue(concurrency);
  return Promise.all(items.map((item, index) => queue.run(() => task(item, index))));
}

/** Delivers the first item immediately and batches the items that follow shortly after, in order. */
export class Batcher<T> {
  readonly #timers: Pick<Timers, "after">;
  readonly #pause: number;
  readonly #hand: (all: readonly T[]) => void;
  #waiting: T[] = [];
  #cancelPause: CancelTimer | undefined;
  #cancelHaste: CancelTimer | undefined;

  /**
   * @param pause minimum time in milliseconds between two deliveries, unless {@link hasten} or {@link flush} is called
   */
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

  /** Delivers the waiting items at the end of this event-loop tick. */
  hasten(): void {
    if (this.#waiting.length === 0) {
      return;
    }
    this.#cancelHaste ??= this.#timers.after(0, () => this.flush());
  }

  /** Delivers the waiting items now, before anything that the caller sends next. */
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

/**
 * Returns a function that creates a value on the first call and returns it to all callers. After a failure the next
 * call tries again.
 */
export function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return async () => {
    const own = made ?? make();
    made = own;
    try {
      return await own;
    } catch (error) {
      // Another call may have started a new attempt in the meantime.
      made = made === own ? undefined : made;
      throw error;
    }
  };
}
