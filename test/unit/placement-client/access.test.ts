import { describe, expect, it } from "vitest";
import { createConductorAccess, createFixedAccess } from "../../../src/placement-client/access/configured-access.js";
import { createKeystoneAccess, type KeystoneOptions } from "../../../src/placement-client/access/keystone-access.js";
import { SharedAccess } from "../../../src/placement-client/access/placement-access.js";
import { PlacementHttp, type PlacementRequestEvent } from "../../../src/placement-client/placement-http.js";
import { type HttpClient, HttpConnectFailure, type HttpRequest, type HttpResponse } from "../../../src/runtime/http.js";

const NOW = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;

/** Creates a client that responds by a function and records the requests. */
function httpOf(respond: (request: HttpRequest, index: number) => Partial<HttpResponse> | "refuse") {
  const requests: HttpRequest[] = [];
  const http: HttpClient = {
    close: async () => undefined,
    request: async (request) => {
      requests.push(request);
      const response = respond(request, requests.length - 1);
      if (response === "refuse") {
        throw new HttpConnectFailure(request.url, "ECONNREFUSED");
      }
      return { status: 200, headers: {}, body: "{}", ...response };
    },
  };
  return { http, requests: requests };
}

const OPTIONS: KeystoneOptions = {
  authUrl: "http://keystone/identity/v3/",
  discover: false,
  service: { type: "placement", section: "placement" },
  credentials: { kind: "password", user: { name: "nova", domain: { name: "Default" } }, password: "secret" },
  scope: { kind: "project", name: "service", domain: { id: "default" } },
  validInterfaces: ["internal", "public"],
};

function endpoint(kind: string, url: string, region = "RegionOne") {
  return {
    interface: kind,
    url,
    region,
    region_id: region,
  };
}
function token(endpoints: readonly object[], expiresAt = NOW + HOUR): Partial<HttpResponse> {
  return {
    status: 201,
    headers: { "x-subject-token": "gAAA" },
    body: JSON.stringify({
      token: {
        expires_at: new Date(expiresAt).toISOString().replace("Z", "000Z"),
        catalog: [
          { type: "compute", endpoints: [endpoint("internal", "http://nova")] },
          { type: "placement", endpoints },
        ],
      },
    }),
  };
}

