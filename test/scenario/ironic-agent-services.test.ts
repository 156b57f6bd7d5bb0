import { afterEach, expect, test } from "vitest";
import { IronicCloud } from "./ironic-agent-cloud.js";

let cloud: IronicCloud;

afterEach(() => cloud.close());

async function providersOf() {
  const { resource_providers: providers } = await cloud.placement("GET", "/resource_providers");
  return new Map(
    (providers as { uuid: string; name: string; generation: number }[]).map((provider) => [provider.uuid, provider]),
  );
}

async function active(): Promise<{ readonly id: string; readonly node: string }> {
  const id = await cloud.boot();
  const server = await cloud.until(
    () => cloud.server(id),
    (found) => found?.status !== "BUILD",
  );
  expect(server?.status).toBe("ACTIVE");
  return { id, node: String(server?.["OS-EXT-SRV-ATTR:hypervisor_hostname"]) };
}

async function hostsOf() {
  const { hypervisors } = await cloud.compute("GET", "/os-hypervisors/detail");
  const rows = hypervisors as { id: string; service: { host: string } }[];
  return new Map(rows.map(({ id, service }) => [id, service.host]));
}

async function inventory(node: string) {
  const { inventories } = await cloud.placement("GET", `/resource_providers/${node}/inventories`);
  return (inventories as { CUSTOM_BAREMETAL: { reserved: number } }).CUSTOM_BAREMETAL.reserved;
}

test("7.6 a node and its instance move from a host that is down to another, which keeps provider and allocation", async () => {
  cloud = await IronicCloud.open(4);
  const first = await cloud.agent("bm1");
  const { id, node } = await active();
  await cloud.until(
    () => inventory(node),
    (reserved) => reserved === 1,
  );
  const held = await cloud.placement("GET", `/allocations/${id}`);

  first.kill();
  await cloud.compute("PUT", `/os-services/${await cloud.serviceId("bm1")}`, { forced_down: true });
  await cloud.agent("bm2");
  const hosts = await hostsOf();
  expect(hosts.size).toBe(4);
  for (const [uuid, host] of hosts) {
    expect(host, uuid).toBe(uuid === node ? "bm1" : "bm2");
  }
  const before = await providersOf();

  expect(await cloud.moveNode(node, "bm2")).toBe(0);
  await cloud.world.advance(180_000);
  expect(new Set((await hostsOf()).values())).toEqual(new Set(["bm2"]));
  expect(await cloud.server(id)).toMatchObject({ status: "ACTIVE", "OS-EXT-SRV-ATTR:host": "bm2" });
  expect(await providersOf(), "V9, V16: as they were, with their generations").toEqual(before);
  expect(await cloud.placement("GET", `/allocations/${id}`)).toEqual(held);
  expect(await inventory(node)).toBe(1);

  await cloud.compute("DELETE", `/servers/${id}`);
  await cloud.until(
    () => inventory(node),
    (reserved) => reserved === 0,
  );
  expect(await cloud.server(id)).toBeUndefined();
  expect(await cloud.ironic(`/nodes/${node}`)).toMatchObject({ instance_uuid: null, provision_state: "available" });
});

test("7.1 the service of a thousand nodes: kept whole while one is held, then deleted with every provider", async () => {
  cloud = await IronicCloud.open(1_000);
  const agent = await cloud.agent("bm1");
  expect((await providersOf()).size).toBe(1_000);
  const { id, node } = await active();
  const service = `/os-services/${await cloud.serviceId("bm1")}`;
  await expect(cloud.compute("DELETE", service)).rejects.toThrow(/409 .*hosting instances/);
  await cloud.compute("DELETE", `/servers/${id}`);
  await cloud.until(
    () => cloud.server(id),
    (server) => server === undefined,
  );
  agent.kill();

  const stranger = "f0000000-0000-4000-8000-000000000001";
  const claim = (allocations: object, generation: number | null) =>
    cloud.placement("PUT", `/allocations/${stranger}`, {
      allocations,
      project_id: "p",
      user_id: "u",
      consumer_generation: generation,
      consumer_type: "INSTANCE",
    });
  const free = [...(await providersOf()).keys()].find((uuid) => uuid !== node) ?? "";
  await claim({ [free]: { resources: { CUSTOM_BAREMETAL: 1 } } }, null);
  await expect(cloud.compute("DELETE", service)).rejects.toThrow(new RegExp(`409 .*${free}.*${stranger}`, "s"));
  expect((await providersOf()).size).toBe(1_000);

  await claim({}, 1);
  await cloud.compute("DELETE", service);
  expect((await providersOf()).size).toBe(0);
  expect((await hostsOf()).size).toBe(0);
});
