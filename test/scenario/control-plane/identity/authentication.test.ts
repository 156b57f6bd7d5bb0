import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, passwordAuth } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
});

const COLLECTIONS = ["users", "projects", "domains", "roles", "services", "endpoints"];
/** Paths for administrators only. */
const LISTS = [
  ...COLLECTIONS.flatMap((plural) => [plural, `${plural}/unknown`]),
  "role_assignments",
  "groups",
  "policies",
];
/** Paths for every authenticated user. */
const OWN = ["auth/catalog", "auth/projects", "auth/domains", "auth/system", "auth/tokens", "regions"];
const IMAGES = ["images", "images/c0ffee00-0000-4000-8000-000000000001", "schemas/image", "schemas/images"];
const ALL = [...[...LISTS, ...OWN].map((path) => `/identity/v3/${path}`), ...IMAGES.map((path) => `/image/v2/${path}`)];

function get(url: string, token: string) {
  return world.ask({ url, token, headers: url.endsWith("auth/tokens") ? { "x-subject-token": token } : {} });
}

describe.each(ALL)("GET %s", (url) => {
  test("a missing, a forged and an expired token are rejected with 401", async () => {
    const token = await world.token("admin");
    expect([401, 403]).not.toContain((await get(url, token)).status);
    for (const wrong of ["", "gAAAAAB", `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`]) {
      const reply = await get(url, wrong);
      expect([reply.status, reply.message]).toEqual([401, "The request you have made requires authentication."]);
      expect(reply.headers["www-authenticate"]).toBe('Keystone uri="http://127.0.0.1:8774/identity"');
    }
    await world.world.advance(3_600_000);
    expect((await get(url, token)).status).toBe(401);
  });
});

test.each(LISTS)("GET /identity/v3/%s is for administrators only: 403", async (path) => {
  const reply = await get(`/identity/v3/${path}`, await world.token("demo"));
  expect(reply.status).toBe(403);
  expect(reply.message).toMatch(/^You are not authorized to perform the requested action: identity:\w+\.$/);
});

test("every user may read their own resources", async () => {
  const token = await world.token("demo");
  for (const path of [...OWN, `projects/${world.projectId("demo")}`]) {
    expect((await get(`/identity/v3/${path}`, token)).status, path).toBe(200);
  }
  expect((await get("/image/v2/images", token)).status).toBe(200);
});

describe.each([
  ["POST", "/image/v2/images", { name: "new" }],
  ["PATCH", "/image/v2/images/c0ffee00-0000-4000-8000-000000000001", [{ op: "remove", path: "/name" }]],
  ["PUT", "/image/v2/images/c0ffee00-0000-4000-8000-000000000001/file", "bytes"],
  ["DELETE", "/image/v2/images/c0ffee00-0000-4000-8000-000000000001", undefined],
] as const)("%s %s", (method, url, body) => {
  const ask = (token: string) => world.ask({ method, url, token, ...(body === undefined ? {} : { body }) });

  test("is rejected without a token with 401 and for the role reader with 403", async () => {
    expect((await ask("")).status).toBe(401);
    expect((await ask("gAAAAAB")).status).toBe(401);
    becomeReader();
    expect((await ask("reader")).status).toBe(403);
  });
});

function becomeReader(): void {
  const user = { userId: "reader", userName: "reader", domainId: "default", systemScope: null };
  const project = { projectId: world.projectId("demo"), projectName: "demo" };
  world.externalTokens.set("reader", { ...user, ...project, roles: ["reader"], expiresAt: Number.MAX_SAFE_INTEGER });
}

test("images can be read with the role reader alone", async () => {
  becomeReader();
  for (const path of IMAGES) {
    expect((await get(`/image/v2/${path}`, "reader")).status, path).toBe(200);
  }
});

test("another user's token is neither returned nor revoked", async () => {
  const [demo, admin] = [await world.token("demo"), await world.token("admin")];
  for (const method of ["GET", "DELETE"]) {
    const headers = { "x-subject-token": admin };
    const reply = await world.ask({ method, url: "/identity/v3/auth/tokens", token: demo, headers });
    expect(reply.status).toBe(403);
  }
  expect(world.apis.identity.validate(admin)).toBeDefined();
});

test("a wrong password and an unknown user get the same response", async () => {
  const login = async (user: string, password: string) => {
    const body = passwordAuth(user, password, { project: { name: "admin", domain: { id: "default" } } });
    const reply = await world.ask({ method: "POST", url: "/identity/v3/auth/tokens", token: "", body });
    return [reply.status, reply.body];
  };
  const [wrong, unknown] = [await login("admin", world.passwords.demo), await login("nobody", "x")];
  expect(wrong).toEqual(unknown);
  expect(wrong[0]).toBe(401);
});

/** Requests that change something. */
const CHANGES: readonly (readonly [method: string, path: string])[] = [
  ...["users", "projects", "domains", "groups", "roles", "services", "endpoints", "regions", "policies"].flatMap(
    (plural): [string, string][] => [
      ["POST", plural],
      ["PATCH", `${plural}/unknown`],
      ["DELETE", `${plural}/unknown`],
    ],
  ),
  ...["projects/x", "domains/x", "system", "OS-INHERIT/projects/x"].flatMap((where): [string, string][] => {
    const role = `${where}/users/x/roles/x${where.startsWith("OS-INHERIT") ? "/inherited_to_projects" : ""}`;
    return [
      ["PUT", role],
      ["DELETE", role],
    ];
  }),
  ["PUT", "groups/x/users/x"],
  ["DELETE", "groups/x/users/x"],
  ["PUT", "roles/x/implies/x"],
  ["PUT", "projects/x/tags/x"],
  ["PUT", "domains/x/config"],
  ["POST", "credentials"],
  ["POST", "users/x/application_credentials"],
  ["POST", "users/x/credentials/OS-EC2"],
  ["POST", "OS-OAUTH1/consumers"],
  ["POST", "OS-EP-FILTER/endpoint_groups"],
];

test.each(CHANGES)("%s /identity/v3/%s: 401 without a token, 403 for members", async (method, path) => {
  const ask = (token: string) => world.ask({ method, url: `/identity/v3/${path}`, token, body: {} });
  expect((await ask("")).status).toBe(401);
  const reply = await ask(await world.token("demo"));
  expect(reply.status).toBe(403);
  expect(reply.message).toMatch(/^You are not authorized to perform the requested action: identity:\w+\.$/);
});
