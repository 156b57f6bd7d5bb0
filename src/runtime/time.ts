/** Timers. In tests the virtual implementation advances its clock instead of waiting. */
export interface Timers {
  /**
   * Resolves after `milliseconds`.
   * @throws the signal's reason when `signal` is aborted before that.
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls `action` once after `milliseconds`. Returns a cancel function. The caller must catch errors of `action`. */
  after(milliseconds: number, action: () => void): CancelTimer;
}

export type CancelTimer = () => void;

/** Wall-clock time and a monotonic clock. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. For durations and leases. */
  monotonic(): number;
}

/**
 * Implements `sleep` with a timer.
 * @throws the signal's reason when it is aborted before the time has passed
 */
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

/** An operation did not finish within its timeout. It may still be running. */
export class TookTooLong extends Error {
  override readonly name = "TookTooLong";
}

/**
 * Settles as `work` does, unless the timeout passes first.
 * @param what subject of the timeout error, such as `the hypervisor`
 * @throws {TookTooLong} after the timeout, or the signal's reason
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
      reject(new TookTooLong(`${what} did not respond within ${milliseconds / 1000} s`)),
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
