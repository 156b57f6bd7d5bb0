import { describe, expect, it } from "vitest";
import { parseIni } from "../../../src/config/ini-file.js";
import { compileNovaConfig } from "../../../src/config/nova-config.js";
import { configuredPlacementAccess } from "../../../src/placement-client/access/configured-access.js";
import type { HttpRequest, HttpResponse } from "../../../src/runtime/http.js";

type Options = Readonly<Record<string, string>>;

/** Creates the access for a `[placement]` section and records its requests. */
function accessOf(section: Options, response: Partial<HttpResponse> = {}) {
  const requests: HttpRequest[] = [];
  const http = {
    close: async () => undefined,
    request: async (request: HttpRequest) => {
      requests.push(request);
      return { status: 503, headers: {}, body: "", ...response };
    },
  };
  const lines = Object.entries(section).map(([name, value]) => `${name} = ${value}\n`);
  const files = [parseIni(`[placement]\n${lines.join("")}`, "nova.conf")];
  const { config } = compileNovaConfig(
    { files, environment: {}, commandLine: [] },
    { stateDir: "/state", hostname: "h" },
    {},
  );
  const access = configuredPlacementAccess(config, { http, clock: { now: () => 0, monotonic: () => 0 } });
  return { access, requests: requests };
}

describe("[placement] auth_type", () => {
  it("unset: uses the conductor's access", () => {
    expect(accessOf({ endpoint: "http://p" }).access).toBeNull();
  });

  it("none and admin_token: endpoint, or endpoint_override, and the token", async () => {
    const credentials = async (section: Options) => accessOf(section).access?.credentials();
    expect(await credentials({ auth_type: "none", endpoint: "http://p/" })).toStrictEqual({
      endpoint: "http://p",
      headers: {},
    });
    const override = { endpoint: "http://p", endpoint_override: "http://other" };
    expect(await credentials({ auth_type: "admin_token", token: "t", ...override })).toStrictEqual({
      endpoint: "http://other",
      headers: { "x-auth-token": "t" },
    });
  });

  const password = { auth_type: "password", auth_url: "http://keystone", username: "nova", password: "secret" };

  it.each<[Options, unknown, unknown]>([
    [{ system_scope: "all" }, { system: { all: true } }, { id: "default" }],
    [{ project_id: "p1", user_domain_id: "d1" }, { project: { id: "p1" } }, { id: "d1" }],
    [
      { project_name: "service", project_domain_id: "d2", user_domain_name: "Users" },
      { project: { name: "service", domain: { id: "d2" } } },
      { name: "Users" },
    ],
    [
      { project_name: "service", project_domain_name: "Services" },
      { project: { name: "service", domain: { name: "Services" } } },
      { id: "default" },
    ],
  ])("password with %j: requests a token for that scope, in JSON", async (section, scope, domain) => {
    const { access, requests } = accessOf({ ...password, ...section });
    await expect(access?.credentials()).rejects.toThrow("503");
    // An Identity that does not list its versions is used at the default path.
    expect(requests[0]).toMatchObject({ method: "GET", url: "http://keystone" });
    expect(requests[1]).toMatchObject({
      url: "http://keystone/v3/auth/tokens",
      headers: { accept: "application/json", "content-type": "application/json" },
    });
    expect(JSON.parse(requests[1]?.body ?? "").auth).toMatchObject({
      scope,
      identity: { password: { user: { name: "nova", domain } } },
    });
  });

  it.each<[Options, string]>([
    [{ project_id: "p1" }, "http://one"],
    [{ project_id: "p1", region_name: "Two" }, "http://two"],
    [{ project_id: "p1", region_name: "Two", valid_interfaces: "public" }, "http://three"],
    [{ project_id: "p1", endpoint_override: "http://other" }, "http://other"],
  ])("password with %j: the endpoint is %s", async (section, endpoint) => {
    const endpoints = [
      { interface: "internal", region: "One", url: "http://one" },
      { interface: "internal", region: "Two", url: "http://two" },
      { interface: "public", region_id: "Two", url: "http://three" },
    ];
    const catalog = [{ type: "identity" }, { type: "placement", endpoints }];
    const token = { expires_at: "2026-01-01T00:00:00.000000Z", catalog };
    const response = { status: 201, headers: { "x-subject-token": "t" }, body: JSON.stringify({ token }) };
    expect(await accessOf({ ...password, ...section }, response).access?.credentials()).toMatchObject({ endpoint });
  });

  const credential = { auth_type: "v3applicationcredential", auth_url: "http://keystone/v3" };

  it.each<[Options, unknown]>([
    [
      { application_credential_id: "a1", application_credential_secret: "s" },
      { id: "a1", secret: "s" },
    ],
    [
      { application_credential_name: "n", username: "nova", user_domain_name: "D", application_credential_secret: "s" },
      { name: "n", secret: "s", user: { name: "nova", domain: { name: "D" } } },
    ],
    [
      { application_credential_name: "n", user_id: "u1", application_credential_secret: "s" },
      { name: "n", secret: "s", user: { id: "u1" } },
    ],
  ])("application credential %j: includes its scope", async (section, expectedCredential) => {
    const { access, requests } = accessOf({ ...credential, ...section }, { status: 401 });
    await expect(access?.credentials()).rejects.toThrow(/rejected the application credential/);
    expect(requests).toHaveLength(1);
    expect(JSON.parse(requests[0]?.body ?? "")).toEqual({
      auth: { identity: { methods: ["application_credential"], application_credential: expectedCredential } },
    });
  });

  it("user_id and the default domain", async () => {
    const section = { ...password, auth_type: "v3password", username: "", user_id: "u1", project_name: "service" };
    const { access, requests } = accessOf({ ...section, default_domain_name: "Ours" });
    await expect(access?.credentials()).rejects.toThrow("503");
    expect(JSON.parse(requests[0]?.body ?? "").auth).toEqual({
      identity: { methods: ["password"], password: { user: { id: "u1", password: "secret" } } },
      scope: { project: { name: "service", domain: { name: "Ours" } } },
    });
  });

  it.each<[Options, string]>([
    [{ auth_type: "none", endpoint: "http://p" }, "endpoint"],
    [{ auth_type: "admin_token", endpoint: "http://p", token: "t" }, "endpoint"],
    [{ auth_type: "admin_token", endpoint: "http://p", token: "t" }, "token"],
    [
      { ...credential, application_credential_id: "a", application_credential_secret: "s" },
      "application_credential_id",
    ],
    [
      { ...credential, application_credential_id: "a", application_credential_secret: "s" },
      "application_credential_secret",
    ],
    ...["auth_url", "username", "password", "project_name"].map((option): [Options, string] => [
      { ...password, project_name: "service" },
      option,
    ]),
  ])("%j without %s: InvalidConfiguration names the option", (section, option) => {
    const { [option]: _, ...rest } = section;
    expect(() => accessOf(section)).not.toThrow();
    expect(() => accessOf(rest)).toThrow(
      `[placement] ${option} is unset, but auth_type = ${section.auth_type} needs it`,
    );
  });
});
