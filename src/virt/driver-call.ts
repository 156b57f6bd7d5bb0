import { SparseMap } from "../runtime/collections.js";
import type { LogFields, Logger } from "../runtime/runtime.js";
import type { CancelTimer, Clock, Timers } from "../runtime/time.js";
import type { GuestPorts } from "./context.js";
import { asDriverError, textOf } from "./driver-error.js";
import { DRIVER_METHODS, type DriverMethod } from "./driver-methods.js";
import { VirtDriverMisbehaved, VirtDriverTimeout, VirtError } from "./errors.js";
import type { CallOptions } from "./types.js";

interface Wait {
  /** Milliseconds; 0: no limit. */
  readonly limit: number;
  /** Is called every 10 s with the elapsed milliseconds. */
  readonly onProgress: (passed: number) => void;
  readonly tooLong: () => void;
}

/** Description of a pending driver call. */
interface Awaited {
  readonly driver: string;
  readonly method: string;
  readonly instanceUuid?: string | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds; 0: no limit. */
  readonly limit: number;
}

/** Interval of the progress reports, in milliseconds. */
const PERIOD = 10_000;

/** The API request on whose behalf the agent acts for each instance; the newest if there are several. */
class RequestsUnderWay {
  readonly #byInstance = new SparseMap<string, string[]>();

  /** Associates the instance with the request until `work` settles. */
  async during<T>(instanceUuid: string, requestId: string, work: () => Promise<T>): Promise<T> {
    const requests = this.#byInstance.get(instanceUuid) ?? [];
    this.#byInstance.set(instanceUuid, [...requests, requestId]);
    try {
      return await work();
    } finally {
      const left = [...(this.#byInstance.get(instanceUuid) ?? [])];
      left.splice(left.lastIndexOf(requestId), 1);
      if (left.length > 0) {
        this.#byInstance.set(instanceUuid, left);
      } else {
        this.#byInstance.delete(instanceUuid);
      }
    }
  }

  of(instanceUuid: string | undefined): string | undefined {
    return instanceUuid === undefined ? undefined : this.#byInstance.get(instanceUuid)?.at(-1);
  }
}

/** Milliseconds that a driver has to settle after its signal was aborted. */
export const DEFAULT_GRACE = 5_000;

/** Milliseconds that a driver's `create` may take. */
export const CREATE_TIMEOUT = 60_000;

/** Result of a driver call, for metrics. `refused`: the call was not made, since the permit threw. */
export type DriverOutcome = "success" | "error" | "timeout" | "misbehaved" | "aborted" | "refused";

export interface DriverCallOptions {
  /** Milliseconds by method, instead of the defaults in {@link DRIVER_METHODS}; 0: no limit. */
  readonly timeouts?: Partial<Readonly<Record<DriverMethod, number>>>;
  /** Milliseconds that the definition's `create` may take; 0: no limit. Default {@link CREATE_TIMEOUT}. */
  readonly createTimeout?: number;
  /** Milliseconds that a driver has to settle after its signal was aborted; default {@link DEFAULT_GRACE}. */
  readonly grace?: number;
  /** Is called before each method that changes guests; throws if the agent does not own the host lease. */
  readonly permit?: (method: DriverMethod, instanceUuid: string | undefined) => void | Promise<void>;
  /** Returns the epoch of the host lease, before each call; null if there is no lease. */
  readonly epoch?: () => number | null;
  /** Fault points within the call's timeout: an error replaces the driver's call, a delay counts as the driver's. */
  readonly point?: (method: DriverMethod, when: "before" | "after", signal: AbortSignal) => void | Promise<void>;
  /** Receives the outcome of each call, its duration, and the uuid of its guest, if any. */
  readonly observe?: (
    method: DriverMethod,
    milliseconds: number,
    outcome: DriverOutcome,
    instanceUuid: string | undefined,
  ) => void;
}

export interface DriverCallDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly ports?: GuestPorts;
}

/** A call of a driver's method, with the check of its result. */
export interface DriverCall<R> {
  readonly method: DriverMethod;
  readonly instanceUuid?: string | undefined;
  /** The API request on whose behalf the call is made; undefined for calls of the agent itself. */
  readonly requestId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly invoke: (signal: AbortSignal) => unknown;
  /** @throws {VirtDriverMisbehaved} */
  readonly check: (value: unknown) => R;
}

/** Makes the calls of one driver, with permit, fault points, timeout, normalised errors, checked results and metrics. */
export class DriverCaller {
  readonly #driver: string;
  readonly #deps: DriverCallDeps;
  readonly #options: DriverCallOptions;
  /** Pending calls, with their start on the monotonic clock. */
  readonly #calls = new SparseMap<DriverCall<unknown>, number>();
  readonly requests = new RequestsUnderWay();

