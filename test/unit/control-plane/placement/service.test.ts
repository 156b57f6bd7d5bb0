import { describe, expect, it } from "vitest";
import { consumer, uuid, World } from "./world.js";

const detail = (body: string) => JSON.parse(body).errors[0].detail;

describe("the service", () => {
  it("is mounted below a path: links have no host, location is absolute", () => {
    const world = new World();
    const response = world.send("POST", "/resource_providers", { name: "n", uuid: uuid(1) });
    expect(response.headers.location).toBe(`http://cluster:8774/placement/resource_providers/${uuid(1)}`);
    expect(JSON.parse(response.body).links[0].href).toBe(`/placement/resource_providers/${uuid(1)}`);
  });

  it("gives each response a request id, which errors contain", () => {
    const response = new World().send("GET", "/nothing");
    expect(response.headers["x-openstack-request-id"]).toMatch(/^req-/);
    expect(JSON.parse(response.body).errors[0].request_id).toBe(response.headers["x-openstack-request-id"]);
  });

  it("accepts bodies within the limits of Placement", () => {
    const world = new World();
    world.provider(1, { VCPU: 1 });
    const put = (body: unknown) => world.send("PUT", `/resource_providers/${uuid(1)}/inventories`, body);
    const deep = put(JSON.parse(`${"[".repeat(40)}${"]".repeat(40)}`));
    expect([deep.status, detail(deep.body)]).toEqual([400, expect.stringContaining("nested deeper than 32 levels")]);
    const many = put(Array.from({ length: 40_001 }, () => 1));
    expect([many.status, detail(many.body)]).toEqual([413, expect.stringContaining("more than 40000 members")]);
    const wrong = put({ wrong: "x".repeat(70_000) });
    expect([wrong.status, detail(wrong.body)]).toEqual([400, expect.stringContaining("too large to say where")]);
  });

  it("rejects a list with duplicates with the message of the real Placement", () => {
    const world = new World();
    world.provider(1, { VCPU: 1 });
    const aggregates = [uuid(7), uuid(8), uuid(7)];
    const body = { aggregates, resource_provider_generation: 1 };
    const response = world.send("PUT", `/resource_providers/${uuid(1)}/aggregates`, body);
    expect([response.status, detail(response.body)]).toEqual([400, expect.stringContaining("has non-unique elements")]);
  });

  it("accepts at most 32 request groups", () => {
    const world = new World();
    world.provider(1, { VCPU: 1 });
    const ask = (count: number) => {
      const groups = Array.from({ length: count }, (_, index) => `resources${index + 1}=VCPU:1`);
      return world.send("GET", `/allocation_candidates?group_policy=none&${groups.join("&")}`).status;
    };
    expect([ask(32), ask(33)]).toEqual([200, 400]);
  });

  it("sets Last-Modified from microversion 1.15 on", () => {
    const world = new World();
    world.provider(1, { VCPU: 1 });
    const at = (minor: number) =>
      world.send("GET", `/resource_providers/${uuid(1)}`, undefined, {
        "openstack-api-version": `placement 1.${minor}`,
      });
    expect(at(14).headers["last-modified"]).toBeUndefined();
    expect(at(15).headers).toMatchObject({
      "last-modified": "Sat, 21 Nov 2026 12:00:00 GMT",
      "cache-control": "no-cache",
    });
  });

  it("responds to HEAD with 405, without a body", () => {
    const response = new World().send("HEAD", "/traits");
    expect(response).toMatchObject({ status: 405, body: "" });
    expect(response.headers).toMatchObject({ "content-type": "text/html; charset=UTF-8", allow: "GET" });
  });

  it("rejects a missing token with webob's message for noauth2, and keystonemiddleware's for keystone", () => {
    const request = { method: "GET", path: "/traits", query: "", headers: {}, body: "", baseUrl: "http://x" };
    expect(JSON.parse(new World().placement.handle(request).body)).toMatchObject({ code: "401 Unauthorized" });
    const auth = { strategy: "keystone" as const, identityUri: "http://id", authenticate: () => undefined };
    const response = new World({ auth }).placement.handle(request);
    expect(response.headers["www-authenticate"]).toBe('Keystone uri="http://id"');
    expect(JSON.parse(response.body)).toEqual({
      error: {
        code: 401,
        title: "Unauthorized",
        message: "The request you have made requires authentication.",
      },
    });
    expect(new World({ auth }).placement.handle({ ...request, path: "/" }).status).toBe(200);
    expect(new World({ auth }).placement.handle({ ...request, path: "" }).status).toBe(200);
  });

  it("accepts allocations above the capacity unless they grow", () => {
    const world = new World();
    world.provider(1, { VCPU: 4 });
    world.allocate(1, null, { 1: { VCPU: 4 } });
    const path = `/resource_providers/${uuid(1)}/inventories`;
    world.json("PUT", path, { resource_provider_generation: 2, inventories: { VCPU: { total: 2 } } });
    expect(world.allocate(1, 1, { 1: { VCPU: 4 } })).toBe(204);
    expect(world.allocate(1, 2, { 1: { VCPU: 3 } })).toBe(204);
    expect(world.allocate(1, 3, { 1: { VCPU: 4 } })).toBe(409);
    expect(world.allocate(2, null, { 1: { VCPU: 1 } })).toBe(409);
  });

  it("moves inventory and allocations in one transaction", () => {
    const world = new World();
    world.provider(1, { VCPU: 4 });
    world.provider(2, {}, { parent: 1 });
    world.allocate(1, null, { 1: { VCPU: 2 } });
    const body = (used: number) => ({
      inventories: {
        [uuid(1)]: { resource_provider_generation: 2, inventories: {} },
        [uuid(2)]: { resource_provider_generation: 1, inventories: { VCPU: { total: 4 } } },
      },
      allocations: {
        [consumer(1)]: {
          allocations: { [uuid(2)]: { resources: { VCPU: used } } },
          project_id: "p",
          user_id: "u",
          consumer_generation: 1,
          consumer_type: "INSTANCE",
        },
      },
    });
    const before = world.send("GET", `/resource_providers/${uuid(1)}/inventories`).body;
    const rejection = world.send("POST", "/reshaper", body(5));
    expect(rejection.status).toBe(409);
    expect(detail(rejection.body)).toContain("would exceed the capacity");
    expect(world.send("GET", `/resource_providers/${uuid(1)}/inventories`).body).toBe(before);
    expect(world.send("POST", "/reshaper", body(2)).status).toBe(204);
    expect(world.json("GET", `/resource_providers/${uuid(1)}/inventories`)).toMatchObject({ inventories: {} });
    expect(world.json("GET", `/resource_providers/${uuid(2)}/usages`)).toMatchObject({ usages: { VCPU: 2 } });
  });

  it("responds to CORS preflight requests", () => {
    const cors = {
      allowedOrigin: ["http://a"],
      allowCredentials: true,
      exposeHeaders: ["x-one"],
      maxAge: 60,
      allowMethods: ["GET"],
      allowHeaders: ["openstack-api-version"],
    };
    const world = new World({ cors });
    const ask = (origin: string, method: string, headers: string) =>
      world.send("OPTIONS", "/traits", undefined, {
        origin,
        "access-control-request-method": method,
        "access-control-request-headers": headers,
      });
    expect(ask("http://a", "GET", "OpenStack-API-Version")).toMatchObject({
      status: 200,
      headers: {
        "access-control-allow-origin": "http://a",
        "access-control-allow-methods": "GET",
        "access-control-max-age": "60",
      },
    });
    for (const response of [
      ask("http://b", "GET", ""),
      ask("http://a", "PUT", ""),
      ask("http://a", "GET", "x-other"),
    ]) {
      expect(response.status).toBe(200);
      expect(response.headers["access-control-allow-origin"]).toBeUndefined();
    }
    const plain = world.send("GET", "/traits", undefined, { origin: "http://a" });
    expect(plain.headers).toMatchObject({
      vary: "openstack-api-version,Origin",
      "access-control-expose-headers": "x-one",
    });
  });
});
