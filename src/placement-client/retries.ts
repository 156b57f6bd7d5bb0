import type { Random } from "../runtime/cryptography.js";
import { type HttpClient, type HttpResponse, hasNoResponse } from "../runtime/http.js";
import type { Timers } from "../runtime/time.js";

/** The result of an attempt that should be repeated after a conflict. */
export const AGAIN = Symbol("again");

/** Max number of attempts for a write of allocations (spec 5.5, V30). */
const MAX_TRIES = 4;

/**
 * Makes up to four attempts. Before attempt k (from 0) it waits uniform(0, 2k) seconds. Returns undefined if all
 * attempts conflicted.
 */
export async function retryConflicts<T>(
  { timers, random }: { readonly timers: Pick<Timers, "sleep">; readonly random: Random },
  attempt: (tried: number) => Promise<T | typeof AGAIN>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    if (tried > 0) {
      await timers.sleep(random.next() * 2000 * tried, signal);
    }
    const result = await attempt(tried);
    if (result !== AGAIN) {
      return result;
    }
  }
  return undefined;
}

/** keystoneauth's retry options in the section of a service. */
export interface HttpRetries {
  /** Max number of retries of a request that got no response. */
  readonly connectRetries: number;
  /** In seconds; null: half a second, doubled for each retry. */
  readonly connectRetryDelay: number | null;
  /** Max number of retries of a request that got one of `retriableStatusCodes`. */
  readonly statusCodeRetries: number;
  readonly statusCodeRetryDelay: number | null;
  readonly retriableStatusCodes: readonly string[];
}

/** Milliseconds before the first retry, and the max, if no delay is configured. */
const FIRST_DELAY = 500;

const LONGEST_DELAY = 60_000;

/** Repeats failed requests as configured, even requests that are not idempotent, as nova-compute does. */
export function retryingHttp(http: HttpClient, timers: Timers, options: HttpRetries): HttpClient {
  const { connectRetries, connectRetryDelay, statusCodeRetries, statusCodeRetryDelay, retriableStatusCodes } = options;
  if (connectRetries === 0 && statusCodeRetries === 0) {
    return http;
  }
  return {
    request: async (request) => {
      let [unanswered, rejected] = [0, 0];
      for (;;) {
        const outcome = await http.request(request).catch((error: unknown) => passing(error));
        if (outcome instanceof Error) {
          if (unanswered === connectRetries) {
            throw outcome;
          }
          unanswered += 1;
          await timers.sleep(delay(unanswered, connectRetryDelay), request.signal);
        } else if (rejected < statusCodeRetries && retriableStatusCodes.includes(String(outcome.status))) {
          rejected += 1;
          await timers.sleep(delay(rejected, statusCodeRetryDelay), request.signal);
        } else {
          return outcome;
        }
      }
    },
    close: () => http.close(),
  };
}

/** @throws errors that a retry cannot resolve */
function passing(error: unknown): HttpResponse | Error {
  if (hasNoResponse(error)) {
    return error;
  }
  throw error;
}

/** Returns the milliseconds before retry number `attempt`. */
function delay(attempt: number, seconds: number | null): number {
  return seconds === null ? Math.min(FIRST_DELAY * 2 ** (attempt - 1), LONGEST_DELAY) : seconds * 1000;
}
