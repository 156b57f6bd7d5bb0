import { beforeEach, describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { NOVA_QUOTA } from "../../../fixtures/quota.js";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

const V = "/compute/v2.1";

let world: ApiWorld;
let demo: string;
let project: string;

beforeEach(async () => {
  world = await ApiWorld.open(60);
  world.quota.defaults = { ...NOVA_QUOTA.defaults };
  world.flavor();
  world.flavor({ flavorid: "2", name: "m1.big", vcpus: 4, memoryMb: 8192, rootGb: 1 });
  world.host("devstack1");
  demo = await world.token("demo");
  project = world.projectId("demo");
});

const get = (path: string, version = 60, token?: string) => world.ask({ url: V + path, version, token });

function put(limits: Readonly<Record<string, unknown>>, query = "", version = 60) {
  return world.ask({
    method: "PUT",
    url: `${V}/os-quota-sets/${project}${query}`,
    body: { quota_set: limits },
    version,
  });
}

/** Creates a server as the user `demo`. */
function create(
  server: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
  version = 37,
) {
  const fullServer = { name: "vm", flavorRef: "1", imageRef: CIRROS, networks: "none", ...server };
  return world.ask({
    method: "POST",
    url: `${V}/servers`,
    version,
    token: demo,
    body: { server: fullServer, ...more },
  });
}

const pending = () => world.store.requests.buildRequests(project).length;

function placed(changes: Partial<Instance> = {}): Instance {
  const whose = { projectId: project, userId: world.userId("demo"), ...changes };
  return world.server("devstack1", whose as never);
}

describe("6.11 limits of servers", () => {
  test.each<[string, Record<string, number>, Record<string, unknown>, string]>([
    ["instances", { instances: 2 }, {}, "instances: Requested 1, but already used 2 of 2 instances"],
    ["cores", { cores: 5 }, { flavorRef: "2" }, "cores: Requested 4, but already used 2 of 5 cores"],
    ["ram", { ram: 1024 }, {}, "ram: Requested 512, but already used 1024 of 1024 ram"],
    [
      "all of them",
      { instances: 2, cores: 2, ram: 1025 },
      {},
      "cores, instances, ram: Requested 1, 1, 512, but already used 2, 2, 1024 of 2, 2, 1025 cores, instances, ram",
    ],
  ])("%s: 403 with Nova's message, and nothing is created", async (_what, limits, server, message) => {
    expect((await put(limits)).status).toBe(200);
    placed();
    await create();
    const rejection = await create(server);
    expect([rejection.status, rejection.message]).toEqual([403, `Quota exceeded for ${message}`]);
    expect(pending()).toBe(1);
  });

  test("several servers: as many as the limits allow, or none if min_count is not reached", async () => {
    await put({ cores: 9 });
    const rejection = await create({ flavorRef: "2", min_count: 3, max_count: 5 });
    expect(rejection.message).toBe("Quota exceeded for cores: Requested 20, but already used 0 of 9 cores");
    await put({ instances: 2 });
    expect((await create({ min_count: 3, max_count: 5 })).message).toBe(
      "Quota exceeded for instances: Requested 3-5, but already used 0 of 2 instances",
    );
    await put({ instances: -1 });
    expect((await create({ flavorRef: "2", min_count: 1, max_count: 5 })).status).toBe(202);
    expect(pending()).toBe(2);
    expect((await create({ min_count: 1, max_count: 9 })).status).toBe(202);
    expect(pending()).toBe(3);
  });

  test("a soft-deleted server does not count until it is restored; a shelved one counts", async () => {
    await put({ instances: 1 });
    const vm = placed({ vmState: "shelved_offloaded" } as never);
    expect((await create()).status).toBe(403);
    world.store.instances.save(vm.uuid, { vmState: "soft-delete" });
    expect((await create()).status).toBe(202);
    const restored = await world.act(vm, { restore: null }, 1, demo);
    expect([restored.status, restored.message]).toEqual([
      403,
      "Quota exceeded for instances: Requested 1, but already used 1 of 1 instances",
    ]);
    await put({ instances: 2 });
    expect((await world.act(vm, { restore: null }, 1, demo)).status).toBe(202);
    expect((await create()).status, "during the restore").toBe(403);
  });

  test("a resize counts the difference of the flavors; a rejected revert is 413", async () => {
    await put({ cores: 3 });
    const vm = placed();
    const resized = await world.act(vm, { resize: { flavorRef: "2" } }, 1, demo);
    expect([resized.status, resized.message]).toEqual([
      403,
      "Quota exceeded for cores: Requested 3, but already used 1 of 3 cores",
    ]);
    await put({ cores: 4 });
    expect((await world.act(vm, { resize: { flavorRef: "2" } }, 1, demo)).status).toBe(202);
    const big = world.store.flavors.getByFlavorid("2") ?? expect.fail("no flavor");
    const down = placed({ vmState: "resized", oldFlavor: big } as never);
    const changes = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack1" };
    const migration = { instanceUuid: down.uuid, migrationType: "resize", status: "finished", changes } as const;
    world.store.migrations.create(migration);
    const reverted = await world.act(down, { revertResize: null }, 1, demo);
    expect([reverted.status, Object.keys(reverted.json() as object)]).toEqual([413, ["overLimit"]]);
    await put({ cores: -1 });
    expect((await world.act(down, { revertResize: null }, 1, demo)).status).toBe(202);
  });

  test("a user's limit applies in addition to the project's", async () => {
    await put({ instances: 1 }, `?user_id=${world.userId("demo")}`);
    placed({ userId: "somebody else" } as never);
    expect((await create()).status, "other users' servers do not count").toBe(202);
    expect((await create()).message).toBe(
      "Quota exceeded for instances: Requested 1, but already used 1 of 1 instances",
    );
    await put({ instances: 2 });
    expect((await create()).message).toContain("already used 2 of 2 instances");
  });

  test("concurrent requests cannot both take the last server", async () => {
    await put({ instances: 3 });
    const replies = await Promise.all(Array.from({ length: 8 }, () => create()));
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(3);
    expect(pending()).toBe(3);
  });

  test("NoopQuotaDriver counts nothing, and all limits are -1", async () => {
    world.quota.enforced = false;
    expect((await create({ max_count: 30 })).status).toBe(202);
    expect(pending()).toBe(30);
    const { quota_set: quotaSet } = (await get(`/os-quota-sets/${project}/detail`)).json() as never as {
      quota_set: Record<string, unknown>;
    };
    expect(quotaSet.cores).toEqual({ in_use: -1, limit: -1, reserved: -1 });
  });
});

describe("6.11 limits of other resources", () => {
  test("metadata of a server that is created, changed or rebuilt", async () => {
    await put({ metadata_items: 1 });
    const two = { a: "1", b: "2" };
    const message = "Maximum number of metadata items exceeds 1";
    const vm = placed({ metadata: { a: "1" } } as never);
    const path = `${V}/servers/${vm.uuid}/metadata`;
    const ask = (method: string, url: string, body: unknown) => world.ask({ method, url, body, token: demo });
    for (const reply of [
      await create({ metadata: two }),
      await ask("POST", path, { metadata: { b: "2" } }),
      await ask("PUT", path, { metadata: two }),
      await ask("PUT", `${path}/b`, { meta: { b: "2" } }),
      await world.act(vm, { rebuild: { imageRef: CIRROS, metadata: two } }, 1, demo),
    ]) {
      expect([reply.status, reply.message]).toEqual([403, message]);
    }
    const image = (version: number) => world.act(vm, { createImage: { name: "i", metadata: two } }, version, demo);
    expect((await image(38)).message).toBe("Image metadata limit exceeded");
    expect((await image(39)).status).toBe(202);
  });

  test.each<[Record<string, number>, string]>([
    [{ injected_files: 1 }, "Personality file limit exceeded"],
    [{ injected_file_path_bytes: 2 }, "Personality file path exceeds maximum 2"],
    [{ injected_file_content_bytes: 2 }, "Personality file content exceeds maximum 2"],
  ])("injected files: %j", async (limits, message) => {
    await put(limits, "", 56);
    const file = { path: "/etc/x", contents: Buffer.from("abc").toString("base64") };
    const { networks: _networks, ...server } = { networks: undefined, personality: [file, file] };
    const rejection = await create({ ...server }, {}, 37);
    expect([rejection.status, rejection.message]).toEqual([403, message]);
  });

  test("key pairs of a user, server groups of project and user, members of a user in a group", async () => {
    await put({ key_pairs: 1, server_groups: 1, server_group_members: 2 });
    const post = (path: string, body: unknown) =>
      world.ask({ method: "POST", url: V + path, body, version: 64, token: demo });
    const pairs = await Promise.all(["a", "b"].map((name) => post("/os-keypairs", { keypair: { name } })));
    expect(pairs.map(({ status }) => status).toSorted()).toEqual([201, 403]);
    expect(pairs.find(({ status }) => status === 403)?.message).toBe("Quota exceeded, too many key pairs.");
    const group = await post("/os-server-groups", { server_group: { name: "g", policy: "affinity" } });
    const rejection = await post("/os-server-groups", { server_group: { name: "g", policy: "affinity" } });
    expect([rejection.status, rejection.message]).toEqual([403, "Quota exceeded, too many server groups."]);
    const hints = { "os:scheduler_hints": { group: group.json("server_group", "id") } };
    expect((await create({ min_count: 3 }, hints)).message).toBe("Quota exceeded, too many servers in group");
    expect(pending()).toBe(0);
    expect((await create({ min_count: 2 }, hints)).status).toBe(202);
    expect((await create({}, hints)).status).toBe(403);
  });
});

describe("os-quota-sets", () => {
  const names = async (path: string, version: number) =>
    Object.keys((await get(path, version)).json("quota_set") as object).toSorted();
  const FILES = ["injected_file_content_bytes", "injected_file_path_bytes", "injected_files"];
  const NETWORK = ["fixed_ips", "floating_ips", "security_group_rules", "security_groups"];
  const ALWAYS = ["cores", "instances", "key_pairs", "metadata_items", "ram", "server_group_members", "server_groups"];

  test("have these resources at each microversion", async () => {
    for (const path of ["", "/defaults", "/detail"]) {
      const all = (...more: string[]) => ["id", ...ALWAYS, ...more].toSorted();
      expect(await names(`/os-quota-sets/${project}${path}`, 35)).toEqual(all(...FILES, ...NETWORK));
      expect(await names(`/os-quota-sets/${project}${path}`, 36)).toEqual(all(...FILES));
      expect(await names(`/os-quota-sets/${project}${path}`, 57)).toEqual(all());
    }
    expect((await get(`/os-quota-sets/${project}?what=1`, 75)).status).toBe(400);
  });

  test("defaults are nova.conf's, then those of the class default; a project's own override them until DELETE", async () => {
    const limit = async (path = "") => (await get(`/os-quota-sets/${project}${path}`)).json("quota_set", "instances");
    expect([await limit(), await limit("/defaults")]).toEqual([10, 10]);
    const body = { quota_class_set: { instances: "12" } };
    const changed = await world.ask({ method: "PUT", url: `${V}/os-quota-class-sets/default`, body, version: 60 });
    expect(changed.json("quota_class_set")).toMatchObject({ instances: 12, cores: 20 });
    expect([await limit(), await limit("/defaults")]).toEqual([12, 12]);
    const set = (await put({ instances: "15" })).json("quota_set") as object;
    expect([set, Object.keys(set).includes("id")]).toEqual([expect.objectContaining({ instances: 15 }), false]);
    expect([await limit(), await limit("/defaults")]).toEqual([15, 12]);
    const user = `?user_id=${world.userId("demo")}`;
    await put({ instances: 5 }, user);
    expect([await limit(user), await limit("?user_id=other")]).toEqual([5, 15]);
    const remove = (query: string) => world.ask({ method: "DELETE", url: `${V}/os-quota-sets/${project}${query}` });
    expect((await remove(user)).status).toBe(202);
    expect([await limit(user), await limit()]).toEqual([15, 15]);
    await put({ instances: 5 }, user);
    await remove("");
    expect([await limit(user), await limit()]).toEqual([12, 12]);
  });

  test("detail has the usage of the project or of a user", async () => {
    placed();
    placed({ userId: "other" } as never);
    await create();
    const detail = async (query = "") => (await get(`/os-quota-sets/${project}/detail${query}`)).json("quota_set");
    expect(await detail()).toMatchObject({
      instances: { in_use: 3, limit: 10, reserved: 0 },
      cores: { in_use: 3, limit: 20, reserved: 0 },
      ram: { in_use: 1536, limit: 51_200, reserved: 0 },
      key_pairs: { in_use: 0, limit: 100, reserved: 0 },
    });
    expect(await detail("?user_id=other")).toMatchObject({ instances: { in_use: 1 } });
  });

  test.each<[Record<string, unknown>, string, string]>([
    [{ instances: 0 }, "", "Quota limit 0 for instances must be greater than or equal to already used and reserved 1."],
    [{ cores: 3 }, "", "Quota limit 3 for cores must be greater than or equal to already used and reserved 4."],
    [{ cores: 21 }, "?user_id=new", "Quota limit 21 for cores must be less than or equal to 16."],
    [{ cores: -1 }, "?user_id=new", "Quota limit -1 for cores must be less than or equal to 16."],
    [{ networks: 1 }, "", "The networks quota has been removed"],
    [{ instances: "many" }, "", "Invalid input for field/attribute instances. Value: many. 'many' does not match"],
    [{ nothing: 1 }, "", "Additional properties are not allowed ('nothing' was unexpected)"],
    [{ cores: -2 }, "", "Invalid input for field/attribute cores. Value: -2. -2 is less than the minimum of -1"],
    [{ cores: "99999999999" }, "", "expected an integer from -1 to"],
  ])("%j%s: 400", async (limits, query, message) => {
    placed();
    await put({ cores: 4 }, "?user_id=other");
    const reply = await put(limits, query, 35);
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
    expect(world.store.quotas.limits(project, query === "" ? null : "new")).toEqual({});
  });

  test("force ignores the usage; one invalid limit leaves all unchanged", async () => {
    placed();
    expect((await put({ instances: 0, force: true })).json("quota_set", "instances")).toBe(0);
    expect((await put({ ram: 60_000, instances: 0 })).status).toBe(400);
    expect(world.store.quotas.limits(project, null)).toEqual({ instances: 0 });
  });

  test("a project that does not exist is a 400", async () => {
    for (const path of ["", "/defaults", "/detail"]) {
      const reply = await get(`/os-quota-sets/nobody${path}`);
      expect([reply.status, reply.message]).toEqual([400, "Project ID nobody is not a valid project."]);
    }
  });
});

test("os-quota-class-sets: networks until 2.49, server groups since; an unknown class has nova.conf's limits", async () => {
  const names = async (version: number) =>
    Object.keys((await get("/os-quota-class-sets/gold", version)).json("quota_class_set") as object);
  expect(await names(49)).toEqual(expect.arrayContaining(["id", "fixed_ips", "injected_files"]));
  expect(await names(49)).not.toContain("server_groups");
  expect(await names(50)).toEqual(expect.arrayContaining(["server_groups", "injected_files"]));
  expect(await names(50)).not.toContain("fixed_ips");
  expect(await names(57)).not.toContain("injected_files");
  await world.ask({
    method: "PUT",
    url: `${V}/os-quota-class-sets/default`,
    body: { quota_class_set: { cores: 7 } },
    version: 60,
  });
  expect((await get("/os-quota-class-sets/gold")).json("quota_class_set", "cores")).toBe(20);
});

test("limits: limits and usage by microversion; another project's are for administrators only", async () => {
  placed();
  await put({ cores: 33 });
  const absolute = async (version: number, query = "", token: string | undefined = demo) =>
    (await get(`/limits${query}`, version, token)).json("limits", "absolute") as Record<string, number>;
  expect(await absolute(60)).toEqual({
    maxServerMeta: 128,
    maxServerGroupMembers: 10,
    maxServerGroups: 10,
    maxTotalCores: 33,
    maxTotalInstances: 10,
    maxTotalKeypairs: 100,
    maxTotalRAMSize: 51_200,
    totalCoresUsed: 1,
    totalInstancesUsed: 1,
    totalRAMUsed: 512,
    totalServerGroupsUsed: 0,
  });
  expect(await absolute(38)).toMatchObject({ maxImageMeta: 128, maxPersonality: 5, maxPersonalitySize: 10_240 });
  expect(Object.keys(await absolute(39))).not.toContain("maxImageMeta");
  expect(await absolute(35, "?reserved=1")).toMatchObject({ maxTotalFloatingIps: -1, totalFloatingIpsUsed: 0 });
  expect((await get("/limits?reserved=1", 75)).status).toBe(400);
  expect(await absolute(60, `?tenant_id=${project}`, await world.token("admin"))).toMatchObject({ maxTotalCores: 33 });
  expect((await get(`/limits?tenant_id=${project}`, 60, demo)).status).toBe(403);
});
