import type { Counter, Histogram } from "prom-client";
import { SERVICE_NAMES, serviceNameOf } from "../request-log/service-names.js";
import type { RequestListener } from "../request-log/watched-requests.js";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const CODES = ["2xx", "3xx", "4xx", "5xx"];

/** What no service takes, and methods that nobody has heard of: the number of series is bounded. */
const OTHER = "other";

/** Counts requests by service, method and class of status; every series is there from the start, with 0. */
export function requestMetrics(
  requests: Counter<"service" | "method" | "code">,
  durations: Histogram<"service">,
): RequestListener {
  for (const service of [...Object.values(SERVICE_NAMES), OTHER]) {
    durations.zero({ service });
    for (const method of [...METHODS, OTHER]) {
      for (const code of CODES) {
        requests.inc({ service, method, code }, 0);
      }
    }
  }
  return ({ mount, request, response, milliseconds }) => {
    const service = serviceNameOf(mount) ?? OTHER;
    const method = METHODS.includes(request.method) ? request.method : OTHER;
    requests.inc({ service, method, code: `${Math.floor(response.status / 100)}xx` });
    if (milliseconds !== null) {
      durations.observe({ service }, milliseconds / 1000);
    }
  };
}
