import { SparseMap } from "./collections.js";

/**
 * A lock that admits one task at a time, in the order of arrival. Not reentrant: a task that acquires it again
 * deadlocks.
 */
export class FairLock {
  readonly #waiting: (() => void)[] = [];
  #held = false;

  get held(): boolean {
    return this.#held;
  }

  /** The number of tasks waiting for the lock. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Runs the task when all tasks before it are done. Resolves or rejects as it does.
   * @throws the signal's reason when `signal` is aborted before the task started.
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
      // The lock stays locked and passes to the next task, so that no other task gets in first.
      next();
    } else {
      this.#held = false;
    }
  }
}

/** A {@link FairLock} per key. Unlocked keys take no memory. */
export class KeyedLock<K> {
  readonly #locks = new SparseMap<K, FairLock>();

  /** The number of keys that are locked. */
  get size(): number {
    return this.#locks.size;
  }

  isHeld(key: K): boolean {
    return this.#locks.has(key);
  }

  /** Like {@link FairLock.run}, among the tasks of the same key. */
  async run<T>(key: K, task: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    const lock = this.#locks.get(key) ?? new FairLock();
    this.#locks.set(key, lock);
    try {
      return await lock.run(task, signal);
    } finally {
      // Compared, because an aborted waiter may get here after other tasks created a new lock for the key.
      if (!lock.held && this.#locks.get(key) === lock) {
        this.#locks.delete(key);
      }
    }
  }
}
