import { afterEach, beforeEach, expect, test } from "vitest";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

const HOSTS = ["devstack1", "devstack2"];
const SLOW = "0000:82:00.0";
const QUICK = "0000:81:00.0";

const DEVICES = { devices: `${SLOW}=VGPU:2, ${QUICK}=VGPU:2`, cpu_dedicated_set: "4-7" };

let cloud: VirtualCloud;
const agents = new Map<string, VirtualRuntime>();

/** Creates a flavor of two CPUs with these extra specs. */
async function flavor(id: string, extraSpecs: Readonly<Record<string, string>>): Promise<void> {
  await cloud.compute("POST", "/flavors", { flavor: { name: `gpu${id}`, id, ram: 512, vcpus: 2, disk: 1 } });
  await cloud.compute("POST", `/flavors/${id}/os-extra_specs`, { extra_specs: extraSpecs });
}

async function create(flavorRef: string): Promise<string> {
  const server = { name: "vm", flavorRef, imageRef: await cloud.image(), networks: "none" };
  const { server: made } = (await cloud.compute("POST", "/servers", { server })).json;
  return String((made as { id: string }).id);
}

/** Returns a consumer's allocations, by the providers' names. */
async function held(consumer: string): Promise<Record<string, unknown>> {
  const { resource_providers: providers } = (await cloud.placement("GET", "/resource_providers")).json;
  const names = new Map((providers as { uuid: string; name: string }[]).map(({ uuid, name }) => [uuid, name]));
  const { allocations } = (await cloud.placement("GET", `/allocations/${consumer}`)).json;
  return Object.fromEntries(
    Object.entries(allocations as Record<string, { resources: unknown }>).map(([uuid, { resources }]) => [
      names.get(uuid) ?? uuid,
      resources,
    ]),
  );
}

/** Returns the addresses of the guest's devices on a host. */
async function devices(host: string, id: string): Promise<string[]> {
  const xml = (await cloud.runtime.files.readIfPresent(`/hypervisors/${host}/domains/${id}.xml`)) ?? "";
  return [...xml.matchAll(/fake:device [^>]*address="([^"]+)"/g)].map(([, address]) => address ?? "");
}

const hostOf = async (id: string) => String((await cloud.server(id))?.["OS-EXT-SRV-ATTR:host"]);
const is = (id: string, status: string) => cloud.serverIs(id, (server) => server?.status === status);
const child = (host: string, address: string) => `${host}_pci_${address.replace(/[:.]/g, "_")}`;

/** Returns the allocations of the flavor on a host. */
function on(host = "") {
  return {
    [host]: { PCPU: 2, MEMORY_MB: 512, DISK_GB: 1 },
    [child(host, QUICK)]: { VGPU: 1 },
  };
}

beforeEach(async () => {
  cloud = await VirtualCloud.open();
  for (const host of HOSTS) {
    agents.set(host, (await cloud.agent(host, { libvirt: DEVICES })).runtime);
  }
  await cloud.placement("PUT", "/traits/CUSTOM_QUICK");
  const { resource_providers: providers } = (await cloud.placement("GET", "/resource_providers")).json;
  for (const { uuid, name, generation } of providers as { uuid: string; name: string; generation: number }[]) {
    if (!name.endsWith("81_00_0")) {
      continue;
    }
    await cloud.placement("PUT", `/resource_providers/${uuid}/traits`, {
      traits: ["CUSTOM_QUICK"],
      resource_provider_generation: generation,
    });
  }
});
afterEach(() => cloud.close());

test("a group's trait chooses the child provider, and the driver gives the guest its device; a move keeps to it", async () => {
  await flavor("g1", { "resources1:VGPU": "1", "trait1:CUSTOM_QUICK": "required", "hw:cpu_policy": "dedicated" });
  const id = await create("g1");
  await is(id, "ACTIVE");
  const [source, target] = (await hostOf(id)) === "devstack1" ? ["devstack1", "devstack2"] : ["devstack2", "devstack1"];
  expect(await held(id)).toEqual(on(source));
  expect(await devices(source ?? "", id)).toEqual([QUICK]);
  await cloud.compute("POST", `/servers/${id}/action`, { migrate: null });
  await is(id, "VERIFY_RESIZE");
  expect(await held(id)).toEqual(on(target));
  expect(await devices(target ?? "", id)).toEqual([QUICK]);
  await cloud.compute("POST", `/servers/${id}/action`, { revertResize: null });
  await is(id, "ACTIVE");
  expect(await held(id)).toEqual(on(source));
  expect(await devices(source ?? "", id)).toEqual([QUICK]);
  await flavor("g4", { "resources1:VGPU": "1", "trait1:CUSTOM_QUICK": "forbidden" });
  const other = await create("g4");
  await is(other, "ACTIVE");
  expect(await devices(await hostOf(other), other)).toEqual([SLOW]);
});

test("an evacuation claims the group's child provider on the destination, beside what the dead host holds", async () => {
  await flavor("g1", { "resources1:VGPU": "1", "trait1:CUSTOM_QUICK": "required", "hw:cpu_policy": "dedicated" });
  const id = await create("g1");
  await is(id, "ACTIVE");
  const source = await hostOf(id);
  const [target = ""] = HOSTS.filter((host) => host !== source);
  agents.get(source)?.kill();
  const { services } = (await cloud.compute("GET", `/os-services?host=${source}`)).json;
  const [service] = services as { id: string }[];
  await cloud.compute("PUT", `/os-services/${service?.id}`, { forced_down: true });
  await cloud.compute("POST", `/servers/${id}/action`, { evacuate: {} });
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE" && server["OS-EXT-SRV-ATTR:host"] === target);
  expect(await held(id)).toEqual({ ...on(source), ...on(target) });
  expect(await devices(target, id)).toEqual([QUICK]);
  await cloud.agent(source, { libvirt: DEVICES });
  expect(await held(id)).toEqual(on(target));
});

test("isolated groups have a device each; what no host has is named in the fault", async () => {
  const two = { "resources1:VGPU": "1", "resources2:VGPU": "1", group_policy: "isolate" };
  await flavor("g2", two);
  const id = await create("g2");
  await is(id, "ACTIVE");
  expect((await devices(await hostOf(id), id)).sort()).toEqual([QUICK, SLOW]);
  await flavor("g3", { ...two, "trait1:CUSTOM_QUICK": "required", "trait2:CUSTOM_QUICK": "required" });
  const nowhere = await create("g3");
  await expect(is(nowhere, "ACTIVE")).rejects.toThrow(/1: VGPU=1, CUSTOM_QUICK; 2: VGPU=1, CUSTOM_QUICK/);
});
