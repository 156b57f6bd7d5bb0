import { expect, test } from "vitest";
import { EventLoopTicks } from "../../../../src/control-plane/event-loop.js";
import { conflict, HttpError } from "../../../../src/control-plane/http/http-error.js";
import { jsonText } from "../../../../src/control-plane/http/json.js";
import { serve } from "../../../../src/control-plane/http/serve.js";
import type { ServiceRequest, ServiceResponse } from "../../../../src/runtime/http-server.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const runtime = createVirtualRuntime();

interface TestRoute {
  readonly method: string;
  readonly path: string;
  readonly handle: () => ServiceResponse | Promise<ServiceResponse>;
}

const OK: ServiceResponse = { status: 200, headers: { "content-type": "text/plain" }, body: "ok" };

const service = serve<TestRoute, { path: string; headers: Record<string, string> }>({
  random: runtime.random,
  routes: [
    { method: "GET", path: "/now", handle: () => OK },
    { method: "GET", path: "/later", handle: async () => OK },
    {
      method: "GET",
      path: "/throws",
      handle: () => {
        throw new Error("at once");
      },
    },
    { method: "GET", path: "/conflict", handle: () => Promise.reject(conflict("in use")) },
    { method: "GET", path: "/rejects", handle: () => Promise.reject(new Error("later")) },
  ],
  headers: (requestId) => ({ "x-openstack-request-id": requestId }),
  admit: ({ path }) => ({ path, headers: { "x-version": "1" } }),
  unrouted: ({ kind }) => new HttpError(kind === "unknown" ? 404 : 405, "", { headers: { "x-kind": kind } }),
  handle: (route) => route.handle(),
  render: ({ status, message }) => ({ status, headers: {}, body: message }),
  toHttpError: (error) => new HttpError(500, error instanceof Error ? error.message : ""),
});

function ask(path: string, method = "GET") {
  const request: ServiceRequest = { method, path, query: "", headers: {}, body: "", baseUrl: "http://x" };
  return service(request);
}

test("a synchronous route gets a synchronous response, with the headers of the version and of every response", () => {
  const response = ask("/now");
  expect(response).not.toBeInstanceOf(Promise);
  expect(response).toMatchObject({ status: 200, body: "ok" });
  expect(Object.keys((response as ServiceResponse).headers)).toEqual([
    "content-type",
    "x-version",
    "x-openstack-request-id",
  ]);
});

test("a thrown error and a rejected promise get the same response", async () => {
  expect(ask("/throws")).toMatchObject({ status: 500, body: "at once" });
  expect(await ask("/rejects")).toMatchObject({ status: 500, body: "later" });
  expect(await ask("/conflict")).toMatchObject({ status: 409, body: "in use" });
  expect(await ask("/later")).toMatchObject({ status: 200, body: "ok" });
});

test("an unknown path and a wrong method get different responses", () => {
  expect(ask("/nowhere")).toEqual({
    status: 404,
    headers: { "x-kind": "unknown", "x-openstack-request-id": expect.stringMatching(/^req-/) },
    body: "",
  });
  expect(ask("/now", "PUT")).toMatchObject({ status: 405 });
  expect(ask("/%E0%A4%A")).toMatchObject({ status: 404 });
});

test("a body is serialized synchronously unless it contains a long list, with the same text", async () => {
  const ticks = new EventLoopTicks(runtime);
  const short = { servers: [1, 2], links: null };
  const long = { first: "a", servers: Array.from({ length: 1200 }, (_, n) => ({ n })), last: { x: 1 } };
  expect(jsonText(short, ticks)).toBe(JSON.stringify(short));
  const written = jsonText(long, ticks);
  expect(written).toBeInstanceOf(Promise);
  expect(await written).toBe(JSON.stringify(long));
});
