import type { Timers } from "./timers.js";

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
