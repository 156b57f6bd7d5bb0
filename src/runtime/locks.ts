import { SparseMap } from "./collections.js";

/** A lock that lets one task in at a time, in the order they came. Not reentrant: a task that asks again waits for itself. */
export class FairLock {
  readonly #waiting: (() => void)[] = [];
  #held = false;

  get held(): boolean {
    return this.#held;
  }

  /** Tasks that wait to get in. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Runs the task when everyone before it is done; resolves or rejects as it does.
   * @throws the signal's reason when `signal` is aborted before the task got in.
   */
  async run<T>(task: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await task();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (!this.#held) {
      this.#held = true;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const abort = () => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        reject(signal?.reason);
      };
      const admit = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#waiting.push(admit);
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) {
      // The lock stays held: it passes to the next task, so that no other can overtake it.
      next();
    } else {
      this.#held = false;
    }
  }
}

/** A {@link FairLock} per key. Keys that no task holds take no memory. */
export class KeyedLock<K> {
  readonly #locks = new SparseMap<K, FairLock>();

  /** Keys that are held now. */
  get size(): number {
    return this.#locks.size;
  }

  isHeld(key: K): boolean {
    return this.#locks.has(key);
  }

  /** As {@link FairLock.run}, among the tasks of the same key. */
  async run<T>(key: K, task: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    const lock = this.#locks.get(key) ?? new FairLock();
    this.#locks.set(key, lock);
    try {
      return await lock.run(task, signal);
    } finally {
      // Compared, because a waiter that gave up may come here after others made a new lock for the key.
      if (!lock.held && this.#locks.get(key) === lock) {
        this.#locks.delete(key);
      }
    }
  }
}
