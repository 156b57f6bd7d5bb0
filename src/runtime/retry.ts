import pRetry from "p-retry";
import type { Random } from "./cryptography.js";
import type { Timers } from "./time.js";

export interface RetryOptions {
  /** Tries in all, the first included; `Infinity` for as long as it takes. */
  readonly attempts: number;
  /** Milliseconds to wait after the failed try number `attempt` (from 1). Default: the next try follows at once. */
  readonly delay?: (attempt: number) => number;
  /** Errors that are worth another try. Default: every one, except a TypeError, which is a defect. */
  readonly retryOn?: (error: Error) => boolean;
  /** Called before each wait. */
  readonly onRetry?: (error: Error, attempt: number, delay: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Tries until it works. Rejects with the error of the last try, or the first that is not worth another.
 * @throws the signal's reason when `signal` is aborted before a try or while waiting.
 */
export async function retry<T>(
  timers: Timers,
  action: (attempt: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { signal } = options;
  signal?.throwIfAborted();
  try {
    const result = await action(1);
    signal?.throwIfAborted();
    return result;
  } catch (error) {
    return tryAgain(timers, action, options, error);
  }
}

/** Apart, because most first tries work: p-retry costs many times what one takes that does little. */
async function tryAgain<T>(
  timers: Timers,
  action: (attempt: number) => Promise<T>,
  { attempts, delay, retryOn, onRetry, signal }: RetryOptions,
  first: unknown,
): Promise<T> {
  // P-retry gets no signal: with one that is aborted it would not look at the first error, which may not be worth another try.
  return pRetry(
    async (attempt) => {
      if (attempt === 1) {
        throw first;
      }
      signal?.throwIfAborted();
      const result = await action(attempt);
      signal?.throwIfAborted();
      return result;
    },
    {
      retries: attempts - 1,
      // All waiting is done below by the timers' door; with zero delays p-retry starts no timer of its own.
      minTimeout: 0,
      maxTimeout: 0,
      // Only asked when there is a try left, unlike onFailedAttempt.
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

/** Delays that grow from `first` by `factor` (default 2) up to `most`, each shortened at random by up to `jitter` (0..1) of it. */
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
