import { expect, test } from "vitest";
import type { Flavor } from "../../../../src/records/index.js";
import { fillStore, serverId } from "../../../fixtures/large-cloud.js";
import { NETWORK_ID } from "../../../fixtures/test-network.js";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";
import { attachPorts } from "../../../unit/control-plane/compute/network-records.js";

/** Creates a cluster with two servers per host, whose requests count the rows that they read. */
async function cloudOf(hosts: number) {
  const world = await ApiWorld.open();
  fillStore(world.store, { hosts, servers: hosts * 2 });
  for (let n = 0; n < hosts; n += 1) {
    world.store.migrations.create({ instanceUuid: serverId(n), migrationType: "evacuation", status: "done" });
  }
  await world.token("admin");
  let rows = 0;
  const { database } = world.store;
  const all = database.all.bind(database);
  database.all = (text, ...values) => {
    const found = all(text, ...values);
    rows += found.length;
    return found;
  };
  return {
    world,
    ask: async (path: string) => {
      rows = 0;
      const reply = await world.ask({ url: `/compute/v2.1${path}`, version: 80 });
      expect(reply.status, reply.body).toBe(200);
      return { reply, rows };
    },
  };
}

const PAGES = [
  ["/os-hypervisors/detail?limit=5", "hypervisors"],
  ["/os-hypervisors?limit=5&with_servers=true", "hypervisors"],
  ["/servers/detail?all_tenants=1&limit=5", "servers"],
  ["/servers?all_tenants=1&limit=5&sort_key=display_name&sort_dir=asc", "servers"],
  ["/os-migrations?limit=5", "migrations"],
] as const;

test.each(PAGES)("%s: pages contain everything once, and each reads as few rows as the first", async (path, key) => {
  const cloud = await cloudOf(12);
  const total = key === "servers" ? 24 : 12;
  const ids: string[] = [];
  const costs: number[] = [];
  let next: string | undefined = path;
  while (next !== undefined) {
    const { reply, rows } = await cloud.ask(next);
    const page = reply.json(key) as { id: string }[];
    ids.push(...page.map(({ id }) => id));
    costs.push(rows / Math.max(1, page.length));
    const href = reply.json(`${key}_links`, 0, "href") as string | undefined;
    next = href?.slice(href.indexOf("/v2.1") + "/v2.1".length);
  }
  expect(new Set(ids).size).toBe(total);
  expect(ids).toHaveLength(total);
  expect(Math.max(...costs)).toBeLessThanOrEqual((costs[0] ?? 0) * 1.01);
});

test.each(PAGES)("%s: a page of a larger cluster reads no more rows", async (path) => {
  const [small, large] = [await cloudOf(6), await cloudOf(60)];
  expect((await large.ask(path)).rows).toBe((await small.ask(path)).rows);
});

test("lists without paging are read and serialized in pieces and are complete", async () => {
  const { world, ask } = await cloudOf(620);
  const services = (await ask("/os-services?binary=nova-compute")).reply.json("services") as { host: string }[];
  expect(new Set(services.map(({ host }) => host)).size).toBe(620);
  const zones = (await ask("/os-availability-zone/detail")).reply.json("availabilityZoneInfo", 0, "hosts");
  expect(Object.keys(zones as object)).toHaveLength(620);
  const old = await world.ask({ url: "/compute/v2.1/os-hypervisors", version: 1 });
  expect(old.json("hypervisors")).toHaveLength(620);
});

test("a detailed list has each server as a single request returns it, without its groups", async () => {
  const world = await ApiWorld.open();
  const { store } = world;
  fillStore(store, { hosts: 3, servers: 9 });
  for (const n of [0, 4]) {
    const instance = store.instances.get(serverId(n)) ?? expect.fail("no server");
    attachPorts(world, instance, [NETWORK_ID, NETWORK_ID]);
  }
  const { flavor } = store.instances.get(serverId(4)) ?? {};
  store.requests.createSpec({
    instanceUuid: serverId(4),
    projectId: "p",
    userId: "u",
    flavor: flavor as Flavor,
    imageRef: "",
    isBfv: false,
    availabilityZone: "zone-4",
    numInstances: 1,
    schedulerHints: {},
  });
  store.services.update(store.services.getByHost("host-1", "nova-compute")?.id ?? 0, { disabled: true });
  const listed = await world.ask({ url: "/compute/v2.1/servers/detail?all_tenants=1", version: 96 });
  const servers = listed.json("servers") as { id: string }[];
  expect(servers).toHaveLength(9);
  for (const server of servers) {
    const alone = await world.ask({ url: `/compute/v2.1/servers/${server.id}`, version: 96 });
    const { server_groups, ...serverView } = alone.json("server") as Record<string, unknown>;
    expect(server).toEqual(serverView);
  }
  expect(servers.find(({ id }) => id === serverId(4))).toMatchObject({
    pinned_availability_zone: "zone-4",
    host_status: "MAINTENANCE",
    addresses: { private: [{}, {}] },
  });
});