describe("keystone password", () => {
  const clockAt = (time: { now: number }) => ({ now: () => time.now, monotonic: () => time.now });

  it("sends user, project and their domains to Identity v3, and uses the endpoint of the first available interface", async () => {
    const { http, requests } = httpOf(() => token([endpoint("public", "http://public/placement/")]));
    const access = createKeystoneAccess({ http, clock: clockAt({ now: NOW }) }, OPTIONS);
    expect(await access.credentials()).toMatchObject({
      endpoint: "http://public/placement",
      headers: { "x-auth-token": "gAAA" },
    });
    expect(requests[0]?.url).toBe("http://keystone/identity/v3/auth/tokens");
    expect(JSON.parse(requests[0]?.body ?? "")).toEqual({
      auth: {
        identity: {
          methods: ["password"],
          password: { user: { name: "nova", password: "secret", domain: { name: "Default" } } },
        },
        scope: { project: { name: "service", domain: { id: "default" } } },
      },
    });
  });

  it("uses the region, and endpoint_override if it is set", async () => {
    const { http } = httpOf(() =>
      token([endpoint("internal", "http://one"), endpoint("internal", "http://two", "Two")]),
    );
    const clock = clockAt({ now: NOW });
    const regional = createKeystoneAccess({ http, clock }, { ...OPTIONS, regionName: "Two" });
    expect((await regional.credentials()).endpoint).toBe("http://two");
    const overridden = createKeystoneAccess({ http, clock }, { ...OPTIONS, endpointOverride: "http://own/" });
    expect((await overridden.credentials()).endpoint).toBe("http://own");
  });

  it("shares one token among callers, until shortly before it expires", async () => {
    const time = { now: NOW };
    const { http, requests } = httpOf(() => token([endpoint("internal", "http://p")], time.now + HOUR));
    const access = createKeystoneAccess({ http, clock: clockAt(time) }, OPTIONS);
    await Promise.all([access.credentials(), access.credentials()]);
    time.now = NOW + HOUR - 31_000;
    await access.credentials();
    expect(requests).toHaveLength(1);
    time.now = NOW + HOUR - 30_000;
    await access.credentials();
    expect(requests).toHaveLength(2);
    access.expire();
    await access.credentials();
    expect(requests).toHaveLength(3);
  });

  const failures: readonly (readonly [string, () => Partial<HttpResponse> | "refuse", string, RegExp])[] = [
    ["wrong password", () => ({ status: 401 }), "Unauthorized", /nova.*username, password/],
    ["nobody there", () => "refuse", "ConnectFailure", /ECONNREFUSED/],
    ["not an Identity service", () => ({ status: 404 }), "DiscoveryFailure", /auth_url/],
    [
      "a token without a time",
      () => ({
        ...token([endpoint("internal", "http://p")]),
        body: '{"token": {"expires_at": "soon", "catalog": [{"type": "placement", "endpoints": [{"interface": "internal", "url": "http://p"}]}]}}',
      }),
      "DiscoveryFailure",
      /soon/,
    ],
    [
      "a token that is scoped to nothing, and has no catalog",
      () => ({ ...token([]), body: '{"token": {"expires_at": "2026-01-01T01:00:00.000000Z"}}' }),
      "EndpointNotFound",
      /endpoint_override/,
    ],
    ["no placement in the catalog", () => token([]), "EndpointNotFound", /internal or public.*endpoint_override/],
  ];
  for (const [what, respond, name, message] of failures) {
    it(`${what}: ${name}, and the next call asks again`, async () => {
      const { http } = httpOf((_, index) => (index === 0 ? respond() : token([endpoint("internal", "http://p")])));
      const access = createKeystoneAccess({ http, clock: clockAt({ now: NOW }) }, OPTIONS);
      const failed = access.credentials();
      await expect(failed).rejects.toMatchObject({ name });
      await expect(failed).rejects.toThrow(message);
      expect((await access.credentials()).endpoint).toBe("http://p");
    });
  }

  it("does not renew a token again when an older request fails after the renewal", async () => {
    const pending = { respond: (_: Partial<HttpResponse>): void => expect.fail("not asked yet") };
    const { http, requests } = httpOf(() => token([endpoint("internal", "http://p")]));
    const slow: HttpClient = {
      ...http,
      request: (request) =>
        requests.length > 0
          ? http.request(request)
          : new Promise((resolve) => {
              requests.push(request);
              pending.respond = (response) => resolve({ status: 200, headers: {}, body: "{}", ...response });
            }),
    };
    const access = createKeystoneAccess({ http: slow, clock: clockAt({ now: NOW }) }, OPTIONS);
    const first = access.credentials();
    access.expire();
    await access.credentials();
    pending.respond({ status: 401 });
    await expect(first).rejects.toMatchObject({ name: "Unauthorized" });
    await access.credentials();
    expect(requests).toHaveLength(2);
  });

  it("never puts the password into an error", async () => {
    const { http } = httpOf(() => ({ status: 401, body: "secret" }));
    const access = createKeystoneAccess({ http, clock: clockAt({ now: NOW }) }, OPTIONS);
    await expect(access.credentials()).rejects.not.toThrow(/secret/);
  });
});

describe("placement_access of the conductor", () => {
  it("is called once and again on expiry; its absence is a ConnectFailure with instructions", async () => {
    let callCount = 0;
    const access = createConductorAccess({
      clock: { now: () => NOW, monotonic: () => 0 },
      ask: async () => {
        callCount += 1;
        if (callCount === 1) {
          throw new Error("MessagingTimeout");
        }
        return { endpoint: "http://127.0.0.1:8780/placement/", token: "t", expiresAt: NOW + HOUR };
      },
    });
    await expect(access.credentials()).rejects.toMatchObject({ name: "ConnectFailure" });
    expect(await access.credentials()).toMatchObject({ endpoint: "http://127.0.0.1:8780/placement" });
    await access.credentials();
    expect(callCount).toBe(2);
  });

  it("is shared with the other hosts of the process until it expires or is rejected", async () => {
    const shared = new SharedAccess();
    const callingHosts: string[] = [];
    let now = NOW;
    const of = (host: string) =>
      createConductorAccess({
        clock: { now: () => now, monotonic: () => 0 },
        shared,
        ask: async () => {
          callingHosts.push(host);
          return { endpoint: "http://p", token: `token ${callingHosts.length}`, expiresAt: now + HOUR };
        },
      });
    const tokenOf = async (access: ReturnType<typeof of>) => (await access.credentials()).headers["x-auth-token"];
    const [one, other, third] = [of("one"), of("other"), of("third")] as const;
    expect([await tokenOf(one), await tokenOf(other), await tokenOf(one)]).toEqual(["token 1", "token 1", "token 1"]);
    other.expire();
    expect([await tokenOf(other), await tokenOf(third)]).toEqual(["token 2", "token 2"]);
    // It learns late that the first token was rejected; the second one is valid.
    one.expire();
    expect([await tokenOf(one), await tokenOf(third)]).toEqual(["token 2", "token 2"]);
    now += HOUR - 20_000;
    expect([await tokenOf(third), await tokenOf(one)]).toEqual(["token 3", "token 3"]);
    expect(callingHosts).toEqual(["one", "other", "third"]);
  });

  it("does not block other hosts when the calling host is killed", async () => {
    const shared = new SharedAccess();
    const clock = { now: () => NOW, monotonic: () => 0 };
    const dead = createConductorAccess({ clock, shared, ask: () => new Promise(() => undefined) });
    void dead.credentials();
    const grantedAccess = { endpoint: "http://p", token: "t", expiresAt: NOW + HOUR };
    const next = createConductorAccess({ clock, shared, ask: async () => grantedAccess });
    expect(await next.credentials()).toMatchObject({ headers: { "x-auth-token": "t" } });
  });
});

