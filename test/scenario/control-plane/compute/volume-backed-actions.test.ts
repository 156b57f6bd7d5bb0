import { beforeEach, describe, expect, test } from "vitest";
import type { Instance, NewBlockDevice } from "../../../../src/records/index.js";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;
let server: Instance;
let root: string;
let data: string;

/** Gives the server a volume in use. */
function use(volumeId: string, changes: Partial<NewBlockDevice> = {}): void {
  const { volumes } = world.blockStorage;
  const attachmentId = volumes.reserve(volumeId, server.uuid);
  volumes.complete(attachmentId);
  const types = { sourceType: "volume", destinationType: "volume" } as const;
  world.store.blockDevices.create({
    instanceUuid: server.uuid,
    volumeId,
    attachmentId,
    volumeSize: 1,
    ...types,
    ...changes,
  });
}

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  const systemMetadata = { block_devices: "True", image_min_ram: "1", image_hw_disk_bus: "scsi" };
  server = world.server("devstack1", { imageRef: "", systemMetadata });
  root = await world.volume({ imageRef: CIRROS });
  data = await world.volume();
  use(root, { bootIndex: 0, deviceName: "/dev/vda", deleteOnTermination: true });
  use(data, { deviceName: "/dev/vdb", tag: "data" });
});

describe("createImage", () => {
  test("creates snapshots of the volumes, and an image that boots from copies of them", async () => {
    const reply = await world.act(server, { createImage: { name: "copy", metadata: { purpose: "test" } } }, 45);
    expect(reply.status, reply.body).toBe(202);
    await world.runVolumeWork();
    const snapshots = (await world.volumeRequest("GET", "/snapshots")).json("snapshots") as readonly Record<
      string,
      unknown
    >[];
    expect(snapshots).toHaveLength(2);
    expect(snapshots).toMatchObject([
      { name: "snapshot for copy", status: "available" },
      { name: "snapshot for copy", status: "available" },
    ]);
    const snapshotOf = (volume: string) => snapshots.find(({ volume_id: id }) => id === volume)?.id;
    const { body } = await world.ask({ url: `/image/v2/images/${reply.json("image_id")}` });
    const image = JSON.parse(body);
    expect(image).toMatchObject({
      ...{ name: "copy", status: "active", size: 0, visibility: "private", min_ram: 1, min_disk: 0 },
      ...{ purpose: "test", bdm_v2: "True", root_device_name: "/dev/vda", hw_disk_bus: "scsi" },
    });
    expect(JSON.parse(image.block_device_mapping)).toMatchObject([
      {
        ...{ source_type: "snapshot", destination_type: "volume", snapshot_id: snapshotOf(root), boot_index: 0 },
        ...{ device_name: "/dev/vda", delete_on_termination: true, volume_size: 1, tag: null, volume_id: null },
      },
      { snapshot_id: snapshotOf(data), boot_index: null, device_name: "/dev/vdb" },
    ]);
    expect(world.stateOf(server)).toEqual(["active", null]);
    expect(world.casts).toEqual([]);
    expect(world.store.actions.list(server.uuid)).toMatchObject([{ action: "createImage" }]);
  });

  test("an image made of a server boots another one from volumes", async () => {
    const made = await world.act(server, { createImage: { name: "copy" } }, 45);
    await world.runVolumeWork();
    const body = { server: { name: "vm2", flavorRef: "1", imageRef: made.json("image_id"), networks: "none" } };
    const reply = await world.ask({ method: "POST", url: "/compute/v2.1/servers", version: 67, body });
    expect(reply.status, reply.body).toBe(202);
    const devices = world.store.blockDevices.ofInstance(String(reply.json("server", "id")));
    expect(devices).toMatchObject([
      { sourceType: "snapshot", destinationType: "volume", bootIndex: 0, deviceName: "/dev/vda" },
      { sourceType: "snapshot", destinationType: "volume", bootIndex: null },
    ]);
  });

  test("creates nothing over the quota of snapshots", async () => {
    const project = world.projectId("admin");
    await world.volumeRequest("PUT", `/${project}/os-quota-sets/${project}`, { quota_set: { snapshots: 1 } });
    const reply = await world.act(server, { createImage: { name: "copy" } });
    expect([reply.status, reply.message]).toEqual([403, "Quota exceeded for resources: snapshots"]);
    expect((await world.volumeRequest("GET", "/snapshots")).json("snapshots")).toEqual([]);
  });

  test("createBackup is rejected", async () => {
    const reply = await world.act(server, { createBackup: { name: "one", backup_type: "daily", rotation: 1 } });
    expect([reply.status, reply.message]).toEqual([400, "Backup is not supported for volume-backed instances."]);
  });
});

