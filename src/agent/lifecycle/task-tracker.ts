import { SparseSet } from "../../runtime/sparse.js";

/** Counts what is under way, so that a shutdown can wait for it (spec 2.8). */
export class TaskTracker {
  readonly #running = new SparseSet<Promise<unknown>>();

  get size(): number {
    return this.#running.size;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    const running = task();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.allSettled(this.#running);
    }
  }
}
