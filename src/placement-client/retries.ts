import type { Random } from "../runtime/cryptography.js";
import { type HttpClient, HttpConnectFailure, type HttpResponse, HttpTimeout } from "../runtime/http.js";
import type { Timers } from "../runtime/time.js";

/** What an attempt answers when a conflict is worth another one. */
export const AGAIN = Symbol("again");

/** Writes of allocations end after this many tries (spec 5.5, V30). */
const MAX_TRIES = 4;

/** Tries up to four times, before try k (from 0) waiting uniform(0, 2k) seconds; undefined when all tries were in vain. */
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

/** keystoneauth's options of a service's section. */
export interface HttpRetries {
  /** How often a request is sent again that nothing answered. */
  readonly connectRetries: number;
  /** Seconds; null: half a second, doubled each time. */
  readonly connectRetryDelay: number | null;
  /** How often one that was answered with one of `retriableStatusCodes`. */
  readonly statusCodeRetries: number;
  readonly statusCodeRetryDelay: number | null;
  readonly retriableStatusCodes: readonly string[];
}

/** Milliseconds before the first retry, and at most, where the options say nothing. */
const FIRST_DELAY = 500;

const LONGEST_DELAY = 60_000;

/** Sends requests again, as often as the options say, with no regard to what they ask: so does nova-compute. */
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

/** @throws what no retry helps against */
function passing(error: unknown): HttpResponse | Error {
  if (error instanceof HttpConnectFailure || error instanceof HttpTimeout) {
    return error;
  }
  throw error;
}

/** Milliseconds before retry number `attempt`. */
function delay(attempt: number, seconds: number | null): number {
  return seconds === null ? Math.min(FIRST_DELAY * 2 ** (attempt - 1), LONGEST_DELAY) : seconds * 1000;
}
