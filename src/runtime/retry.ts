import pRetry from "p-retry";
import type { Random } from "./cryptography.js";
import type { Timers } from "./time.js";

export interface RetryOptions {
  /** Max number of attempts, including the first; `Infinity` for no limit. */
  readonly attempts: number;
  /**
   * Milliseconds to wait after failed attempt number `attempt` (from 1). Default: the next attempt follows immediately.
   */
  readonly delay?: (attempt: number) => number;
  /** Whether an error justifies another attempt. Default: every error except a TypeError, which is a defect. */
  readonly retryOn?: (error: Error) => boolean;
  /** Called before each wait. */
  readonly onRetry?: (error: Error, attempt: number, delay: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Calls `action` until it succeeds. Rejects with the error of the last attempt, or with the first error that does not
 * justify another.
 * @throws the signal's reason when `signal` is aborted before an attempt or while waiting.
 */
export async function retry<T>(
  timers: Timers,
  action: (attempt: number) => Promise<T>,
  { attempts, delay, retryOn, onRetry, signal }: RetryOptions,
): Promise<T> {
  signal?.throwIfAborted();
  // p-retry gets no signal: with an aborted one it would not check whether the first error justifies a retry.
  return pRetry(
    async (attempt) => {
      signal?.throwIfAborted();
      const result = await action(attempt);
      signal?.throwIfAborted();
      return result;
    },
    {
      retries: attempts - 1,
      // `timers` does all waiting below; with zero delays p-retry starts no timers of its own.
      minTimeout: 0,
      maxTimeout: 0,
      // Called only when an attempt is left, unlike onFailedAttempt.
      shouldRetry: async ({ error, attemptNumber }) => {
        if (retryOn && !retryOn(error)) {
          return false;
        }
        const milliseconds = delay?.(attemptNumber);
        onRetry?.(error, attemptNumber, milliseconds ?? 0);
        if (milliseconds !== undefined) {
          await timers.sleep(milliseconds, signal);
        }
        signal?.throwIfAborted();
        return true;
      },
    },
  );
}

/**
 * Returns delays that grow from `first` by `factor` (default 2) up to `most`. Each is shortened at random by up to
 * `jitter.share` (0..1) of it.
 */
export function backOff(options: {
  readonly first: number;
  readonly most: number;
  readonly factor?: number;
  readonly jitter?: { readonly random: Random; readonly share: number };
}): (attempt: number) => number {
  const { first, most, factor = 2, jitter } = options;
  return (attempt) => {
    const full = Math.min(most, first * factor ** (attempt - 1));
    return jitter ? Math.round(full * (1 - jitter.share * jitter.random.next())) : full;
  };
}
