import { type HttpClient, HttpConnectFailure, type HttpResponse, HttpTimeout } from "../runtime/http.js";
import type { Timers } from "../runtime/timers.js";

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