  constructor(driver: string, deps: DriverCallDeps, options: DriverCallOptions) {
    this.#driver = driver;
    this.#deps = deps;
    this.#options = options;
  }

  /** Returns the options that every call gets: the API request and the epoch of the host lease. */
  behalfOf(instanceUuid: string | undefined): Pick<CallOptions, "requestId" | "epoch"> {
    const requestId = this.requests.of(instanceUuid);
    const epoch = this.#options.epoch?.() ?? null;
    return { ...(requestId === undefined ? {} : { requestId }), ...(epoch === null ? {} : { epoch }) };
  }

  /**
   * @throws the driver's error, {@link VirtDriverMisbehaved}, {@link VirtDriverTimeout}, the reason of the caller's signal,
   * or an error of `permit` or `point`.
   */
  async call<R>(call: DriverCall<R>): Promise<R> {
    const { method, signal } = call;
    const started = this.#deps.clock.monotonic();
    let outcome: DriverOutcome = "refused";
    try {
      signal?.throwIfAborted();
      if (DRIVER_METHODS[method].changesGuests) {
        await this.#options.permit?.(method, call.instanceUuid);
      }
      outcome = "error";
      const result = call.check(await this.#runTracked(call));
      outcome = "success";
      return result;
    } catch (error) {
      if (error instanceof VirtDriverTimeout) {
        outcome = "timeout";
      } else if (error instanceof VirtDriverMisbehaved) {
        outcome = "misbehaved";
      } else if (signal?.aborted && error === signal.reason) {
        outcome = "aborted";
      } else if (outcome === "error" && !(error instanceof VirtError)) {
        this.#logForeignError(call, error);
      }
      throw error;
    } finally {
      this.#observe(call, this.#deps.clock.monotonic() - started, outcome);
    }
  }

  /** Descriptions of the pending calls. */
  get waitedFor(): ReadonlyMap<object, string> {
    const now = this.#deps.clock.monotonic();
    return new Map([...this.#calls].map(([call, began]) => [call, waitText(this.#awaited(call), now - began)]));
  }

  async #runTracked<R>(call: DriverCall<R>): Promise<unknown> {
    this.#calls.set(call, this.#deps.clock.monotonic());
    try {
      return await this.#bounded(call);
    } finally {
      this.#calls.delete(call);
    }
  }

  #awaited({ method, instanceUuid, requestId }: DriverCall<unknown>): Awaited {
    const limit = this.#options.timeouts?.[method] ?? DRIVER_METHODS[method].timeout;
    return { driver: this.#driver, method, instanceUuid, requestId, limit };
  }

  /** Runs the driver's method until it settles, or until its signal was aborted and the grace period is over. */
  #bounded<R>(call: DriverCall<R>): Promise<unknown> {
    const { method, signal, invoke } = call;
    // The caller may have aborted the signal while the permit was pending.
    signal?.throwIfAborted();
    const { timers } = this.#deps;
    const awaited = this.#awaited(call);
    const { limit } = awaited;
    const controller = new AbortController();
    let settled = false;
    let abandoned = false;
    return new Promise((resolve, reject) => {
      let cancelGrace: () => void = () => {};
      const stop = (reason: Error) => {
        if (controller.signal.aborted || settled) {
          return;
        }
        controller.abort(reason);
        cancelGrace = timers.after(this.#options.grace ?? DEFAULT_GRACE, () => {
          abandoned = true;
          finish(() => reject(reason));
        });
      };
      const stopForCaller = () => stop(signal?.reason);
      const cancelTimeout = waitFor(timers, {
        limit,
        onProgress: (passed) => this.#deps.logger.info(`waiting for ${waitText(awaited, passed)}`, this.#fields(call)),
        tooLong: () => stop(new VirtDriverTimeout(this.#driver, method, limit)),
      });
      const finish = (settle: () => void) => {
        if (settled) {
          return;
        }
        settled = true;
        cancelTimeout();
        cancelGrace();
        signal?.removeEventListener("abort", stopForCaller);
        settle();
      };
      signal?.addEventListener("abort", stopForCaller, { once: true });
      this.#invoke(method, invoke, controller.signal).then(
        (value) => {
          if (abandoned) {
            this.#logLateResult(call, "succeeded");
          }
          finish(() => resolve(value));
        },
        (error: unknown) => {
          if (abandoned) {
            this.#logLateResult(call, "failed", error);
          }
          // A driver that observes its signal rejects with the reason, or with an error of its own caused by it.
          finish(() => reject(controller.signal.aborted ? controller.signal.reason : error));
        },
      );
    });
  }

  async #invoke(method: DriverMethod, invoke: (signal: AbortSignal) => unknown, signal: AbortSignal): Promise<unknown> {
    const { point } = this.#options;
    try {
      await point?.(method, "before", signal);
      const value = await invoke(signal);
      await point?.(method, "after", signal);
      return value;
    } catch (thrown) {
      throw asDriverError(thrown, this.#driver, method);
    }
  }

  /**
   * Logs the method with the error: the operation that fails may log only the error, which does not help the driver's
   * author.
   */
  #logForeignError(call: DriverCall<unknown>, error: unknown): void {
    this.#deps.logger.warn(
      `driver ${this.#driver}: ${call.method} threw an error that the contract does not have: ${textOf(error)}`,
      this.#fields(call),
    );
  }

