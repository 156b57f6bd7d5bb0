import { afterEach, describe, expect, test } from "vitest";
import { ironicNodeMove } from "../../src/control-plane/manage/nova-manage.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

let cloud: VirtualCloud;

afterEach(() => cloud.close());

function open(ironicNodes: number): Promise<VirtualCloud> {
  return VirtualCloud.open({ seed: 17, ironicNodes });
}

/** Returns the API's view of the server; undefined if it is deleted. */
async function serverOf(id: string) {
  return (await cloud.server(id)) ?? undefined;
}

/** Advances the time by a second at a time, until the condition holds. */
async function until<T>(probe: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
  for (let seconds = 0; seconds < 600; seconds += 1) {
    const found = await probe();
    if (holds(found)) {
      return found;
    }
    await cloud.world.advance(1_000);
  }
  throw new Error(`still ${JSON.stringify(await probe())}`);
}

async function providersOf() {
  const { resource_providers: providers } = (await cloud.placement("GET", "/resource_providers")).json;
  return new Map(
    (providers as { uuid: string; name: string; generation: number }[]).map((provider) => [provider.uuid, provider]),
  );
}

async function active(networks = "none"): Promise<{ readonly id: string; readonly node: string }> {
  const serverRequest = { name: "bm", flavorRef: "baremetal", imageRef: await cloud.image(), networks };
  const { id } = (await cloud.compute("POST", "/servers", { server: serverRequest })).json.server as { id: string };
  const server = await until(
    () => serverOf(id),
    (found) => found?.status !== "BUILD",
  );
  expect(server?.status).toBe("ACTIVE");
  return { id, node: String(server?.["OS-EXT-SRV-ATTR:hypervisor_hostname"]) };
}

async function hostsOf() {
  const { hypervisors } = (await cloud.compute("GET", "/os-hypervisors/detail")).json;
  const rows = hypervisors as { id: string; service: { host: string } }[];
  return new Map(rows.map(({ id, service }) => [id, service.host]));
}

async function vifsOf(node: string): Promise<readonly string[]> {
  const headers = { "x-openstack-ironic-api-version": "1.82" };
  const { json } = await cloud.request("GET", `/baremetal/v1/nodes/${node}/vifs`, undefined, headers);
  return (json.vifs as readonly { readonly id: string }[]).map(({ id }) => id);
}

async function portsOf(server: string) {
  const { json } = await cloud.request("GET", `/network/v2.0/ports?device_id=${server}`);
  return json.ports as readonly { readonly id: string }[];
}

async function inventory(node: string) {
  const { inventories } = (await cloud.placement("GET", `/resource_providers/${node}/inventories`)).json;
  return (inventories as { CUSTOM_BAREMETAL: { reserved: number } }).CUSTOM_BAREMETAL.reserved;
}

test("7.6 a node and its instance move from a host that is down to another, which keeps provider and allocation", async () => {
  cloud = await open(4);
  const first = await cloud.ironicAgent("bm1");
  const { id, node } = await active();
  await until(
    () => inventory(node),
    (reserved) => reserved === 1,
  );
  const { json: held } = await cloud.placement("GET", `/allocations/${id}`);

  first.kill();
  await cloud.compute("PUT", `/os-services/${await cloud.serviceId("bm1")}`, { forced_down: true });
  await cloud.ironicAgent("bm2");
  const hosts = await hostsOf();
  expect(hosts.size).toBe(4);
  for (const [uuid, host] of hosts) {
    expect(host, uuid).toBe(uuid === node ? "bm1" : "bm2");
  }
  const before = await providersOf();

  const moved = { ironicNodeUuid: node, destinationHost: "bm2" };
  expect((await cloud.manage((parts) => ironicNodeMove(parts, moved))).rc).toBe(0);
  await cloud.world.advance(180_000);
  expect(new Set((await hostsOf()).values())).toEqual(new Set(["bm2"]));
  expect(await serverOf(id)).toMatchObject({ status: "ACTIVE", "OS-EXT-SRV-ATTR:host": "bm2" });
  expect(await providersOf(), "V9, V16: as they were, with their generations").toEqual(before);
  expect((await cloud.placement("GET", `/allocations/${id}`)).json).toEqual(held);
  expect(await inventory(node)).toBe(1);

  await cloud.compute("DELETE", `/servers/${id}`);
  await until(
    () => inventory(node),
    (reserved) => reserved === 0,
  );
  expect(await serverOf(id)).toBeUndefined();
  const ironic = await cloud.request("GET", `/baremetal/v1/nodes/${node}`, undefined, {
    "x-openstack-ironic-api-version": "1.82",
  });
  expect(ironic.json).toMatchObject({ instance_uuid: null, provision_state: "available" });
});