describe("requests", () => {
  const clock = { now: () => NOW, monotonic: () => 0 };

  it("401 renews the token once and repeats the request", async () => {
    let renewed = 0;
    const access = {
      credentials: async () => ({ endpoint: "http://p", headers: { "x-auth-token": `t${renewed}` } }),
      expire: () => {
        renewed += 1;
      },
    };
    const { http, requests } = httpOf((_, index) => ({ status: index === 0 ? 401 : 200 }));
    const response = await new PlacementHttp({ http, clock, access, userAgent: "x" }).get("/traits", {});
    expect(response.status).toBe(200);
    expect(requests.map(({ headers }) => headers?.["x-auth-token"])).toEqual(["t0", "t1"]);
  });

  it("auth_type none sends no token, admin_token a fixed one", async () => {
    const { http, requests } = httpOf(() => ({}));
    for (const access of [
      createFixedAccess({ endpoint: "http://p" }),
      createFixedAccess({ endpoint: "http://p/", token: "admin" }),
    ]) {
      await new PlacementHttp({ http, clock, access, userAgent: "x" }).get("/traits", {});
    }
    expect(requests.map(({ url, headers }) => [url, headers?.["x-auth-token"]])).toEqual([
      ["http://p/traits", undefined],
      ["http://p/traits", "admin"],
    ]);
  });

  it.each([
    [204, "", true, "204"],
    [299, "", true, "299"],
    [300, "moved  to\n there", false, '300 "moved to there"'],
    [199, '{"errors":[{"code":"a.b"}]}', false, "199 (a.b)"],
    [409, '{"errors":[{"code":"a.b","detail":"why"}]}', false, '409 (a.b) "why"'],
  ])("a response %i %j: ok %s, described as %s", async (status, body, ok, description) => {
    const { http } = httpOf(() => ({ status, body }));
    const access = createFixedAccess({ endpoint: "http://p" });
    const response = await new PlacementHttp({ http, clock, access, userAgent: "x" }).get("/traits", {});
    expect([response.ok, response.describe()]).toEqual([ok, description]);
  });

  it("reports each request by its route, without uuids", async () => {
    const events: PlacementRequestEvent[] = [];
    const { http } = httpOf((request) => (request.method === "DELETE" ? "refuse" : { status: 409 }));
    const access = createFixedAccess({ endpoint: "http://p" });
    const placement = new PlacementHttp({
      http,
      clock,
      access,
      userAgent: "x",
      observe: (event) => events.push(event),
    });
    await placement.put("/resource_providers/0c28/inventories", {});
    await placement.get("/resource_providers?in_tree=0c28", {});
    await placement.get("/traits/CUSTOM_A", {});
    await placement.get("/resource_classes/CUSTOM_B", {});
    await placement.delete("/allocations/0c28", {}).catch(() => undefined);
    expect(events.map(({ method, route, status }) => [method, route, status])).toEqual([
      ["PUT", "/resource_providers/{uuid}/inventories", 409],
      ["GET", "/resource_providers", 409],
      ["GET", "/traits/{name}", 409],
      ["GET", "/resource_classes/{name}", 409],
      ["DELETE", "/allocations/{consumer_uuid}", null],
    ]);
  });
});
