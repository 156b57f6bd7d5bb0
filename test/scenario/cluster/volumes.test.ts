import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Cluster, startCluster } from "../../../src/cluster/index.js";

let cloud: Cluster;
let flavor: string;
let image: string;
beforeAll(async () => {
  cloud = await startCluster({ hosts: 3, time: "virtual" });
  const { flavors } = await get("compute", "/flavors");
  flavor = (flavors as readonly Named[]).find(({ name }) => name === "m1.tiny")?.id ?? "";
  const { images } = await get("image", "/v2/images");
  image = (images as readonly Named[])[0]?.id ?? "";
});
afterEach(async () => {
  // The quota is ten volumes.
  for (const id of createdVolumes.splice(0)) {
    await cloud.fetch("block-storage", `/volumes/${id}`, { method: "DELETE" });
  }
});
afterAll(() => cloud?.stop());

const createdVolumes: string[] = [];

interface Named {
  readonly id: string;
  readonly name: string;
}

type Body = Readonly<Record<string, unknown>>;

const VERSIONS: Readonly<Record<string, string>> = { compute: "compute 2.89", "block-storage": "volume 3.70" };

async function ask(service: string, method: string, path: string, body?: Body, version = VERSIONS[service]) {
  const headers = { "content-type": "application/json", ...(version && { "openstack-api-version": version }) };
  const response = await cloud.fetch(service, path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  expect(response.status, `${method} ${path}: ${text}`).toBeLessThan(300);
  return (text === "" ? {} : JSON.parse(text)) as Body;
}

const get = (service: string, path: string, version?: string) => ask(service, "GET", path, undefined, version);

interface VolumeView {
  readonly status: string;
  readonly attachments: readonly {
    readonly attachment_id: string;
    readonly host_name: string;
    readonly device: string;
  }[];
}

async function volumeView(id: string): Promise<VolumeView> {
  return (await get("block-storage", `/volumes/${id}`)).volume as VolumeView;
}

async function becomes(id: string, status: string): Promise<void> {
  await expect.poll(async () => (await volumeView(id)).status, { timeout: 10_000 }).toBe(status);
}

async function createVolume(size = 1): Promise<string> {
  const { volume } = await ask("block-storage", "POST", "/volumes", { volume: { size } });
  const { id } = volume as Named;
  createdVolumes.push(id);
  await becomes(id, "available");
  return id;
}

async function serverView(id: string) {
  const { server } = await get("compute", `/servers/${id}`);
  return server as { readonly status: string; readonly "OS-EXT-SRV-ATTR:host": string | null; readonly fault?: Body };
}

async function act(id: string, action: Body, status: string): Promise<void> {
  await ask("compute", "POST", `/servers/${id}/action`, action);
  await cloud.settled();
  expect(await serverView(id)).toMatchObject({ status });
}

/** Creates a server that boots from a new volume, which goes with it, and has a data volume, which stays. */
async function createServer(data: string): Promise<string> {
  const devices = [
    {
      boot_index: 0,
      source_type: "image",
      uuid: image,
      destination_type: "volume",
      volume_size: 1,
      delete_on_termination: true,
    },
    { boot_index: -1, source_type: "volume", uuid: data, destination_type: "volume" },
  ];
  const server = { name: "vm1", flavorRef: flavor, networks: "none", block_device_mapping_v2: devices };
  const created = await ask("compute", "POST", "/servers", { server });
  await cloud.settled();
  const { id } = created.server as Named;
  expect(await serverView(id)).toMatchObject({ status: "ACTIVE" });
  return id;
}

async function deleteServer(id: string): Promise<void> {
  await ask("compute", "DELETE", `/servers/${id}`);
  await cloud.settled();
}

interface Device {
  readonly volumeId: string;
  readonly attachment_id: string;
  readonly device: string;
}

async function devicesOf(id: string): Promise<readonly Device[]> {
  const { volumeAttachments } = await get("compute", `/servers/${id}/os-volume_attachments`);
  return volumeAttachments as readonly Device[];
}

/** Asserts that records, attachments, volumes and the guest's disks agree; the guest runs. Returns the names of its disks. */
async function agreed(id: string): Promise<readonly string[]> {
  const host = (await serverView(id))["OS-EXT-SRV-ATTR:host"];
  const devices = await devicesOf(id);
  for (const { volumeId, attachment_id, device } of devices) {
    const { status, attachments } = await volumeView(volumeId);
    expect([status, attachments]).toMatchObject(["in-use", [{ attachment_id, host_name: host, device }]]);
  }
  expect(await attachmentIds(id)).toEqual(devices.map(({ attachment_id }) => attachment_id).toSorted());
  const diagnostics = await get("compute", `/servers/${id}/diagnostics`, "compute 2.47");
  const disks = Object.keys(diagnostics).flatMap((name) => /^(\w+)_read_req$/.exec(name)?.[1] ?? []);
  const names = devices.map(({ device }) => device.replace("/dev/", ""));
  expect(disks).toEqual(expect.arrayContaining(names));
  return disks.toSorted();
}

/** Returns the ids of all attachments of a server, connected or not. */
async function attachmentIds(server: string): Promise<readonly string[]> {
  const { attachments } = await get("block-storage", `/attachments?all_tenants=1&instance_id=${server}`);
  return (attachments as readonly Named[]).map(({ id }) => id).toSorted();
}

/** Kills a host, and starts it without faults. */
async function restart(host: string): Promise<void> {
  await cloud.hosts(host).kill();
  await cloud.faults.clear(host);
  await cloud.hosts(host).start();
}

describe("a server with volumes in a cluster", () => {
  it("has its attachments, volumes and disks in agreement after each operation", { timeout: 60_000 }, async () => {
    const data = await createVolume();
    const id = await createServer(data);
    expect(await agreed(id)).toEqual(["vda", "vdb"]);
    const extra = await createVolume();
    const attached = { volumeAttachment: { volumeId: extra } };
    await ask("compute", "POST", `/servers/${id}/os-volume_attachments`, attached);
    await becomes(extra, "in-use");
    expect(await agreed(id)).toEqual(["vda", "vdb", "vdc"]);
    for (const [action, status] of [
      [{ reboot: { type: "HARD" } }, "ACTIVE"],
      [{ migrate: null }, "VERIFY_RESIZE"],
      [{ revertResize: null }, "ACTIVE"],
      [{ migrate: null }, "VERIFY_RESIZE"],
      [{ confirmResize: null }, "ACTIVE"],
      [{ "os-migrateLive": { host: null, block_migration: "auto" } }, "ACTIVE"],
      [{ rebuild: { imageRef: image } }, "ACTIVE"],
    ] as const) {
      await act(id, action, status);
      expect(await agreed(id), JSON.stringify(action)).toEqual(["vda", "vdb", "vdc"]);
    }
    await act(id, { shelve: null }, "SHELVED_OFFLOADED");
    for (const { volumeId } of await devicesOf(id)) {
      expect(await volumeView(volumeId)).toMatchObject({ status: "reserved", attachments: [] });
    }
    await act(id, { unshelve: null }, "ACTIVE");
    expect(await agreed(id)).toEqual(["vda", "vdb", "vdc"]);
    await ask("compute", "DELETE", `/servers/${id}/os-volume_attachments/${extra}`);
    await becomes(extra, "available");
    expect(await agreed(id)).toEqual(["vda", "vdb"]);
    const [root] = await devicesOf(id);
    await deleteServer(id);
    expect(await attachmentIds(id)).toEqual([]);
    await becomes(data, "available");
    const gone = await cloud.fetch("block-storage", `/volumes/${root?.volumeId}`);
    expect(gone.status).toBe(404);
  });

  it("is evacuated with its volumes, and its source removes only the guest when it is back", async () => {
    const id = await createServer(await createVolume());
    const source = (await serverView(id))["OS-EXT-SRV-ATTR:host"] ?? "";
    await cloud.hosts(source).kill();
    const { services } = await get("compute", "/os-services?binary=nova-compute");
    const service = (services as readonly (Named & { readonly host: string })[]).find(({ host }) => host === source);
    await ask("compute", "PUT", `/os-services/${service?.id}`, { forced_down: true });
    await act(id, { evacuate: {} }, "ACTIVE");
    expect((await serverView(id))["OS-EXT-SRV-ATTR:host"]).not.toBe(source);
    expect(await agreed(id)).toEqual(["vda", "vdb"]);
    await cloud.hosts(source).start();
    await ask("compute", "PUT", `/os-services/${service?.id}`, { forced_down: false });
    await cloud.settled();
    expect(await agreed(id)).toEqual(["vda", "vdb"]);
    await deleteServer(id);
  });

  it("gives its volumes back to the source if a live migration is killed while it copies", async () => {
    const id = await createServer(await createVolume());
    const source = (await serverView(id))["OS-EXT-SRV-ATTR:host"] ?? "";
    await cloud.faults.set(source, "agent.live_migration.copy=hang:once");
    await ask("compute", "POST", `/servers/${id}/action`, {
      "os-migrateLive": { host: null, block_migration: "auto" },
    });
    const statuses = async () => {
      const { migrations } = await get("compute", `/servers/${id}/migrations`);
      return (migrations as readonly { readonly status: string }[]).map(({ status }) => status);
    };
    await expect.poll(statuses, { timeout: 10_000 }).toEqual(["running"]);
    expect(await attachmentIds(id)).toHaveLength(4);
    await restart(source);
    await cloud.settled();
    expect(await serverView(id)).toMatchObject({ status: "ACTIVE", "OS-EXT-SRV-ATTR:host": source });
    expect(await agreed(id)).toEqual(["vda", "vdb"]);
    await deleteServer(id);
  });

  it.each([
    ["attach_volume.connect", "POST", "reserved", "in-use"],
    ["attach_volume.complete", "POST", "attaching", "in-use"],
    ["detach_volume.unplug", "DELETE", "detaching", "available"],
    ["detach_volume.release", "DELETE", "detaching", "available"],
    ["detach_volume.forget", "DELETE", "available", "available"],
  ] as const)("finishes what a kill at %s has interrupted", async (step, method, interrupted, status) => {
    const id = await createServer(await createVolume());
    const host = (await serverView(id))["OS-EXT-SRV-ATTR:host"] ?? "";
    const extra = await createVolume();
    const path = `/servers/${id}/os-volume_attachments`;
    const attached = { volumeAttachment: { volumeId: extra } };
    if (method === "DELETE") {
      await ask("compute", "POST", path, attached);
      await becomes(extra, "in-use");
    }
    await cloud.faults.set(host, `agent.${step}=hang:once`);
    await (method === "POST" ? ask("compute", "POST", path, attached) : ask("compute", "DELETE", `${path}/${extra}`));
    await becomes(extra, interrupted);
    await restart(host);
    await becomes(extra, status);
    await cloud.settled();
    expect(await agreed(id)).toEqual(["vda", "vdb", ...(status === "in-use" ? ["vdc"] : [])]);
    await deleteServer(id);
    await becomes(extra, "available");
  });

  it("is built elsewhere with the same volumes if one host fails to make its guest", async () => {
    const data = await createVolume();
    await cloud.faults.set("devstack1", "driver.spawn=fail:once");
    await cloud.faults.set("devstack2", "driver.spawn=fail:once");
    const id = await createServer(data);
    expect(await agreed(id)).toEqual(["vda", "vdb"]);
    await deleteServer(id);
    for (const host of ["devstack1", "devstack2"]) {
      await cloud.faults.clear(host);
    }
  });
});
