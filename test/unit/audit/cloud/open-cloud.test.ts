import { describe, expect, it } from "vitest";
import type { CloudConfig } from "../../../../src/audit/cloud/cloud-config.js";
import { openCloud } from "../../../../src/audit/cloud/open-cloud.js";
import {
  type HttpClient,
  HttpConnectFailure,
  type HttpRequest,
  type HttpResponse,
} from "../../../../src/runtime/http.js";
import { AuditWorld } from "../audit-world.js";

const CONFIG: CloudConfig = {
  name: "far",
  authUrl: "http://keystone/v3/",
  credentials: { kind: "password", user: { name: "me", domain: { id: "default" } }, password: "hunter2" },
  scope: { kind: "project", name: "p", domain: { id: "default" } },
  interface: "internal",
  region: "R2",
  endpoints: {},
};

const endpoint = (url: string, more: object = {}) => ({ interface: "internal", region: "R2", url, ...more });
const CATALOG = [
  {
    type: "compute",
    endpoints: [endpoint("http://public", { interface: "public" }), endpoint("http://nova/v2.1/tenant")],
  },
  { type: "placement", endpoints: [endpoint("http://other", { region: "R1" }), endpoint("http://placement/")] },
];
const VERSIONS: Readonly<Record<string, unknown>> = {
  "http://nova/v2.1/": { version: { version: "2.96", min_version: "2.1" } },
  "http://placement/": { versions: [{ max_version: "1.39", min_version: "1.0" }] },
};

type Responder = (request: HttpRequest) => Partial<HttpResponse> | undefined;

/** A cloud with correct responses, unless `respond` overrides them. */
function stub(respond: Responder = () => undefined): HttpClient & { readonly sent: HttpRequest[] } {
  const sent: HttpRequest[] = [];
  let tokens = 0;
  return {
    sent,
    close: async () => undefined,
    request: async (request) => {
      sent.push(request);
      const base = { status: 200, headers: {}, body: "{}" };
      const special = respond(request);
      if (special) {
        return { ...base, ...special };
      }
      if (request.url.endsWith("/auth/tokens")) {
        tokens += 1;
        const body = JSON.stringify({ token: { catalog: CATALOG } });
        return { status: 201, headers: { "x-subject-token": `secret-token-${tokens}` }, body };
      }
      return { ...base, body: JSON.stringify(VERSIONS[request.url] ?? {}) };
    },
  };
}

async function failure(respond: Responder, config: Partial<CloudConfig> = {}): Promise<string> {
  const error = await openCloud(stub(respond), { ...CONFIG, ...config }).catch((each: Error) => each);
  expect(error).toBeInstanceOf(Error);
  const { message } = error as Error;
  expect(message).not.toMatch(/hunter2|secret-token/);
  return message;
}

