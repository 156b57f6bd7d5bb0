import { FairLock } from "./fair-lock.js";
import { SparseMap } from "./sparse.js";

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
