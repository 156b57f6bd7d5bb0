import { expect, it } from "vitest";
import { type HttpRetries, retryingHttp } from "../../../src/placement-client/retries.js";
import { HttpConnectFailure, type HttpResponse } from "../../../src/runtime/http.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

const NONE: HttpRetries = {
  connectRetries: 0,
  connectRetryDelay: null,
  statusCodeRetries: 0,
  statusCodeRetryDelay: null,
  retriableStatusCodes: ["503"],
};

/** Sends a request that gets these statuses in order; 0: the connection fails. */
async function ask(statuses: readonly number[], options: Partial<HttpRetries>) {
  const runtime = createVirtualRuntime();
  let requests = 0;
  const http = {
    close: async () => undefined,
    request: async ({ url }: { readonly url: string }): Promise<HttpResponse> => {
      const status = statuses[requests] ?? 200;
      requests += 1;
      if (status === 0) {
        throw new HttpConnectFailure(url, "ECONNREFUSED");
      }
      return { status, headers: {}, body: "" };
    },
  };
  const began = runtime.clock.monotonic();
  const pendingResponse = retryingHttp(http, runtime.timers, { ...NONE, ...options }).request({
    method: "PUT",
    url: "http://p",
  });
  const outcome = await runtime.runUntil(pendingResponse.catch((error: Error) => error.name));
  return {
    outcome: typeof outcome === "string" ? outcome : outcome.status,
    requests,
    took: runtime.clock.monotonic() - began,
  };
}

it.each<[readonly number[], Partial<HttpRetries>, object]>([
  [[0], {}, { outcome: "HttpConnectFailure", requests: 1, took: 0 }],
  [[503], {}, { outcome: 503, requests: 1, took: 0 }],
  [[0, 0, 0], { connectRetries: 3 }, { outcome: 200, requests: 4, took: 3_500 }],
  [[0, 0, 0], { connectRetries: 2, connectRetryDelay: 2 }, { outcome: "HttpConnectFailure", requests: 3, took: 4_000 }],
  [[503, 503], { statusCodeRetries: 2, statusCodeRetryDelay: 1.5 }, { outcome: 200, requests: 3, took: 3_000 }],
  [[503, 503], { statusCodeRetries: 1 }, { outcome: 503, requests: 2, took: 500 }],
  [[409, 503], { statusCodeRetries: 5 }, { outcome: 409, requests: 1, took: 0 }],
  [
    [502, 0, 429],
    { statusCodeRetries: 2, connectRetries: 1, retriableStatusCodes: ["502", "429"] },
    { outcome: 200, requests: 4 },
  ],
])("for the responses %j returns %j", async (statuses, options, outcome) => {
  expect(await ask(statuses, options)).toMatchObject(outcome);
});
