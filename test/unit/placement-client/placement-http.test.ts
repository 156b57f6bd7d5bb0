import { beforeEach, describe, expect, it, test } from "vitest";
import { PlacementError } from "../../../src/placement-client/errors.js";
import { asNumber } from "../../../src/placement-client/json.js";
import {
  type PlacementCall,
  PlacementHttp,
  type PlacementRequestEvent,
  PlacementResponse,
} from "../../../src/placement-client/placement-http.js";
import { HttpConnectFailure, type HttpRequest, type HttpResponse, HttpTimeout } from "../../../src/runtime/http.js";

const TOKEN = { "x-auth-token": "t" };

let requests: HttpRequest[];
let events: PlacementRequestEvent[];
let expired: number;
let respond: (index: number) => Partial<HttpResponse>;
let now: number;

beforeEach(() => {
  [requests, events, expired, now] = [[], [], 0, 0];
  respond = () => ({});
});

function client(timeout?: number): PlacementHttp {
  return new PlacementHttp({
    http: {
      close: async () => undefined,
      request: async (request) => {
        requests.push(request);
        now += 7;
        return { status: 200, headers: {}, body: "{}", ...respond(requests.length) };
      },
    },
    clock: { now: () => now, monotonic: () => now },
    access: {
      credentials: async () => ({ endpoint: "http://user:secret@p/placement", headers: TOKEN }),
      expire: () => {
        expired += 1;
      },
    },
    userAgent: "nova-conductor",
    ...(timeout === undefined ? {} : { timeout }),
    observe: (event) => events.push(event),
  });
}

const HEADERS = { accept: "application/json", "user-agent": "nova-conductor compute-agent", ...TOKEN };

describe("a request", () => {
  it("has a microversion, a request id, a body and a signal if they are given, and none of them otherwise", async () => {
    const { signal } = new AbortController();
    const call: PlacementCall = { version: "1.28", requestId: "req-1", body: { a: 1 }, signal };
    await client(5).put("/allocations/C", call);
    await client().get("/allocations/C", {});
    const url = "http://user:secret@p/placement/allocations/C";
    expect(requests).toEqual([
      {
        method: "PUT",
        url,
        headers: {
          ...HEADERS,
          "openstack-api-version": "placement 1.28",
          "x-openstack-request-id": "req-1",
          "content-type": "application/json",
        },
        body: '{"a":1}',
        timeout: 5,
        signal,
      },
      { method: "GET", url, headers: HEADERS },
    ]);
    expect(requests.map((request) => Object.keys(request).length)).toEqual([6, 3]);
  });

  it("is sent by each of the methods", async () => {
    const http = client();
    await http.get("/a", {});
    await http.put("/a", {});
    await http.post("/a", {});
    await http.delete("/a", {});
    expect(requests.map(({ method }) => method)).toEqual(["GET", "PUT", "POST", "DELETE"]);
  });

  it("with a rejected token is repeated once with another one", async () => {
    respond = (index) => ({ status: index === 1 ? 401 : 204 });
    expect((await client().get("/a", {})).status).toBe(204);
    expect([requests.length, expired]).toEqual([2, 1]);
    respond = () => ({ status: 401, body: "no" });
    const rejectedCall = client().get("/a", {});
    await expect(rejectedCall).rejects.toMatchObject({ code: "Unauthorized" });
    await expect(rejectedCall).rejects.toThrow(
      'GET /a: the token is not accepted; check auth_type and the credentials in [placement]. Placement responded with 401 "no"',
    );
    expect([requests.length, expired]).toEqual([4, 2]);
  });

  test.each([new HttpConnectFailure("http://p", "ECONNREFUSED"), new HttpTimeout("http://p", 5)])(
    "without a response is a ConnectFailure that explains it: %s",
    async (cause) => {
      respond = () => {
        throw cause;
      };
      const failed = client().get("/a", {});
      await expect(failed).rejects.toMatchObject({ code: "ConnectFailure" });
      await expect(failed).rejects.toMatchObject({
        message: `GET /a: ${cause.message}; start Placement, or correct its endpoint in [placement]`,
        status: null,
        cause,
      });
      expect(events).toEqual([{ method: "GET", route: "/a", status: null, milliseconds: 7 }]);
    },
  );

  it("that fails in another way throws that error", async () => {
    const unforeseen = new TypeError("unforeseen");
    respond = () => {
      throw unforeseen;
    };
    await expect(client().get("/a", {})).rejects.toBe(unforeseen);
  });
});

