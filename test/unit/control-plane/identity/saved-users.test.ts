import { beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { Sql } from "../../../../src/control-plane/database/sql.js";
import { writeCloudsYaml } from "../../../../src/control-plane/identity/clouds-yaml.js";
import { createIdentity, type Identity } from "../../../../src/control-plane/identity/identity.js";
import { IdentityStore } from "../../../../src/control-plane/identity/store/identity-store.js";
import { newProject } from "../../../../src/control-plane/identity/store/records.js";
import { SeededIdentityStore } from "../../../../src/control-plane/identity/store/seeded-identities.js";
import type { Runtime } from "../../../../src/runtime/runtime.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { quickDigests } from "../../../fixtures/quick-digests.js";

let sql: Sql;
let runtime: Runtime;

beforeEach(() => {
  runtime = new VirtualWorld().spawn({ name: "control-plane" });
  sql = emptyStore({ runtime }).database;
  // Creates the tables.
  started();
});

/** Starts Identity, which reads the saved users. */
function started(): Identity {
  return createIdentity({ ...runtime, sql, digests: quickDigests });
}

function createSeededStore(): SeededIdentityStore {
  return new SeededIdentityStore(new IdentityStore(sql), quickDigests);
}

async function tokenOf(identity: Identity, cloud: string): Promise<{ status: number; token: string }> {
  await writeCloudsYaml(runtime.files, "/clouds.yaml", identity, "http://127.0.0.1/identity/v3");
  const { auth } = parse(await runtime.files.read("/clouds.yaml")).clouds[cloud];
  const domain = { id: "default" };
  const body = {
    auth: {
      identity: { methods: ["password"], password: { user: { name: auth.username, domain, password: auth.password } } },
      scope: { project: { name: auth.project_name, domain } },
    },
  };
  const { status, headers } = await identity.handle({
    method: "POST",
    path: "/v3/auth/tokens",
    query: "",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    baseUrl: "http://127.0.0.1/identity",
  } as never);
  return { status, token: headers["x-subject-token"] ?? "" };
}

const RESEARCH = { name: "research", description: "" };
const ADA = { name: "ada", roles: { research: ["member"], demo: ["reader"] } };

describe("users of a cluster file", () => {
  test("log in by clouds.yaml, and have their roles", async () => {
    const seededStore = createSeededStore();
    seededStore.putProject(RESEARCH);
    seededStore.putUser(ADA);
    const identity = started();
    const { status, token } = await tokenOf(identity, "devstack-ada");
    expect(status).toBe(201);
    expect(identity.validate(token)).toMatchObject({
      userName: "ada",
      projectName: "research",
      roles: ["reader", "member"],
      systemScope: null,
    });
    expect(identity.hasProject(identity.validate(token)?.projectId ?? "")).toBe(true);
  });

  test("lose everything when they are removed", async () => {
    const seededStore = createSeededStore();
    seededStore.putProject(RESEARCH);
    seededStore.putUser(ADA);
    const identity = started();
    const { token } = await tokenOf(identity, "devstack-ada");
    const id = identity.validate(token)?.userId ?? "";
    seededStore.removeUser("ada");
    expect(started().validate(token)).toBeUndefined();
    expect(sql.all("SELECT 1 FROM identity_passwords WHERE user_id = ?", id)).toEqual([]);
  });

  test("get no system role from a project named system", async () => {
    const seededStore = createSeededStore();
    seededStore.putProject({ name: "system", description: "" });
    seededStore.putUser({ name: "ada", roles: { system: ["admin"] } });
    const identity = started();
    const { token } = await tokenOf(identity, "devstack-ada");
    expect(identity.validate(token)).toMatchObject({
      roles: ["reader", "member", "manager", "admin"],
      projectName: "system",
      systemScope: null,
    });
    const { userId = "" } = identity.validate(token) ?? {};
    const admin = await tokenOf(identity, "devstack");
    expect(identity.validate(admin.token)?.roles).toContain("admin");
    const scoped = await identity.handle({
      method: "POST",
      path: "/v3/auth/tokens",
      query: "",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        auth: { identity: { methods: ["token"], token: { id: token } }, scope: { system: { all: true } } },
      }),
      baseUrl: "http://127.0.0.1/identity",
    } as never);
    expect([scoped.status, userId.length]).toEqual([401, 32]);
  });

  test("do not include users created through the API; a file that names one takes it over unchanged", async () => {
    const store = new IdentityStore(sql);
    store.users.insert({ id: "u1", name: "ada", domain_id: "default", enabled: true, options: {} });
    store.projects.insert(newProject("p1", "research"));
    expect(createSeededStore().read()).toEqual({ projects: [], users: [] });
    createSeededStore().putProject({ ...RESEARCH, description: "of Ada" });
    createSeededStore().putUser(ADA);
    expect(store.users.named("ada", "default")?.id).toBe("u1");
    expect(store.projects.get("p1")?.description).toBe("of Ada");
    expect(createSeededStore().read().users).toEqual([ADA]);
    createSeededStore().putUser({ name: "ada", roles: { demo: ["reader"] } });
    expect(createSeededStore().read().users).toEqual([{ name: "ada", roles: { demo: ["reader"] } }]);
  });

  test("of every cluster are restored at the next start", async () => {
    const store = new IdentityStore(sql);
    const nova = store.users.named("nova", "default");
    store.users.delete(nova?.id ?? "");
    const admin = store.users.named("admin", "default");
    store.users.update({ ...admin, name: "root" } as typeof admin & object);
    const identity = started();
    expect(identity.validate(identity.issueServiceToken("nova").token)?.userName).toBe("nova");
    expect(await identity.ensurePassword("admin")).toHaveLength(32);
  });
});