describe("opening a cloud", () => {
  it.each(["volumev3", "block-storage"])("finds Block Storage in the catalog as %s", async (type) => {
    const catalog = [...CATALOG, { type, endpoints: [endpoint("http://cinder/v3/project")] }];
    const versions = { versions: [{ version: "3.70", min_version: "3.0" }] };
    const http = stub(({ url }) => {
      if (url.endsWith("/auth/tokens")) {
        return { status: 201, headers: { "x-subject-token": "secret" }, body: JSON.stringify({ token: { catalog } }) };
      }
      return url === "http://cinder/v3/" ? { body: JSON.stringify(versions) } : undefined;
    });
    const { blockStorage } = await openCloud(http, CONFIG);
    await blockStorage?.get("/volumes/detail");
    expect(http.sent.at(-1)).toMatchObject({
      url: "http://cinder/v3/project/volumes/detail",
      headers: { "openstack-api-version": "volume 3.44" },
    });
  });

  it("has no Block Storage if the catalog has none", async () => {
    expect((await openCloud(stub(), CONFIG)).blockStorage).toBeNull();
  });

  it("selects endpoints by interface and region, and the newest microversions that both sides support", async () => {
    const http = stub();
    const { compute, placement } = await openCloud(http, CONFIG);
    expect([compute.version, placement.version]).toEqual([87, 38]);
    await compute.get("/servers");
    expect(http.sent.at(-1)).toMatchObject({
      url: "http://nova/v2.1/tenant/servers",
      headers: { "x-auth-token": "secret-token-1", "openstack-api-version": "compute 2.87" },
    });
    await placement.get("/resource_providers");
    expect(http.sent.at(-1)?.url).toBe("http://placement/resource_providers");
  });

  it.each([
    [
      { kind: "token", token: "t" },
      { methods: ["token"], token: { id: "t" } },
    ],
    [
      { kind: "application_credential", id: "i", secret: "s" },
      { methods: ["application_credential"], application_credential: { id: "i", secret: "s" } },
    ],
    [
      { kind: "password", user: { id: "u" }, password: "p" },
      { methods: ["password"], password: { user: { id: "u", password: "p" } } },
    ],
  ] as const)("requests a token with %j", async (credentials, identity) => {
    const http = stub();
    await openCloud(http, { ...CONFIG, credentials });
    expect(JSON.parse(http.sent[0]?.body ?? "")).toMatchObject({ auth: { identity } });
  });

  it("uses an older cloud at its microversions, and explains why one is too old", async () => {
    const at =
      (maximum: string): Responder =>
      ({ url }) =>
        url === "http://nova/v2.1/"
          ? { body: JSON.stringify({ version: { version: maximum, min_version: "2.1" } }) }
          : undefined;
    expect((await openCloud(stub(at("2.60")), CONFIG)).compute.version).toBe(60);
    expect(await failure(at("2.25"))).toMatch(/2\.1 to 2\.25; at least 2\.53 is needed \(uuids of compute nodes\)/);
  });

  it("explains errors of credentials, address and catalog", async () => {
    const tokens =
      (status: number): Responder =>
      ({ url }) =>
        url.endsWith("/auth/tokens") ? { status } : undefined;
    expect(await failure(tokens(401))).toMatch(/rejected the user or the password \(401\)/);
    expect(await failure(tokens(401), { credentials: { kind: "token", token: "t" } })).toMatch(/expired/);
    expect(await failure(tokens(403))).toMatch(/403/);
    expect(await failure(tokens(404))).toMatch(/there is no Identity v3; check auth_url/);
    expect(await failure(tokens(500))).toMatch(/responded 500, expected 201/);
    expect(await failure(() => undefined, { region: "R9" })).toMatch(
      /no compute endpoint with interface internal in region R9; it has public in R2, internal in R2/,
    );
    const unscoped: Responder = ({ url }) =>
      url.endsWith("/auth/tokens")
        ? { status: 201, headers: { "x-subject-token": "secret-token-1" }, body: '{"token": {}}' }
        : undefined;
    const { scope: _, ...nowhere } = CONFIG;
    const error = await openCloud(stub(unscoped), nowhere).catch((each: Error) => each.message);
    expect(error).toMatch(/the token has no catalog, since it is unscoped; set project_name, or system_scope/);
    const failPlacement: Responder = ({ url }) => {
      if (url.startsWith("http://placement")) {
        throw new HttpConnectFailure(url, "ECONNREFUSED");
      }
      return undefined;
    };
    expect(await failure(failPlacement)).toMatch(
      /no response from http:\/\/placement\/: ECONNREFUSED.*placement service/,
    );
    const proxy: Responder = ({ url }) => (url.startsWith("http://nova") ? { status: 502, body: "<html>" } : undefined);
    expect(await failure(proxy)).toMatch(/the compute endpoint responded 502/);
  });

  it("requests a new token after expiry, and fails if that is rejected", async () => {
    let expired = false;
    const http = stub(({ url, headers }) =>
      expired && url.endsWith("/x") && headers?.["x-auth-token"] === "secret-token-1" ? { status: 401 } : undefined,
    );
    const { compute } = await openCloud(http, CONFIG);
    expired = true;
    await Promise.all([compute.get("/x"), compute.get("/x"), compute.get("/x")]);
    expect(http.sent.filter(({ url }) => url.endsWith("/auth/tokens"))).toHaveLength(2);
    const never = await openCloud(
      stub(({ url }) => (url.endsWith("/x") ? { status: 401 } : undefined)),
      CONFIG,
    );
    await expect(never.compute.get("/x")).rejects.toThrow(/rejected the token of cloud far \(401\)/);
  });
});

describe("users without the role", () => {
  it("get an error that names the missing role", async () => {
    const world = await AuditWorld.open();
    const user = { name: "demo", domain: { id: "default" } };
    const config: CloudConfig = {
      ...world.config,
      credentials: { kind: "password", user, password: world.api.passwords.demo },
      scope: { kind: "project", name: "demo", domain: { id: "default" } },
    };
    const { compute } = await openCloud(world.http, config);
    await expect(compute.get("/servers/detail?all_tenants=True")).rejects.toThrow(
      /responded 403: Policy doesn't allow .*; the credentials lack a role: the audit reads all projects and needs admin/,
    );
    const wrong = { ...config, credentials: { kind: "password" as const, user, password: "wr0ng" } };
    await expect(openCloud(world.http, wrong)).rejects.toThrow(/rejected the user or the password \(401\)/);
  });
});