  #logLateResult(call: DriverCall<unknown>, how: string, error?: unknown): void {
    this.#deps.logger.warn(
      `driver ${this.#driver}: ${call.method} ${how} after it was abandoned; its result is dropped`,
      { ...this.#fields(call), ...(error === undefined ? {} : { err: error }) },
    );
  }

  #fields({ method, instanceUuid, requestId }: DriverCall<unknown>): LogFields {
    return {
      driver: this.#driver,
      method,
      ...(instanceUuid === undefined ? {} : { instance: instanceUuid }),
      ...(requestId === undefined ? {} : { request_id: requestId }),
    };
  }

  #observe(
    { method, instanceUuid }: Pick<DriverCall<unknown>, "method" | "instanceUuid">,
    milliseconds: number,
    outcome: DriverOutcome,
  ): void {
    try {
      this.#options.observe?.(method, milliseconds, outcome, instanceUuid);
    } catch (error) {
      this.#deps.logger.error("the observer of driver calls failed", { method, err: error });
    }
  }
}

/** Reports progress until the limit is reached. @returns a function that ends the watch */
export function waitFor(timers: Timers, { limit, onProgress, tooLong }: Wait): CancelTimer {
  let cancel: CancelTimer = () => {};
  const wait = (passed: number): void => {
    const step = limit === 0 ? PERIOD : Math.min(PERIOD, limit - passed);
    cancel = timers.after(step, () => {
      if (passed + step === limit) {
        tooLong();
        return;
      }
      onProgress(passed + step);
      wait(passed + step);
    });
  };
  wait(0);
  return () => cancel();
}

/** Returns, for example, `spawn of driver mine, for instance …, on behalf of req-…, for 20 s now, at most 3600 s`. */
export function waitText({ driver, method, instanceUuid, requestId, limit }: Awaited, passed: number): string {
  return [
    `${method} of driver ${driver}`,
    ...(instanceUuid === undefined ? [] : [`for instance ${instanceUuid}`]),
    ...(requestId === undefined ? [] : [`on behalf of ${requestId}`]),
    `for ${Math.round(passed / 1000)} s now`,
    limit === 0 ? "without a limit" : `at most ${limit / 1000} s`,
  ].join(", ");
}
