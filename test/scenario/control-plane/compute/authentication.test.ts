import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { GONE_ROUTES } from "../../../../src/control-plane/compute/api/gone.js";
import { COMPUTE_ROUTES } from "../../../../src/control-plane/compute/compute-api.js";
import { Router } from "../../../../src/control-plane/http/router.js";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";
import { ENDPOINTS, type Endpoint } from "../../../unit/control-plane/compute/route-table.js";

/** A string that no response to an unauthorized caller may contain. */
const SECRET = "payroll";

let world: ApiWorld;
/** All database rows of the shared world. */
let rows: string;
let names: Readonly<Record<string, string>>;

/** All tests share one world, since rejected requests change nothing. */
beforeAll(async () => build(await ApiWorld.shared()));

function build(created: ApiWorld): void {
  world = created;
  world.flavor();
  world.flavor({ flavorid: "2", name: "m1.small", memoryMb: 2048 });
  const service = world.host("devstack1");
  world.store.aggregates.create({ name: "rack1", metadata: {} });
  const project = world.projectId("demo");
  const { uuid } = world.server("devstack1", { projectId: project, displayName: SECRET, metadata: { key: SECRET } });
  const node = world.store.computeNodes.byHost("devstack1")[0]?.uuid ?? "";
  const owner = { projectId: project, userId: world.userId("demo") };
  const group = world.store.serverGroups.create({ ...owner, name: SECRET, policy: "affinity", maxServerPerHost: 0 });
  names = { group: group.uuid, server: uuid, service: service.uuid, node, project };
  addForeignToken("reader", project, ["reader"]);
  addForeignToken("nobody", project, []);
  addForeignToken("other", "f".repeat(32), ["reader", "member"]);
  rows = dump();
}

function addForeignToken(token: string, projectId: string, roles: readonly string[]): void {
  const user = { userId: token, userName: token, domainId: "default", systemScope: null, projectName: token };
  world.externalTokens.set(token, { ...user, projectId, roles, expiresAt: Number.MAX_SAFE_INTEGER });
}

const filled = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (match, name: string) => names[name] ?? match);

function open({ method, path, body, version = 72 }: Endpoint, token: string) {
  return world.ask({
    method,
    url: `/compute/v2.1${filled(path)}`,
    ...(body === undefined ? {} : { body: filled(JSON.stringify(body)) }),
    version,
    token,
  });
}

function dump(): string {
  const tables = world.store.database
    .all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'identity_%' ORDER BY name")
    .map(([name]) => [name, world.store.database.all(`SELECT * FROM ${String(name)}`)]);
  return JSON.stringify(tables);
}

/** Expects one of the statuses, no change of the database, and no data of the server in the response. */
async function expectRejected(endpoint: Endpoint, token: string, ...statuses: readonly number[]) {
  const reply = await open(endpoint, token);
  expect(statuses, reply.body).toContain(reply.status);
  expect(reply.body).not.toContain(SECRET);
  expect(dump()).toBe(rows);
  expect(world.casts).toEqual([]);
  return reply;
}

function named(endpoints: readonly Endpoint[]) {
  return endpoints.map(
    (endpoint) =>
      [
        `${endpoint.method} ${endpoint.path} ${endpoint.body === undefined ? "" : JSON.stringify(endpoint.body)}`,
        endpoint,
      ] as const,
  );
}
const writing = ENDPOINTS.filter(({ level }) => level === "member");
const administrative = ENDPOINTS.filter(({ level }) => level === "admin");
const ofServers = ENDPOINTS.filter(({ path }) => path.includes("{server}"));

test("the table has all routes except those that respond with 410", () => {
  const routes = COMPUTE_ROUTES.filter((route) => !GONE_ROUTES.includes(route));
  const router = new Router(COMPUTE_ROUTES);
  const matches = ENDPOINTS.map(({ method, path }) => router.match(method, path));
  expect(routes.filter((route) => !matches.some((match) => match.kind === "found" && match.route === route))).toEqual(
    [],
  );
});

test.each(named(ENDPOINTS))("a missing, a forged and a roleless token are rejected: %s", async (_name, endpoint) => {
  const token = await world.token("admin");
  for (const wrong of ["", "gAAAAAB", `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`]) {
    const reply = await expectRejected(endpoint, wrong, 401);
    expect(reply.json("error", "message")).toBe("The request you have made requires authentication.");
  }
  const open = ["GET /flavors", "GET /flavors/detail", "GET /flavors/1"].includes(
    `${endpoint.method} ${endpoint.path}`,
  );
  if (!open && endpoint.level !== "nobody") {
    await expectRejected(endpoint, "nobody", 403, 404);
  }
});

test.each(named([...writing, ...administrative]))(
  "the role reader alone is rejected with 403: %s",
  async (_name, endpoint) => {
    const reply = await expectRejected(endpoint, "reader", 403);
    expect(reply.message).toMatch(/^Policy doesn't allow \S+ to be performed\.$/);
  },
);

test.each(named(administrative))("a member is rejected with 403: %s", async (_name, endpoint) => {
  const reply = await expectRejected(endpoint, await world.token("demo"), 403);
  expect(reply.message).toMatch(/^Policy doesn't allow \S+ to be performed\.$/);
});

test.each(named(ofServers))("another project's server is a 404: %s", async (_name, endpoint) => {
  const reply = await expectRejected(endpoint, "other", ...(endpoint.level === "admin" ? [403, 404] : [404]));
  if (reply.status === 404) {
    expect(reply.message).toBe(`Instance ${names.server} could not be found.`);
  }
});

describe("in a separate deployment", () => {
  beforeEach(async () => build(await ApiWorld.open()));

  test("every route rejects a revoked and an expired token", async () => {
    const [revoked, token] = [await world.token("demo"), await world.token("admin")];
    const headers = { "x-subject-token": revoked };
    await world.ask({ method: "DELETE", url: "/identity/v3/auth/tokens", token, headers });
    for (const endpoint of ENDPOINTS) {
      await expectRejected(endpoint, revoked, 401);
    }
    await world.world.advance(3_600_000);
    for (const endpoint of ENDPOINTS) {
      await expectRejected(endpoint, token, 401);
    }
  });

  test.each(named(ENDPOINTS))("an authorized caller gets neither 401 nor 403: %s", async (_name, endpoint) => {
    const user = endpoint.level === "admin" ? await world.token("admin") : endpoint.level;
    const token = user === "member" ? await world.token("demo") : user;
    expect([401, 403]).not.toContain((await open(endpoint, token)).status);
  });
});