describe("rescue", () => {
  const STABLE = { hw_rescue_bus: "virtio", hw_rescue_device: "disk" };

  const rescue = (image: string, version = 87) => world.act(server, { rescue: { rescue_image_ref: image } }, version);

  test("needs 2.87, an image for it, and a host that can", async () => {
    const [plain, stable] = [world.image(), world.image({ properties: STABLE })];
    const cannot = `Instance ${server.uuid} cannot be rescued: Cannot rescue a volume-backed instance`;
    expect((await rescue(plain)).message).toBe(cannot);
    expect((await rescue(stable, 86)).message).toBe(cannot);
    const host = await rescue(stable);
    expect([host.status, host.message]).toEqual([
      400,
      `Instance ${server.uuid} cannot be rescued: Host unable to rescue a volume-backed instance`,
    ]);
    expect(world.stateOf(server)).toEqual(["active", null]);
    world.traits.push("COMPUTE_RESCUE_BFV");
    expect((await rescue(stable)).status).toBe(200);
    expect(world.stateOf(server)).toEqual(["active", "rescuing"]);
    expect(world.casts).toMatchObject([{ method: "rescue_instance", params: { rescueImageRef: stable } }]);
  });

  test("is rejected while a volume is not in use, and with an image of volumes", async () => {
    const image = world.image({ properties: { ...STABLE, block_device_mapping: "[]" } });
    expect((await rescue(image)).message).toBe(`Requested rescue image '${image}' is not supported`);
    world.blockStorage.volumes.beginDetaching(data);
    const reply = await rescue(world.image({ properties: STABLE }));
    expect([reply.status, reply.message]).toEqual([
      409,
      `Invalid volume: volume '${data}' status must be 'in-use'. Currently in 'detaching' status`,
    ]);
  });
});

describe("rebuild", () => {
  const rebuild = (imageRef: string, version: number) => world.act(server, { rebuild: { imageRef } }, version);

  test("before 2.93 keeps the data, so the image must be that of the volume", async () => {
    const other = world.image();
    const rejected = await rebuild(other, 92);
    expect([rejected.status, rejected.message]).toEqual([
      400,
      `Image ${other} is unacceptable: Unable to rebuild with a different image for a volume-backed server.`,
    ]);
    expect((await rebuild(CIRROS, 92)).status).toBe(202);
    const [cast] = world.casts;
    expect(cast).toMatchObject({ method: "rebuild_instance", params: { imageRef: CIRROS } });
    expect(cast?.params).not.toHaveProperty("reimageBootVolume");
  });

  test("since 2.93 has the host reimage the volume, and the server stays without an image", async () => {
    const other = world.image({ properties: { hw_disk_bus: "ide" } });
    expect((await rebuild(other, 93)).status).toBe(202);
    expect(world.casts).toMatchObject([
      { method: "rebuild_instance", params: { imageRef: other, reimageBootVolume: true } },
    ]);
    expect(world.store.instances.get(server.uuid)).toMatchObject({
      ...{ imageRef: "", taskState: "rebuilding" },
      systemMetadata: { block_devices: "True", image_hw_disk_bus: "ide" },
    });
  });

  test("with an image that requires a host reaches the host by the conductor, with the same order", async () => {
    const other = world.image({ properties: { "trait:CUSTOM_FAST": "required" } });
    expect((await rebuild(other, 93)).status).toBe(202);
    expect(world.tasks()).toMatchObject([{ kind: "rebuild_in_place", reimagedWith: other, previousImageRef: "" }]);
  });

  test("is rejected if the image does not fit into the volume, or a volume is not in use", async () => {
    const large = await rebuild(world.image({ minDisk: 2 }), 93);
    expect([large.status, large.message]).toEqual([
      400,
      expect.stringContaining("Volume is smaller than the minimum size"),
    ]);
    world.blockStorage.volumes.beginDetaching(data);
    const reply = await rebuild(CIRROS, 93);
    expect([reply.status, reply.message]).toEqual([
      400,
      `Invalid volume: volume '${data}' status must be 'in-use'. Currently in 'detaching' status`,
    ]);
    expect(world.stateOf(server)).toEqual(["active", null]);
  });
});

test("resize does not compare the flavor's disk with the image", async () => {
  world.store.instances.save(server.uuid, { systemMetadata: { ...server.systemMetadata, image_min_disk: "5" } });
  world.flavor({ flavorid: "2", name: "m1.small", rootGb: 0, memoryMb: 1024 });
  expect((await world.act(server, { resize: { flavorRef: "2" } })).status).toBe(202);
});

test("shelve offloads at once", async () => {
  expect((await world.act(server, { shelve: null })).status).toBe(202);
  expect(world.casts).toMatchObject([{ method: "shelve_offload_instance" }]);
});

describe("Block Storage", () => {
  const events = () =>
    world.store.messages.pending("devstack1").map(({ params }) => (JSON.parse(params) as { events?: unknown }).events);

  test("notifies the host of an extended volume, and the extension is an action of the server", async () => {
    const reply = await world.volumeRequest("POST", `/volumes/${data}/action`, { "os-extend": { new_size: 2 } });
    expect(reply.status, reply.body).toBe(202);
    await world.runVolumeWork();
    expect(events()).toEqual([[{ name: "volume-extended", tag: data, status: "completed" }]]);
    expect(world.store.actions.list(server.uuid)).toMatchObject([{ action: "extend_volume" }]);
  });
});
