import type { CancelTimer, Clock, Timers } from "../runtime/time.js";
import { ConductorError } from "./errors.js";
import type { RequestText } from "./link.js";
import { type CallOptions, RPC_RESPONSE_TIMEOUT } from "./port.js";
import { decodeError, type Meta, type Outcome } from "./wire.js";

/**
 * Maximum bytes of parameters. The conductor closes a connection after a larger frame, and would again at each repetition.
 */
const LARGEST = 3.9 * 1024 * 1024;

interface Call {
  readonly method: string;
  /** JSON. */
  readonly params: string;
  readonly meta: Meta;
  /** Monotonic time of the timeout. */
  readonly deadline: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly cancelTimeout: CancelTimer;
  readonly signal: AbortSignal | undefined;
  readonly abort: () => void;
}

/**
 * Pending calls by number. They outlive a connection: sent again with the same number, they take effect once. Numbers
 * increase and are never reused within a boot.
 */
export class UnansweredCalls {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #calls = new Map<number, Call>();
  #lastId = 0;

  constructor({ clock, timers }: { readonly clock: Clock; readonly timers: Timers }) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** The highest number up to which all calls have ended: the conductor may delete its saved responses to them. */
  get acknowledged(): number {
    // A Map preserves the order of insertion, which is that of the numbers.
    const [oldest] = this.#calls.keys();
    return (oldest ?? this.#lastId + 1) - 1;
  }

  /**
   * Adds a call, passes its request to `send`, and settles with the response.
   * @throws {MessagingTimeout} there was no response in time.
   * @throws {InvalidParameters} the parameters are too large to be sent.
   * @throws the signal's reason when it is aborted.
   */
  add(
    call: { readonly method: string; readonly params: Readonly<Record<string, unknown>>; readonly meta: Meta },
    options: CallOptions,
    send: (request: RequestText) => void,
  ): Promise<unknown> {
    const { method, meta } = call;
    const { timeout = RPC_RESPONSE_TIMEOUT, signal } = options;
    if (signal?.aborted) {
      return Promise.reject(signal.reason);
    }
    const params = JSON.stringify(call.params);
    const bytes = Buffer.byteLength(params);
    if (bytes > LARGEST) {
      const text = `${method}: found parameters of ${bytes} bytes, expected at most ${LARGEST}; nothing was sent`;
      return Promise.reject(new ConductorError("InvalidParameters", text, { method }));
    }
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const expire = () => {
        const text = `the conductor did not respond to ${method} within ${timeout} ms`;
        this.#fail(id, new ConductorError("MessagingTimeout", text, { method }));
      };
      const abort = () => this.#fail(id, signal?.reason);
      signal?.addEventListener("abort", abort, { once: true });
      this.#calls.set(id, {
        method,
        params,
        meta,
        deadline: this.#clock.monotonic() + timeout,
        resolve,
        reject,
        cancelTimeout: this.#timers.after(timeout, expire),
        signal,
        abort,
      });
      send(this.#request(id));
    });
  }

  settle(id: number, outcome: Outcome): void {
    if ("error" in outcome) {
      this.#fail(id, decodeError(outcome.error));
    } else {
      this.#end(id)?.resolve(outcome.result);
    }
  }

  /** Returns all requests, oldest first, for sending on a new connection. */
  requests(): RequestText[] {
    return [...this.#calls.keys()].map((id) => this.#request(id));
  }

  /** Drops the calls of one boot of a host: they never settle and are not sent again. */
  dropAll({ host, boot }: Pick<Meta, "host" | "boot">): void {
    for (const [id, { meta }] of [...this.#calls]) {
      if (meta.host === host && meta.boot === boot) {
        this.#end(id);
      }
    }
  }

  failAll(error: Error): void {
    for (const id of [...this.#calls.keys()]) {
      this.#fail(id, error);
    }
  }

  #fail(id: number, error: unknown): void {
    this.#end(id)?.reject(error);
  }

  /** Removes the call, which the caller must settle. Returns undefined if it has already ended. */
  #end(id: number): Call | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.cancelTimeout();
    call?.signal?.removeEventListener("abort", call.abort);
    return call;
  }

  #request(id: number): RequestText {
    const { method, params, meta, deadline } = this.#calls.get(id) as Call;
    const ack = this.acknowledged;
    // Tells the other agent how long the caller still waits, so that it does not begin the work after that.
    const fullMeta =
      method === "agent_call"
        ? { ...meta, ack, timeout: Math.max(0, Math.round(deadline - this.#clock.monotonic())) }
        : { ...meta, ack };
    const text = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params},"meta":${JSON.stringify(fullMeta)}}`;
    return { method, text };
  }
}
