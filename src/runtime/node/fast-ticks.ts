/** Milliseconds of work on files in one turn of the event loop. */
const SLICE = 10;

/**
 * How long work on files may hold the event loop. What the kernel has in its memory takes less than to ask a thread for it, but a slow
 * disk must not hold the loop: only a slice of each of its turns goes by so.
 */
export class SyncTimeBudget {
  #spent = 0;
  #isCounting = false;

  /** Whether a thread has to be asked instead. */
  get isOver(): boolean {
    return this.#spent >= SLICE;
  }

  spend<T>(work: () => T): T {
    if (!this.#isCounting) {
      this.#isCounting = true;
      setImmediate(() => {
        this.#isCounting = false;
        this.#spent = 0;
      });
    }
    const began = performance.now();
    try {
      return work();
    } finally {
      this.#spent += performance.now() - began;
    }
  }
}
