import { SparseSet } from "./collections.js";

/** A promise that never settles: what somebody who is dead waits for. */
export function never<T>(): Promise<T> {
  return new Promise(() => {});
}

/**
 * One life of something that shares its process with others. Killed, it gets nothing any more from what it waits for, as if its
 * process had died; what it had begun to write is written first.
 */
export class Life {
  #alive = true;
  /** Made when somebody asks for its signal: most lives share their process with thousands that nobody asks. */
  #end: AbortController | undefined;
  readonly #onKill = new Set<() => void>();
  /** Work that cannot be cut in its middle. */
  readonly #underWay = new SparseSet<Promise<unknown>>();

  get alive(): boolean {
    return this.#alive;
  }

  /** Aborted by the end. */
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

  /** Calls `action` at the end, unless it is forgotten. */
  onKill(action: () => void): void {
    this.#onKill.add(action);
  }

  forget(action: () => void): void {
    this.#onKill.delete(action);
  }

  /** Has the end call `stop`; returns what calls it before that. */
  untilKill(stop: () => void): () => void {
    this.onKill(stop);
    return () => {
      this.forget(stop);
      stop();
    };
  }

  /** The outcome of `work` if it begins and ends within this life; otherwise a promise that never settles. */
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

  /** As {@link whileAlive}, for work that heeds a signal: the caller's, if it has one, and the end of this life abort it. */
  bounded<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.whileAlive(async () => {
      // Each work has a signal of its own: of one that many listen to, Node warns. Not AbortSignal.any, of which a signal that
      // lives long keeps something for each request.
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

  /** As {@link whileAlive}, for work that goes on to its end once it has begun; {@link quiet} waits for that. */
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

  /** Resolves when nothing of a life that has ended is under way any more. */
  async quiet(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }
}

const hasEnded = (): Error => new Error("the life that this was for has ended");

/** What was opened one after the other, to be closed in the opposite order: at the end, and when a later step fails. */
export class CleanupStack {
  readonly #closers: (() => void | Promise<void>)[] = [];

  add(close: () => void | Promise<void>): void {
    this.#closers.push(close);
  }

  /** Closes what is still open; each once, and each of them also when another one fails. @throws the first failure */
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