describe("its event, for metrics, has the route without names", () => {
  test.each([
    ["/resource_providers", "/resource_providers"],
    ["/resource_providers?in_tree=U", "/resource_providers"],
    ["/resource_providers/U/inventories", "/resource_providers/{uuid}/inventories"],
    ["/resource_providers/U", "/resource_providers/{uuid}"],
    ["/allocations", "/allocations"],
    ["/allocations/C", "/allocations/{consumer_uuid}"],
    ["/traits/CUSTOM_A", "/traits/{name}"],
    ["/traits?name=in:A", "/traits"],
    ["/resource_classes/CUSTOM_A", "/resource_classes/{name}"],
    ["/reshaper", "/reshaper"],
    ["/unknown/member", "/unknown/member"],
    ["/", "/"],
  ])("%s", async (path, route) => {
    respond = () => ({ status: 201 });
    await client().get(path, {});
    expect(events).toEqual([{ method: "GET", route, status: 201, milliseconds: 7 }]);
  });
});

describe("a response", () => {
  const of = (status: number, body = "") => new PlacementResponse({ status, body }, "GET http://p/a");
  const errors = (...list: readonly unknown[]) => JSON.stringify({ errors: list });

  test.each([
    [199, false],
    [200, true],
    [299, true],
    [300, false],
  ])("with status %i is ok: %s", (status, ok) => {
    expect(of(status).ok).toBe(ok);
  });

  it("has the code and the detail of its first error, in one line", () => {
    const response = of(409, errors({ code: "placement.x", detail: " two\n  lines " }, { code: "other" }));
    expect([response.code, response.detail]).toEqual(["placement.x", "two lines"]);
    expect(response.describe()).toBe('409 (placement.x) "two lines"');
    expect(of(400, errors({})).describe()).toBe("400");
    expect([of(400, errors({})).code, of(400, errors({})).detail]).toEqual(["", ""]);
  });

  it("from a proxy in front of Placement is quoted, up to 200 characters", () => {
    expect(of(502, " <b>Bad\n gateway</b> ").describe()).toBe('502 "<b>Bad gateway</b>"');
    expect(of(502, "x".repeat(300)).detail).toBe("x".repeat(200));
    expect(of(502, "").describe()).toBe("502");
    expect([of(502, '{"errors": []}').code, of(502, "[]").detail]).toEqual(["", "[]"]);
  });

  test.each<[number, string, string, boolean, boolean]>([
    [409, "placement.concurrent_update", "consumer generation conflict - expected 1", true, true],
    [409, "placement.concurrent_update", "another", true, false],
    [409, "placement.undefined_code", "consumer generation conflict", false, false],
    [400, "placement.concurrent_update", "consumer generation conflict", false, false],
  ])("%i %s %s: a concurrent update %s, of the consumer %s", (status, code, detail, isUpdate, isConsumers) => {
    const response = of(status, errors({ code, detail }));
    expect([response.isConcurrentUpdate, response.isConsumerConflict]).toEqual([isUpdate, isConsumers]);
  });

  it("is read by its reader; the error for a response of another server names the request", () => {
    expect(of(200, '{"n": 1}').read(({ n }) => asNumber(n))).toBe(1);
    const text = "GET http://p/a did not get a response of Placement: expected JSON, found <html>";
    expect(() => of(200, "<html>").read(() => 1)).toThrow(new PlacementError("DiscoveryFailure", text));
    const unforeseen = new TypeError("unforeseen");
    expect(() =>
      of(200, "{}").read(() => {
        throw unforeseen;
      }),
    ).toThrow(unforeseen);
  });

  it("does not disclose the password in the endpoint", async () => {
    respond = () => ({ body: "<html>" });
    const unreadable = await client().get("/a", {});
    expect(() => unreadable.read(() => 1)).toThrow(/^GET http:\/\/p\/placement\/a did not get a response of Placement/);
  });
});
