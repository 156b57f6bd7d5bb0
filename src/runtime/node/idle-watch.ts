import type { Bytes } from "../transfers.js";

/** Ends a transfer whose other end neither takes nor gives anything; time that its own side takes does not count. */
export class IdleWatch {
  /** Why the transfer was ended from this side: the time is over, the caller wants it no more, or the body threw. */
  reason: unknown;
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #tooLong: () => Error;
  readonly #caller: AbortSignal | undefined;
  readonly #stop = () => this.#abort(this.#caller?.reason);
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, tooLong: () => Error, caller: AbortSignal | undefined) {
    this.#milliseconds = milliseconds;
    this.#tooLong = tooLong;
    this.#caller = caller;
    caller?.addEventListener("abort", this.#stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on the other end's time passes. */
  wait(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort(this.#tooLong()), this.#milliseconds);
  }

  /** The caller's own time. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.rest();
    this.#caller?.removeEventListener("abort", this.#stop);
  }

  /** The body that is sent. What it throws is the reason. */
  async *sent(body: Bytes): AsyncGenerator<Uint8Array> {
    try {
      this.rest();
      for await (const part of body) {
        this.wait();
        yield part;
        this.rest();
      }
    } catch (error) {
      this.reason ??= error;
      throw error;
    }
    this.wait();
  }

  /** The body that comes. Left early, the connection is cut. */
  async *received(body: Bytes): AsyncGenerator<Uint8Array> {
    this.rest();
    const parts = body[Symbol.asyncIterator]();
    let left = false;
    try {
      for (;;) {
        this.wait();
        const next = await parts.next();
        this.rest();
        if (next.done) {
          return;
        }
        left = true;
        yield next.value;
        left = false;
      }
    } finally {
      if (left) {
        this.#abort(new Error("the answer was not read to its end"));
        await parts.return?.();
      }
    }
  }

  #abort(reason: unknown): void {
    this.reason ??= reason;
    this.end();
    this.#controller.abort(reason);
  }
}
