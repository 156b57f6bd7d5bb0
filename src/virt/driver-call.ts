import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import type { Timers } from "../runtime/timers.js";
import { asDriverError } from "./driver-error.js";
import { DRIVER_METHODS, type DriverMethod } from "./driver-methods.js";
import { VirtDriverMisbehaved, VirtDriverTimeout } from "./errors.js";
import { RequestsUnderWay } from "./requests-under-way.js";
import type { CallOptions } from "./types.js";

/** Milliseconds that a driver has to settle after its signal was aborted. */
export const DEFAULT_GRACE = 5_000;

/** How a call of a driver ended, for metrics. `refused`: never made, the permit threw. */
export type DriverOutcome = "success" | "error" | "timeout" | "misbehaved" | "aborted" | "refused";

export interface DriverCallOptions {
  /** Milliseconds by method, instead of the defaults in {@link DRIVER_METHODS}. */
  readonly timeouts?: Partial<Readonly<Record<DriverMethod, number>>>;
  /** Milliseconds that a driver has to settle after its signal was aborted; default {@link DEFAULT_GRACE}. */
  readonly grace?: number;
  /** Called before each method that changes guests; throws when the host lease is not held. */
  readonly permit?: (method: DriverMethod, instanceUuid: string | undefined) => void | Promise<void>;
  /** The epoch of the host's lease; null: there is none. Asked before each call. */
  readonly epoch?: () => number | null;
  /** Fault points, within the call's time-out: an error takes the driver's place, waiting is the driver's delay. */
  readonly point?: (method: DriverMethod, when: "before" | "after", signal: AbortSignal) => void | Promise<void>;
  /** Hears how each call ended, after how many milliseconds, and which guest it was about, if any. */
  readonly observe?: (
    method: DriverMethod,
    milliseconds: number,
    outcome: DriverOutcome,
    instanceUuid: string | undefined,
  ) => void;
}

export interface DriverCallDoors {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** One call: the author's method, and the check of what it returned. */
export interface DriverCall<R> {
  readonly method: DriverMethod;
  readonly instanceUuid?: string | undefined;
  /** The request that the call is made for; undefined: the agent calls by itself. */
  readonly requestId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly invoke: (signal: AbortSignal) => unknown;
  /** @throws {VirtDriverMisbehaved} */
  readonly check: (value: unknown) => R;
}

/** Makes calls of one driver: permit, fault points, time-out, normal errors, checked results, metrics. */
export class DriverCaller {
  readonly #driver: string;
  readonly #doors: DriverCallDoors;
  readonly #options: DriverCallOptions;
  readonly requests = new RequestsUnderWay();

  constructor(driver: string, doors: DriverCallDoors, options: DriverCallOptions) {
    this.#driver = driver;
    this.#doors = doors;
    this.#options = options;
  }

  /** What every call's options say besides: for whom, and under which lease. */
  behalfOf(instanceUuid: string | undefined): Pick<CallOptions, "requestId" | "epoch"> {
    const requestId = this.requests.of(instanceUuid);
    const epoch = this.#options.epoch?.() ?? null;
    return { ...(requestId === undefined ? {} : { requestId }), ...(epoch === null ? {} : { epoch }) };
  }

  /**
   * @throws what the driver throws, {@link VirtDriverMisbehaved}, {@link VirtDriverTimeout}, the reason of the caller's
   * signal, or what `permit` and `point` throw.
   */
  async call<R>(call: DriverCall<R>): Promise<R> {
    const { method, signal } = call;
    const started = this.#doors.clock.monotonic();
    let outcome: DriverOutcome = "refused";
    try {
      signal?.throwIfAborted();
      if (DRIVER_METHODS[method].changesGuests) {
        await this.#options.permit?.(method, call.instanceUuid);
      }
      outcome = "error";
      const result = call.check(await this.#bounded(call));
      outcome = "success";
      return result;
    } catch (error) {
      if (error instanceof VirtDriverTimeout) {
        outcome = "timeout";
      } else if (error instanceof VirtDriverMisbehaved) {
        outcome = "misbehaved";
      } else if (signal?.aborted && error === signal.reason) {
        outcome = "aborted";
      }
      throw error;
    } finally {
      this.#observe(call, this.#doors.clock.monotonic() - started, outcome);
    }
  }

  /** Runs the author's method until it settles, or until it was told to stop and the grace is over. */
  async #bounded<R>(call: DriverCall<R>): Promise<unknown> {
    const { method, signal, invoke } = call;
    // The caller may have aborted it while it waited for the permit.
    signal?.throwIfAborted();
    const { timers } = this.#doors;
    const timeout = this.#options.timeouts?.[method] ?? DRIVER_METHODS[method].timeout;
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
      const cancelTimeout = timers.after(timeout, () => stop(new VirtDriverTimeout(this.#driver, method, timeout)));
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
      this.#invoke(method, () => this.#withPoints(method, invoke, controller.signal)).then(
        (value) => {
          if (abandoned) {
            this.#tellLate(call, "succeeded");
          }
          finish(() => resolve(value));
        },
        (error: unknown) => {
          if (abandoned) {
            this.#tellLate(call, "failed", error);
          }
          // A driver that heeds its signal fails with the reason, or with an error of its own that came of it.
          finish(() => reject(controller.signal.aborted ? controller.signal.reason : error));
        },
      );
    });
  }

  async #invoke(method: DriverMethod, invoke: () => unknown): Promise<unknown> {
    try {
      return await invoke();
    } catch (thrown) {
      throw asDriverError(thrown, this.#driver, method);
    }
  }

  async #withPoints(
    method: DriverMethod,
    invoke: (signal: AbortSignal) => unknown,
    signal: AbortSignal,
  ): Promise<unknown> {
    await this.#options.point?.(method, "before", signal);
    const value = await invoke(signal);
    await this.#options.point?.(method, "after", signal);
    return value;
  }

  #tellLate(
    { method, instanceUuid, requestId }: Pick<DriverCall<unknown>, "method" | "instanceUuid" | "requestId">,
    how: string,
    error?: unknown,
  ) {
    this.#doors.logger.warn(
      `driver ${this.#driver}: ${method} ${how} after it had been given up; its result is dropped`,
      {
        driver: this.#driver,
        method,
        ...(instanceUuid === undefined ? {} : { instance: instanceUuid }),
        ...(requestId === undefined ? {} : { request_id: requestId }),
        ...(error === undefined ? {} : { err: error }),
      },
    );
  }

  #observe(
    { method, instanceUuid }: Pick<DriverCall<unknown>, "method" | "instanceUuid">,
    milliseconds: number,
    outcome: DriverOutcome,
  ): void {
    try {
      this.#options.observe?.(method, milliseconds, outcome, instanceUuid);
    } catch (error) {
      this.#doors.logger.error("the observer of driver calls failed", { method, err: error });
    }
  }
}
