import { SparseSet } from "./collections.js";

/** Returns a promise that never settles, for callers whose lifetime has ended. */
export function never<T>(): Promise<T> {
  return new Promise(() => {});
}

/**
 * The lifetime of an object that shares its process with others. After {@link kill}, nothing that the object awaits
 * settles any more, as if its process had died. Writes that have begun are completed.
 */
export class Lifetime {
  #alive = true;
  /** Created on first use: most of the thousands of lifetimes of a process never need a signal. */
  #end: AbortController | undefined;
  readonly #onKill = new Set<() => void>();
  /** Running work that cannot be interrupted. */
  readonly #underWay = new SparseSet<Promise<unknown>>();

  get alive(): boolean {
    return this.#alive;
  }

  /** Aborted when the lifetime ends. */
  get signal(): AbortSignal {
    if (this.#end === undefined) {
      this.#end = new AbortController();
      if (!this.#alive) {
        this.#end.abort(hasEnded());
      }
    }
    return this.#end.signal;
  }

  kill(): void {
    if (!this.alive) {
      return;
    }
    this.#alive = false;
    this.#end?.abort(hasEnded());
    for (const action of [...this.#onKill]) {
      action();
    }
    this.#onKill.clear();
  }

  /** Registers `action` to run on kill, unless {@link forget} removes it before. */
  onKill(action: () => void): void {
    this.#onKill.add(action);
  }

  forget(action: () => void): void {
    this.#onKill.delete(action);
  }

  /** Registers `stop` to run on kill. Returns a function that runs it earlier. */
  untilKill(stop: () => void): () => void {
    this.onKill(stop);
    return () => {
      this.forget(stop);
      stop();
    };
  }

  /** Settles as `work` does if it starts and ends within this lifetime; otherwise never settles. */
  async whileAlive<T>(work: () => T | Promise<T>): Promise<T> {
    if (!this.alive) {
      return never();
    }
    try {
      const result = await work();
      return this.alive ? result : await never();
    } catch (error) {
      if (this.alive) {
        throw error;
      }
      return never();
    }
  }

  /**
   * Like {@link whileAlive}, for work that accepts a signal. The caller's signal and the end of this lifetime abort it.
   */
  bounded<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.whileAlive(async () => {
      // Each call has its own signal, since Node warns about many listeners on one. AbortSignal.any would leak memory
      // per call on a long-lived signal.
      const either = new AbortController();
      const abort = () => either.abort(signal?.reason);
      if (signal?.aborted) {
        abort();
      }
      signal?.addEventListener("abort", abort, { once: true });
      const end = () => either.abort(hasEnded());
      this.onKill(end);
      try {
        return await work(either.signal);
      } finally {
        this.forget(end);
        signal?.removeEventListener("abort", abort);
      }
    });
  }

  /** Like {@link whileAlive}, for work that always runs to its end once started; {@link quiet} waits for it. */
  finished<T>(work: () => Promise<T>): Promise<T> {
    return this.whileAlive(async () => {
      const running = work();
      this.#underWay.add(running);
      try {
        return await running;
      } finally {
        this.#underWay.delete(running);
      }
    });
  }

  /** Resolves when all uninterruptible work has ended. */
  async quiet(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }
}

const hasEnded = (): Error => new Error("the lifetime of this operation has ended");

/** A stack of cleanup functions, run in reverse order at the end or when a later step fails. */
export class CleanupStack {
  readonly #closers: (() => void | Promise<void>)[] = [];

  add(close: () => void | Promise<void>): void {
    this.#closers.push(close);
  }

  /**
   * Runs all remaining functions once each, even if some of them fail.
   * @throws the first failure
   */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) {
      throw failures[0];
    }
  }
}
