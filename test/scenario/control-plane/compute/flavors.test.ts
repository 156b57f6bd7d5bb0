import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
});

function create(flavor: unknown, version = 1, token?: string) {
  return world.ask({ method: "POST", url: "/compute/v2.1/flavors", version, token, body: { flavor } });
}
const BASE = { name: "new", ram: 64, vcpus: 1, disk: 0 };

describe("create", () => {
  test("accepts numbers as strings, and generates an absent id", async () => {
    const reply = await create({ ...BASE, ram: "64", swap: "512", rxtx_factor: "1.5" });
    expect(reply.json("flavor")).toMatchObject({ ram: 64, swap: 512, rxtx_factor: 1.5, disk: 0 });
    expect(reply.json("flavor", "id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each<[string, unknown, number, number, string]>([
    ["the id of another", { ...BASE, id: "1" }, 1, 409, "Flavor with ID 1 already exists."],
    ["the name of another", { ...BASE, name: "m1.tiny" }, 1, 409, "Flavor with name m1.tiny already exists."],
    [
      "no memory",
      { ...BASE, ram: 0 },
      1,
      400,
      "Invalid input for field/attribute ram. Value: 0. 0 is less than the minimum of 1",
    ],
    ["a fraction", { ...BASE, ram: 1.5 }, 1, 400, "1.5 is not of type 'integer', 'string'"],
    ["too much", { ...BASE, disk: 2 ** 31 }, 1, 400, "2147483648 is greater than the maximum of 2147483647"],
    ["a description before 2.55", { ...BASE, description: "x" }, 54, 400, "('description' was unexpected)"],
    ["nothing", {}, 1, 400, "'name' is a required property"],
  ])("rejects %s", async (_name, flavor, version, status, message) => {
    const reply = await create(flavor, version);
    expect([reply.status, reply.message]).toEqual([status, expect.stringContaining(message)]);
    expect(world.store.flavors.list()).toHaveLength(1);
  });

  test("is for administrators only", async () => {
    const reply = await create(BASE, 1, await world.token("demo"));
    expect(reply.message).toBe("Policy doesn't allow os_compute_api:os-flavor-manage:create to be performed.");
  });
});

describe("show and list", () => {
  const ids = async (query: string, token?: string) => {
    const reply = await world.ask({ url: `/compute/v2.1/flavors${query}`, token });
    return (reply.json("flavors") as { id: string }[]).map(({ id }) => id);
  };

  test.each([
    ["", ["1", "3"]],
    ["?is_public=None", ["1", "2", "3"]],
    ["?is_public=False", ["2"]],
    ["?minRam=1000", ["3"]],
    ["?minDisk=2", ["3"]],
    ["?sort_key=memory_mb&sort_dir=desc", ["3", "1"]],
    ["?limit=1", ["1"]],
    ["?marker=1", ["3"]],
  ])("%s", async (query, expected) => {
    world.flavor({ flavorid: "3", name: "big", memoryMb: 4096, rootGb: 9 });
    world.flavor({ flavorid: "2", name: "private", isPublic: false });
    expect(await ids(query)).toEqual(expected);
  });

  test("only administrators see flavors that are not public", async () => {
    world.flavor({ flavorid: "2", name: "private", isPublic: false });
    const token = await world.token("demo");
    expect(await ids("?is_public=None", token)).toEqual(["1"]);
    const reply = await world.ask({ url: "/compute/v2.1/flavors/2", token });
    expect([reply.status, reply.message]).toEqual([404, "Flavor 2 could not be found."]);
  });

  test.each<[number, object]>([
    [1, { swap: "" }],
    [55, { description: null }],
    [61, { extra_specs: {} }],
    [75, { swap: 0 }],
  ])("2.%i returns %j", async (version, members) => {
    const getFlavor = async (minor: number) =>
      (await world.ask({ url: "/compute/v2.1/flavors/1", version: minor })).json("flavor");
    expect(await getFlavor(version)).toMatchObject(members);
    if (version > 1) {
      expect(await getFlavor(version - 1)).not.toMatchObject(members);
    }
  });
});

test("2.55 the description can be changed", async () => {
  const put = (version: number) =>
    world.ask({ method: "PUT", url: "/compute/v2.1/flavors/1", version, body: { flavor: { description: "small" } } });
  expect((await put(54)).status).toBe(404);
  expect((await put(55)).json("flavor", "description")).toBe("small");
});

test("extra specs are created, read, updated and deleted", async () => {
  const at = (method: string, path: string, body?: unknown) =>
    world.ask({ method, url: `/compute/v2.1/flavors/1/os-extra_specs${path}`, body });
  const specs = { "resources:VCPU": 2, "hw:cpu_policy": "shared" };
  expect((await at("POST", "", { extra_specs: specs })).json("extra_specs")).toEqual({
    ...specs,
    "resources:VCPU": "2",
  });
  expect((await at("PUT", "/hw:cpu_policy", { "hw:cpu_policy": "dedicated" })).status).toBe(200);
  expect((await at("PUT", "/hw:cpu_policy", { other: "x" })).message).toBe("Request body and URI mismatch");
  expect((await at("GET", "/hw:cpu_policy")).json()).toEqual({ "hw:cpu_policy": "dedicated" });
  expect((await at("DELETE", "/hw:cpu_policy")).status).toBe(200);
  expect((await at("DELETE", "/hw:cpu_policy")).message).toBe("Flavor 1 has no extra specs with key hw:cpu_policy.");
  expect((await at("GET", "")).json("extra_specs")).toEqual({ "resources:VCPU": "2" });
  const nothing = await at("POST", "", { extra_specs: {} });
  expect([nothing.status, nothing.json()]).toEqual([200, { extra_specs: {} }]);
  expect((await at("GET", "")).json("extra_specs")).toEqual({ "resources:VCPU": "2" });
  expect((await at("PUT", "/hw:cpu_policy", {})).message).toBe("{} does not have enough properties");
});

describe("quotas and limits", () => {
  test("return the usage, and no limits", async () => {
    world.host("devstack1");
    world.server("devstack1");
    const limits = await world.ask({ url: "/compute/v2.1/limits" });
    expect(limits.json("limits", "absolute")).toMatchObject({
      maxTotalInstances: -1,
      totalInstancesUsed: 1,
      totalCoresUsed: 1,
      totalRAMUsed: 512,
      maxImageMeta: -1,
    });
    const project = world.projectId("admin");
    const detail = await world.ask({ url: `/compute/v2.1/os-quota-sets/${project}/detail` });
    expect(detail.json("quota_set", "cores")).toEqual({ in_use: 1, limit: -1, reserved: 0 });
  });

  test.each([
    [35, ["floating_ips", "injected_files"]],
    [36, ["injected_files"]],
    [57, []],
  ])("2.%i still returns %j", async (version, expected) => {
    const url = `/compute/v2.1/os-quota-sets/${world.projectId("admin")}`;
    const names = Object.keys((await world.ask({ url, version })).json("quota_set") as object);
    expect(["floating_ips", "injected_files"].filter((name) => names.includes(name))).toEqual(expected);
  });
});
