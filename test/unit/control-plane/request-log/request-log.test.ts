import { expect, it } from "vitest";
import { withoutSecrets } from "../../../../src/control-plane/request-log/redaction.js";
import { RequestWatch, requestLog } from "../../../../src/control-plane/request-log/request-log.js";
import type { ServiceRequest } from "../../../../src/runtime/http-server.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { aCaller } from "../../../fixtures/world/caller.js";
import { openControlPlane } from "../../../fixtures/world/control-plane.js";

const TOKEN = "gAAAAA-a-token";

function loggedBy(request: Partial<ServiceRequest>, responseHeaders: Readonly<Record<string, string>> = {}) {
  const world = new VirtualWorld();
  const { logger, clock } = world.spawn({ name: "p" });
  const whose = (token: string) => (token === TOKEN ? aCaller() : undefined);
  const watch = new RequestWatch(clock, whose, [requestLog(logger)]);
  const handler = watch.service("/compute", () => ({ status: 202, headers: responseHeaders, body: "a body" }));
  handler({ method: "GET", path: "", query: "", headers: {}, body: "", baseUrl: "", ...request });
  return world.logs.map(({ fields }) => fields);
}

it("a line contains the request, the response and the caller", () => {
  const caller = "req-00000000-0000-4000-8000-000000000001";
  const headers = { "x-auth-token": TOKEN, "x-openstack-request-id": caller };
  expect(
    loggedBy({ method: "POST", path: "/v2.1/servers", query: "a=b", headers }, { "x-openstack-request-id": "req-2" }),
  ).toEqual([
    {
      service: "compute-api",
      request_id: "req-2",
      global_request_id: caller,
      method: "POST",
      path: "/compute/v2.1/servers?a=b",
      status: 202,
      ms: 0,
      user: "admin",
      project: "admin",
    },
  ]);
});

it("a request for a token is logged with the owner of the issued token, and only a valid client's request id is logged", () => {
  const headers = { "x-openstack-request-id": "req-1 user=root" };
  const [line] = loggedBy({ headers }, { "x-subject-token": TOKEN });
  expect(line).toMatchObject({ user: "admin" });
  expect(line).not.toHaveProperty("global_request_id");
  expect(loggedBy({})[0]).toMatchObject({ user: "-", project: "-" });
});

it("a request that revokes its own token is logged with its caller", () => {
  const tokens = new Set([TOKEN]);
  const callers: (string | undefined)[] = [];
  const watch = new RequestWatch({ monotonic: () => 0 }, (token) => (tokens.has(token) ? aCaller() : undefined), [
    ({ caller }) => void callers.push(caller?.credentials.userName),
  ]);
  const handler = watch.service("/identity", () => {
    tokens.clear();
    return { status: 204, headers: {}, body: "" };
  });
  const request = { method: "DELETE", path: "/v3/auth/tokens", query: "", body: "", baseUrl: "" } as const;
  handler({ ...request, headers: { "x-auth-token": TOKEN } });
  handler({ ...request, headers: { "x-auth-token": TOKEN } });
  expect(callers).toEqual(["admin", undefined]);
});

it("secrets are redacted everywhere, and long paths are truncated", () => {
  const hidden = (path: string, query = "", secrets: string[] = []) => withoutSecrets(path, query, secrets);
  expect(hidden("/v2.0/tokens/abc/endpoints")).toBe("/v2.0/tokens/****/endpoints");
  expect(hidden("/v3/auth/tokens")).toBe("/v3/auth/tokens");
  expect(hidden("/a", "limit=1&X-Auth-T%6fken=abc&password=p&adminPass=q&name=vm1")).toBe(
    "/a?limit=1&X-Auth-T%6fken=****&password=****&adminPass=****&name=vm1",
  );
  expect(hidden("/a/gAAAAA==secret", "q=gAAAAA%3D%3Dsecret", ["gAAAAA==secret"])).toBe("/a/****?q=****");
  expect(hidden("/a", "%E0%A4=1", ["short"])).toBe("/a?%E0%A4=1");
  expect(hidden(`/${"x".repeat(5_000)}`).length).toBeLessThan(2_010);
});

it("a control plane logs all requests to its services, including rejected ones", async () => {
  const world = new VirtualWorld();
  const runtime = world.spawn({ name: "control-plane" });
  const requests: string[] = [];
  const { url, stop } = await world.runUntil(
    openControlPlane({
      runtime,
      logRequests: true,
      onRequest: ({ mount, request, response }) =>
        void requests.push(`${request.method} ${mount}${request.path} ${response.status}`),
    }),
  );
  const ask = (path: string) => world.runUntil(runtime.http.request({ method: "GET", url: url + path }));
  await ask("/identity/v3");
  await ask("/placement/resource_providers");
  expect(requests).toEqual(["GET /identity/v3 200", "GET /placement/resource_providers 401"]);
  expect(world.logs.filter(({ message }) => message === "request")).toHaveLength(2);
  await world.runUntil(stop());
});

it("a request without a service is logged with its method and path", () => {
  const reported: unknown[] = [];
  const watch = new RequestWatch({ monotonic: () => 0 }, () => undefined, [(handled) => void reported.push(handled)]);
  const response = { status: 404, headers: {}, body: "" };
  watch.rejections(() => response)({ status: 404, reason: "", requestId: "req-1", method: "GET", target: "/x?y=1?z" });
  watch.rejections(() => response)({ status: 400, reason: "", requestId: "req-1" });
  expect(reported).toMatchObject([
    { mount: "", request: { method: "GET", path: "/x", query: "y=1?z" }, response: response, milliseconds: null },
    { request: { method: "-", path: "-" } },
  ]);
});
