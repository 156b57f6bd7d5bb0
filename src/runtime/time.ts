/** Waiting. In tests the virtual implementation moves time instead of waiting for it. */
export interface Timers {
  /**
   * Resolves after `milliseconds`.
   * @throws the signal's reason when `signal` is aborted before that.
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls `action` once after `milliseconds`; returns what cancels it. Errors of `action` are the caller's to catch. */
  after(milliseconds: number, action: () => void): CancelTimer;
}

export type CancelTimer = () => void;

/** The time of day and a clock that never goes back. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. For measuring and for leases. */
  monotonic(): number;
}

/** Sleeps by a timer. @throws the signal's reason when it is aborted before that */
export async function sleepBy(after: Timers["after"], milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = after(milliseconds, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** What was waited for has not come in time; it may still go on. */
export class TookTooLong extends Error {
  override readonly name = "TookTooLong";
}

/**
 * The outcome of `work`, if it comes in time.
 * @param what was waited for, for the error: `the hypervisor`
 * @throws {TookTooLong} and the signal's reason
 */
export function within<T>(
  timers: Timers,
  milliseconds: number,
  what: string,
  work: Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    const cancel = timers.after(milliseconds, () =>
      reject(new TookTooLong(`${what} gave no answer in ${milliseconds / 1000} s`)),
    );
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true) {
      abort();
    }
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", abort);
    };
    work.then(resolve, reject).finally(end);
  });
}