test("7.1 the service of a thousand nodes: kept whole while one is held, then deleted with every provider", async () => {
  cloud = await open(1_000);
  const agent = await cloud.ironicAgent("bm1");
  expect((await providersOf()).size).toBe(1_000);
  const { id, node } = await active();
  const service = `/os-services/${await cloud.serviceId("bm1")}`;
  await expect(cloud.compute("DELETE", service)).rejects.toThrow(/409 .*hosting instances/);
  await cloud.compute("DELETE", `/servers/${id}`);
  await until(
    () => serverOf(id),
    (server) => server === undefined,
  );
  agent.kill();

  const unknownConsumer = "f0000000-0000-4000-8000-000000000001";
  const claim = (allocations: object, generation: number | null) =>
    cloud.placement("PUT", `/allocations/${unknownConsumer}`, {
      allocations,
      project_id: "p",
      user_id: "u",
      consumer_generation: generation,
      consumer_type: "INSTANCE",
    });
  const free = [...(await providersOf()).keys()].find((uuid) => uuid !== node) ?? "";
  await claim({ [free]: { resources: { CUSTOM_BAREMETAL: 1 } } }, null);
  await expect(cloud.compute("DELETE", service)).rejects.toThrow(new RegExp(`409 .*${free}.*${unknownConsumer}`, "s"));
  expect((await providersOf()).size).toBe(1_000);

  await claim({}, 1);
  await cloud.compute("DELETE", service);
  expect((await providersOf()).size).toBe(0);
  expect((await hostsOf()).size).toBe(0);
});

test("6.1 a server's port is a VIF of its node and active, until the server is deleted", async () => {
  cloud = await open(2);
  await cloud.ironicAgent("bm1");
  const { id, node } = await active("auto");
  const ports = await portsOf(id);
  expect(ports).toMatchObject([{ "binding:host_id": "bm1", status: "ACTIVE" }]);
  expect(await vifsOf(node)).toEqual(ports.map((port) => port.id));

  await cloud.compute("DELETE", `/servers/${id}`);
  await until(
    () => serverOf(id),
    (server) => server === undefined,
  );
  expect(await portsOf(id)).toEqual([]);
  expect(await vifsOf(node)).toEqual([]);
});

describe("6.6 a node that is powered on or off outside of Nova", () => {
  const powered = async (node: string, target: string) => {
    const headers = { "x-openstack-ironic-api-version": "1.82" };
    await cloud.request("PUT", `/baremetal/v1/nodes/${node}/states/power`, { target }, headers);
    const nodeOf = async () => (await cloud.request("GET", `/baremetal/v1/nodes/${node}`, undefined, headers)).json;
    await until(nodeOf, (found) => found.power_state === target);
  };
  const notify = (id: string, tag: string) =>
    cloud.compute("POST", "/os-server-external-events", { events: [{ server_uuid: id, name: "power-update", tag }] });
  const actionsOf = async (id: string) => {
    const { instanceActions } = (await cloud.compute("GET", `/servers/${id}/os-instance-actions`)).json;
    const [newest] = instanceActions as { action: string; request_id: string }[];
    const request = newest?.request_id ?? "";
    const { instanceAction } = (await cloud.compute("GET", `/servers/${id}/os-instance-actions/${request}`)).json;
    return { action: newest?.action, events: (instanceAction as { events: unknown[] }).events };
  };

  test("its server is stopped, and then active, when the events arrive", async () => {
    cloud = await open(1);
    await cloud.ironicAgent("bm1");
    const { id, node } = await active();
    await powered(node, "power off");
    expect((await notify(id, "POWER_OFF")).json.events).toMatchObject([{ code: 200, status: "completed" }]);
    await cloud.world.advance(1_000);
    expect(await serverOf(id)).toMatchObject({
      status: "SHUTOFF",
      "OS-EXT-STS:power_state": 4,
      "OS-EXT-STS:task_state": null,
    });
    expect(await actionsOf(id)).toMatchObject({
      action: "stop",
      events: [{ event: "compute_power_update", result: "Success", host: "bm1" }],
    });
    await powered(node, "power on");
    await notify(id, "POWER_ON");
    await cloud.world.advance(1_000);
    expect(await serverOf(id)).toMatchObject({ status: "ACTIVE", "OS-EXT-STS:power_state": 1 });
    expect(await actionsOf(id)).toMatchObject({ action: "start", events: [{ result: "Success" }] });
  });

  test("its server keeps its state when the event does not fit it, or the node", async () => {
    cloud = await open(1);
    await cloud.ironicAgent("bm1");
    const { id, node } = await active();
    await notify(id, "POWER_ON");
    await notify(id, "POWER_OFF");
    await cloud.world.advance(1_000);
    expect(await serverOf(id), "the node runs").toMatchObject({ status: "ACTIVE", "OS-EXT-STS:task_state": null });
    await cloud.compute("POST", `/servers/${id}/action`, { rescue: { rescue_image_ref: await cloud.image() } });
    await until(
      () => serverOf(id),
      (server) => server?.status === "RESCUE",
    );
    await powered(node, "power off");
    await notify(id, "POWER_OFF");
    await cloud.world.advance(1_000);
    expect(await serverOf(id)).toMatchObject({ status: "RESCUE" });
    expect(await actionsOf(id)).toMatchObject({ action: "stop", events: [{ result: "Success" }] });
  });
});
