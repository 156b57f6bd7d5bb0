import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { createIdentity } from "../../../../src/control-plane/identity/identity.js";
import { MAX_LIVE_TOKENS } from "../../../../src/control-plane/identity/tokens/token-store.js";
import { property } from "../../../fixtures/property.js";
import { quickDigests } from "../../../fixtures/quick-digests.js";
import { ApiWorld, passwordAuth } from "../compute/api-world.js";
import { recordedCalls } from "../compute/recorded-calls.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
});

const TOKENS = "/identity/v3/auth/tokens";
const PROJECT = { project: { name: "admin", domain: { id: "default" } } };
const login = (body: unknown) => world.ask({ method: "POST", url: TOKENS, token: "", body });
async function tokenOf(scope?: unknown, user: "admin" | "demo" = "admin") {
  return (await login(passwordAuth(user, world.passwords[user], scope))).headers["x-subject-token"] ?? "";
}
const UNAUTHORIZED = {
  error: { code: 401, message: "The request you have made requires authentication.", title: "Unauthorized" },
};

/** Returns the names and types of a body's members. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.slice(0, 1).map(shape);
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shape(item)]));
  }
  return value === null ? "null" : typeof value;
}

describe("recorded calls of the real clients", () => {
  test.each(recordedCalls("identity").map((call) => [`${call.method} ${call.path}`, call] as const))(
    "%s",
    async (_name, call) => {
      const subject = await tokenOf(PROJECT);
      const body = JSON.stringify(call.request_body ?? "").replace("secret", world.passwords.admin);
      const reply = await world.ask({
        method: call.method,
        url: `/identity${call.path}`,
        ...(call.method === "POST" ? { body } : {}),
        headers: { "x-subject-token": subject },
      });
      expect(reply.status).toBe(call.status);
      expect(reply.headers).toMatchObject({ "content-type": "application/json", vary: "X-Auth-Token" });
      expect(shape(reply.json())).toEqual(shape(call.response_body));
      if (call.path !== "/v3") {
        expect(reply.headers["x-subject-token"]).toHaveLength(183);
      }
    },
  );
});

describe("scopes", () => {
  test("a project", async () => {
    const reply = await login(passwordAuth("admin", world.passwords.admin, PROJECT));
    expect(reply.json("token", "project", "name")).toBe("admin");
    expect((reply.json("token", "roles") as { name: string }[]).map(({ name }) => name)).toEqual([
      "reader",
      "member",
      "manager",
      "admin",
    ]);
    expect((reply.json("token", "catalog") as { type: string }[]).map(({ type }) => type).sort()).toEqual([
      "baremetal",
      "block-storage",
      "compute",
      "identity",
      "image",
      "network",
      "placement",
      "volumev3",
    ]);
    expect(world.apis.identity.validate(reply.headers["x-subject-token"] ?? "")).toMatchObject({
      userName: "admin",
      projectName: "admin",
      roles: ["reader", "member", "manager", "admin"],
      systemScope: null,
    });
  });

  test("the system", async () => {
    const token = await tokenOf({ system: { all: true } });
    expect(world.apis.identity.validate(token)).toMatchObject({ systemScope: "all", projectId: null });
  });

  test.each([undefined, "unscoped", { unscoped: {} }])("none: %j", async (scope) => {
    const reply = await login(passwordAuth("demo", world.passwords.demo, scope));
    expect(reply.status).toBe(201);
    expect(Object.keys(reply.json("token") as object)).not.toContain("catalog");
    expect(world.apis.identity.validate(reply.headers["x-subject-token"] ?? "")?.roles).toEqual([]);
  });

  test.each([
    ["a project without role", { project: { name: "admin", domain: { id: "default" } } }],
    ["an unknown project", { project: { id: "0".repeat(32) } }],
    ["a name without domain", { project: { name: "demo" } }],
    ["the system without role", { system: { all: true } }],
    ["a domain", { domain: { id: "default" } }],
  ])("refused: %s", async (_name, scope) => {
    const reply = await login(passwordAuth("demo", world.passwords.demo, scope));
    expect([reply.status, reply.json()]).toEqual([401, UNAUTHORIZED]);
  });

  test("a token for a token: expiry and audit chain are retained", async () => {
    const unscoped = await login(passwordAuth("admin", world.passwords.admin));
    await world.world.advance(60_000);
    const id = unscoped.headers["x-subject-token"];
    const reply = await login({ auth: { identity: { methods: ["token"], token: { id } }, scope: PROJECT } });
    expect(reply.status).toBe(201);
    expect(reply.json("token", "expires_at")).toBe(unscoped.json("token", "expires_at"));
    expect((reply.json("token", "audit_ids") as string[])[1]).toBe(
      (unscoped.json("token", "audit_ids") as string[])[0],
    );
    expect(reply.json("token", "methods")).toEqual(["token", "password"]);
  });
});

describe("rejected logins", () => {
  test.each([
    ["wrong password", passwordAuth("admin", "wrong", PROJECT)],
    ["unknown user", passwordAuth("root", "wrong", PROJECT)],
    ["a service user", passwordAuth("nova", "", { project: { name: "service", domain: { id: "default" } } })],
    ["an unknown token", { auth: { identity: { methods: ["token"], token: { id: "gAAAA" } } } }],
  ])("%s: 401", async (_name, body) => {
    const reply = await login(body);
    expect([reply.status, reply.json()]).toEqual([401, UNAUTHORIZED]);
    expect(reply.headers["www-authenticate"]).toBe('Keystone uri="http://127.0.0.1:8774/identity"');
  });

  test("an unknown method: 401", async () => {
    const reply = await login({ auth: { identity: { methods: ["magic"] } } });
    expect([reply.status, reply.message]).toEqual([401, "Attempted to authenticate with an unsupported method."]);
  });

  test.each<[unknown, string]>([
    [{}, "Expecting to find auth in request body."],
    [{ auth: {} }, "Expecting to find identity in auth."],
    [{ auth: { identity: { methods: "password" } } }, "Invalid input for field 'identity/methods'"],
    [{ auth: { identity: { methods: ["password"] } } }, "Expecting to find password in identity."],
    [{ auth: { identity: { methods: ["password"], password: { user: {} } } } }, "id or name must be present"],
    [passwordAuth("admin", 5 as never), "Invalid input for field 'identity/password/user/password'"],
    [passwordAuth("admin", "x", { project: {} }), "Invalid input for field scope/project: id or name"],
    [passwordAuth("admin", "x", { moon: {} }), "Expecting to find project, domain or system in scope."],
    ["{", "Expecting to find valid JSON in request body."],
    ["", "Expecting to find auth in request body."],
  ])("%j: 400", async (body, message) => {
    const reply = await login(body);
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test("too much: 413", async () => {
    expect((await login("x".repeat(200_000))).status).toBe(413);
  });

  property([fc.jsonValue(), fc.string(), fc.string()], { numRuns: 60 })("garbage: 4xx", async (body, path, token) => {
    expect((await login(body ?? "null")).status).toBeOneOf([400, 401]);
    const reply = await world.ask({ url: `/identity/v3/${path}`, token });
    expect(reply.status).toBeOneOf([200, 401, 404, 405]);
  });
});

describe("the lifetime of a token", () => {
  test("it expires after an hour", async () => {
    const token = await tokenOf(PROJECT);
    await world.world.advance(3_599_999);
    expect(world.apis.identity.validate(token)).toBeDefined();
    await world.world.advance(1);
    expect(world.apis.identity.validate(token)).toBeUndefined();
  });

  test("it survives a restart, and is stored as a digest only", async () => {
    const token = await tokenOf(PROJECT);
    const { store } = world;
    const runtime = world.world.spawn();
    const again = createIdentity({ ...runtime, sql: store.database, digests: quickDigests });
    expect(again.validate(token)).toMatchObject({ userName: "admin" });
    expect(await again.ensurePassword("admin", world.passwords.admin)).toBe(world.passwords.admin);
    const stored = JSON.stringify([
      store.database.all("SELECT * FROM identity_tokens"),
      store.database.all("SELECT * FROM identity_passwords"),
    ]);
    expect(stored).not.toContain(token);
    expect(stored).not.toContain(world.passwords.admin);
  });

  test("it can be revoked by its holder", async () => {
    const token = await tokenOf(PROJECT, "admin");
    const headers = { "x-subject-token": token };
    expect((await world.ask({ method: "DELETE", url: TOKENS, token, headers })).status).toBe(204);
    expect((await world.ask({ url: TOKENS, headers })).status).toBe(404);
    expect((await world.ask({ url: TOKENS, token, headers })).status).toBe(401);
  });

  test("another user's token can be read only by administrators and services", async () => {
    const admins = await tokenOf(PROJECT);
    const demos = await tokenOf({ project: { name: "demo", domain: { id: "default" } } }, "demo");
    const look = (token: string, subject: string, method = "GET") =>
      world.ask({ method, url: TOKENS, token, headers: { "x-subject-token": subject } });
    expect((await look(demos, admins)).message).toBe(
      "You are not authorized to perform the requested action: identity:validate_token.",
    );
    expect((await look(demos, admins, "DELETE")).status).toBe(403);
    expect((await look(admins, demos)).status).toBe(200);
    expect((await look(world.apis.identity.issueServiceToken("nova").token, demos)).status).toBe(200);
    expect((await look(demos, demos, "HEAD")).body).toBe("");
    expect((await look(admins, "gAAAA")).status).toBe(404);
  });

  test("a new password ends the tokens of the old one", async () => {
    const token = await tokenOf(PROJECT);
    const password = await world.apis.identity.ensurePassword("admin", "forgotten");
    expect(password).not.toBe(world.passwords.admin);
    expect(world.apis.identity.validate(token)).toBeUndefined();
    expect((await login(passwordAuth("admin", world.passwords.admin, PROJECT))).status).toBe(401);
    expect((await login(passwordAuth("admin", password, PROJECT))).status).toBe(201);
  });

  test("expired tokens are removed, and the number of live ones is limited", async () => {
    const { database } = world.store;
    await tokenOf(PROJECT);
    await world.world.advance(3_600_000);
    const newest = await tokenOf(PROJECT);
    expect(database.get("SELECT count(*) FROM identity_tokens")).toEqual([1]);
    database.run(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO identity_tokens (digest, user_id, system, methods, audit_ids, issued_at, expires_at)
       SELECT 'x' || i, 'u', 0, '', '', 0, ? FROM n`,
      MAX_LIVE_TOKENS,
      world.world.now + 1000,
    );
    expect(world.apis.identity.validate(newest)).toBeDefined();
    await tokenOf(PROJECT);
    expect(database.get("SELECT count(*) FROM identity_tokens")).toEqual([MAX_LIVE_TOKENS]);
    expect(world.apis.identity.validate(newest)).toBeDefined();
  });

  test("services get tokens without a password", () => {
    const { token, expiresAt } = world.apis.identity.issueServiceToken("nova");
    expect(world.apis.identity.validate(token)).toMatchObject({
      userName: "nova",
      projectName: "service",
      roles: ["reader", "member", "manager", "admin", "service"],
      expiresAt,
    });
  });
});

describe("lists", () => {
  test.each([
    ["users", ["admin", "demo", "nova", "placement"]],
    ["projects", ["admin", "demo", "service"]],
    ["domains", ["Default"]],
    ["roles", ["reader", "member", "manager", "admin", "service"]],
    ["services", ["keystone", "nova", "placement", "glance", "neutron", "cinder", "cinderv3", "ironic"]],
  ])("%s", async (plural, names) => {
    const reply = await world.ask({ url: `/identity/v3/${plural}` });
    const members = reply.json(plural) as { id: string; name: string }[];
    expect(members.map(({ name }) => name)).toEqual(names);
    expect(reply.json("links")).toEqual({
      next: null,
      previous: null,
      self: `http://127.0.0.1:8774/identity/v3/${plural}`,
    });
    const one = await world.ask({ url: `/identity/v3/${plural}/${members[0]?.id}` });
    expect(one.json(plural.slice(0, -1), "name")).toBe(names[0]);
    const demo = await world.ask({ url: `/identity/v3/${plural}`, token: await world.token("demo") });
    expect([demo.status, demo.message]).toEqual([
      403,
      `You are not authorized to perform the requested action: identity:list_${plural}.`,
    ]);
  });

  test("by name, by id, and missing records", async () => {
    expect((await world.ask({ url: "/identity/v3/projects?name=demo" })).json("projects")).toHaveLength(1);
    const missing = await world.ask({ url: "/identity/v3/projects/nothing" });
    expect([missing.status, missing.message]).toEqual([404, "Could not find project: nothing."]);
    const own = `/identity/v3/projects/${world.projectId("demo")}`;
    expect((await world.ask({ url: own, token: await world.token("demo") })).status).toBe(200);
  });

  test("the caller's projects and system", async () => {
    const token = await world.token("demo");
    const mine = await world.ask({ url: "/identity/v3/auth/projects", token });
    expect((mine.json("projects") as { name: string }[]).map(({ name }) => name)).toEqual(["demo"]);
    expect((await world.ask({ url: "/identity/v3/auth/system", token })).json("system")).toEqual([]);
    expect((await world.ask({ url: "/identity/v3/auth/catalog", token })).json("catalog")).toHaveLength(8);
    expect((await world.ask({ url: "/identity/v3/auth/projects", token: "" })).status).toBe(401);
  });

  test("GET / lists the versions", async () => {
    const reply = await world.ask({ url: "/identity/", token: "" });
    expect([reply.status, reply.json("versions", "values")]).toMatchObject([300, [{ id: "v3.14" }]]);
  });
});

test("an unexpected error is logged with its request, and the response has no details", async () => {
  const scrypt = async () => {
    throw new Error("out of memory");
  };
  const digests = { ...quickDigests, scrypt };
  const identity = createIdentity({ ...world.runtime, sql: world.store.database, digests });
  const reply = await identity.handle({
    method: "POST",
    path: "/v3/auth/tokens",
    query: "",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(passwordAuth("nobody", "hunter2")),
    baseUrl: "http://127.0.0.1:8774/identity",
  });
  expect(reply.status).toBe(500);
  expect(JSON.parse(String(reply.body))).toMatchObject({
    error: { message: "An unexpected error prevented the server from fulfilling your request." },
  });
  const err = expect.objectContaining({ message: "out of memory" });
  expect(world.runtime.logs).toContainEqual(
    expect.objectContaining({ level: "error", fields: { err, method: "POST", path: "/v3/auth/tokens" } }),
  );
  expect(JSON.stringify(world.runtime.logs)).not.toContain("hunter2");
});
