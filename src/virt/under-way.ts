import type { Timers } from "../runtime/time.js";
import { DEFAULT_GRACE } from "./driver-call.js";

/** How a driver is told to stop, and waited for. */
interface Stopping {
  readonly stop: AbortController;
  readonly timers: Timers;
}

/** A call of a driver that something else of the driver's can fail: it is told to stop, and given up if it goes on. */
export class UnderWay {
  readonly #stopping: Stopping | undefined;
  #failure: Error | undefined;
  #giveUp: (reason: Error) => void = () => {};
  #cancel = () => {};

  /** @param stopping left out: it cannot be told, and is given up at once */
  constructor(stopping?: Stopping) {
    this.#stopping = stopping;
  }

  /** The first reason counts. */
  fail(reason: Error): void {
    if (this.#failure !== undefined) {
      return;
    }
    this.#failure = reason;
    if (this.#stopping === undefined) {
      this.#giveUp(reason);
      return;
    }
    const { stop, timers } = this.#stopping;
    this.#cancel = timers.after(DEFAULT_GRACE, () => this.#giveUp(reason));
    stop.abort(reason);
  }

  /** The answer, unless the call has failed meanwhile. @param end is called when it has settled */
  until<T>(promise: PromiseLike<T>, end: () => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#giveUp = (reason) => {
        end();
        reject(reason);
      };
      if (this.#failure !== undefined && this.#stopping === undefined) {
        this.#giveUp(this.#failure);
      }
      const settle = (settled: () => void) => {
        this.#cancel();
        end();
        if (this.#failure === undefined) {
          settled();
        } else {
          reject(this.#failure);
        }
      };
      promise.then(
        (value) => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
