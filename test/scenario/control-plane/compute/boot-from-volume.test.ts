import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS, type Reply } from "../../../unit/control-plane/compute/api-world.js";

const UNKNOWN = "5a000000-0000-4000-8000-000000000001";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
});

type Body = Readonly<Record<string, unknown>>;

async function create(server: Body, version = 67, token?: string): Promise<Reply> {
  const body = { server: { name: "vm1", flavorRef: "1", ...(version >= 37 && { networks: "none" }), ...server } };
  return world.ask({ method: "POST", url: "/compute/v2.1/servers", version, token, body });
}

const ROOT_IMAGE = { boot_index: 0, uuid: CIRROS, source_type: "image", destination_type: "local" };
const BLANK = { boot_index: -1, source_type: "blank", destination_type: "volume", volume_size: 1 };

function rootVolume(uuid: string): Body {
  return { boot_index: 0, uuid, source_type: "volume", destination_type: "volume" };
}

function dataVolume(uuid: string): Body {
  return { boot_index: -1, uuid, source_type: "volume", destination_type: "volume" };
}

const bootableVolume = () => world.volume({ imageRef: CIRROS });

describe("a new server", () => {
  test("boots from an existing volume, which is reserved for it", async () => {
    const volume = await bootableVolume();
    const reply = await create({ block_device_mapping_v2: [rootVolume(volume)] });
    expect(reply.status, reply.body).toBe(202);
    const uuid = String(reply.json("server", "id"));
    const [device, ...others] = world.store.blockDevices.ofInstance(uuid);
    expect(others).toEqual([]);
    expect(device).toMatchObject({
      sourceType: "volume",
      destinationType: "volume",
      bootIndex: 0,
      volumeId: volume,
      volumeSize: 1,
      deleteOnTermination: false,
    });
    const { instance } = world.store.requests.buildRequest(uuid) ?? {};
    expect(instance).toMatchObject({ imageRef: "", systemMetadata: { block_devices: "True" } });
    expect(world.store.requests.spec(uuid)).toMatchObject({ isBfv: true, imageRef: "" });
    expect(await world.volumeStatus(volume)).toBe("reserved");
    const attachment = await world.volumeRequest("GET", `/attachments/${device?.attachmentId}`);
    expect(attachment.json("attachment", "instance")).toBe(uuid);
    const view = await world.ask({ url: `/compute/v2.1/servers/${uuid}`, version: 67 });
    expect(view.json("server", "image")).toBe("");
  });

  test("saves the properties of the image that its volume was made from", async () => {
    const image = world.image({ properties: { hw_disk_bus: "scsi" }, minRam: 1, diskFormat: "raw" });
    const volume = await world.volume({ imageRef: image });
    const reply = await create({ block_device_mapping_v2: [rootVolume(volume)] });
    const { systemMetadata } = world.store.requests.buildRequest(String(reply.json("server", "id")))?.instance ?? {};
    expect(systemMetadata).toEqual({
      block_devices: "True",
      image_hw_disk_bus: "scsi",
      image_min_ram: "1",
      image_min_disk: "0",
    });
  });

  test("has the volumes that hosts make from images, snapshots and nothing, and the disks of its flavor", async () => {
    world.flavor({ flavorid: "disks", name: "disks", ephemeralGb: 5, swap: 512 });
    const volume = await bootableVolume();
    const snapshot = await world.volumeRequest("POST", "/snapshots", { snapshot: { volume_id: volume } });
    await world.runVolumeWork();
    const snapshotId = String(snapshot.json("snapshot", "id"));
    const reply = await create({
      flavorRef: "disks",
      block_device_mapping_v2: [
        { ...ROOT_IMAGE, destination_type: "volume", volume_size: "3", volume_type: "lvmdriver-1", tag: "root" },
        { boot_index: null, uuid: snapshotId, source_type: "snapshot", destination_type: "volume" },
        { ...BLANK, delete_on_termination: true, disk_bus: "scsi", device_name: "vdx" },
      ],
    });
    expect(reply.status, reply.body).toBe(202);
    const devices = world.store.blockDevices.ofInstance(String(reply.json("server", "id")));
    expect(
      devices.map(({ sourceType, destinationType, volumeSize }) => [sourceType, destinationType, volumeSize]),
    ).toEqual([
      ["image", "volume", 3],
      ["snapshot", "volume", 1],
      ["blank", "volume", 1],
      ["blank", "local", 5],
      ["blank", "local", 512],
    ]);
    expect(devices[0]).toMatchObject({
      imageId: CIRROS,
      tag: "root",
      volumeType: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(devices[1]).toMatchObject({ snapshotId, bootIndex: null });
    expect(devices[2]).toMatchObject({ deleteOnTermination: true, diskBus: "scsi", deviceName: "/dev/vdx" });
    expect(devices[4]).toMatchObject({ guestFormat: "swap", deleteOnTermination: true, bootIndex: -1 });
  });

  test("without requested devices has no records of them", async () => {
    const reply = await create({ imageRef: CIRROS });
    expect(world.store.blockDevices.ofInstance(String(reply.json("server", "id")))).toEqual([]);
  });

  test("gets the devices of the former format", async () => {
    const [root, data] = [await bootableVolume(), await world.volume()];
    const reply = await create({
      block_device_mapping: [
        { device_name: "vda", volume_id: root, delete_on_termination: "true" },
        { device_name: "/dev/vdb", volume_id: data },
      ],
    });
    expect(reply.status, reply.body).toBe(202);
    const devices = world.store.blockDevices.ofInstance(String(reply.json("server", "id")));
    expect(devices).toMatchObject([
      { volumeId: root, bootIndex: 0, deviceName: "/dev/vda", deleteOnTermination: true },
      { volumeId: data, bootIndex: -1, deviceName: "/dev/vdb", deleteOnTermination: false },
    ]);
  });

  test("boots from its image if the former format names no root disk", async () => {
    const data = await world.volume();
    const reply = await create({ imageRef: CIRROS, block_device_mapping: [{ device_name: "vdb", volume_id: data }] });
    expect(reply.status, reply.body).toBe(202);
    const devices = world.store.blockDevices.ofInstance(String(reply.json("server", "id")));
    expect(devices).toMatchObject([
      { sourceType: "image", destinationType: "local", bootIndex: 0 },
      { volumeId: data, bootIndex: -1 },
    ]);
  });

  test("gets the devices that its image defines", async () => {
    const volume = await bootableVolume();
    const snapshot = await world.volumeRequest("POST", "/snapshots", { snapshot: { volume_id: volume } });
    await world.runVolumeWork();
    const snapshotId = String(snapshot.json("snapshot", "id"));
    const mapping = [
      { source_type: "snapshot", destination_type: "volume", snapshot_id: snapshotId, boot_index: 0, volume_size: 1 },
    ];
    const properties = { bdm_v2: "True", block_device_mapping: JSON.stringify(mapping) };
    const imageRef = world.image({ properties });
    const reply = await create({ imageRef, block_device_mapping_v2: [{ ...ROOT_IMAGE, uuid: imageRef }] });
    expect(reply.status, reply.body).toBe(202);
    const uuid = String(reply.json("server", "id"));
    expect(world.store.blockDevices.ofInstance(uuid)).toMatchObject([{ snapshotId, bootIndex: 0 }]);
    expect(world.store.requests.buildRequest(uuid)?.instance.imageRef).toBe("");
  });

  test("in a flavor without a root disk needs a volume, unless an administrator creates it", async () => {
    world.flavor({ flavorid: "diskless", name: "diskless", rootGb: 0 });
    const demo = await world.token("demo");
    const rejected = await create({ flavorRef: "diskless", imageRef: CIRROS }, 67, demo);
    expect([rejected.status, rejected.message]).toEqual([
      403,
      "Only volume-backed servers are allowed for flavors with zero disk.",
    ]);
    const device = { ...ROOT_IMAGE, destination_type: "volume", volume_size: 1 };
    expect((await create({ flavorRef: "diskless", block_device_mapping_v2: [device] }, 67, demo)).status).toBe(202);
    expect((await create({ flavorRef: "diskless", imageRef: CIRROS })).status).toBe(202);
  });
});

describe("a request is rejected", () => {
  const SEQUENCE =
    "Block Device Mapping is Invalid: Boot sequence for the instance and image/block device mapping combination is not valid.";

  test.each<[string, Body, string]>([
    ["without image and devices", { imageRef: "" }, "Missing imageRef attribute"],
    [
      "with both formats",
      { block_device_mapping: [{ volume_id: UNKNOWN }], block_device_mapping_v2: [BLANK] },
      "Using different block_device_mapping syntaxes is not allowed in the same request.",
    ],
    [
      "with an unknown root volume",
      { block_device_mapping_v2: [rootVolume(UNKNOWN)] },
      `Block Device Mapping is Invalid: failed to get volume ${UNKNOWN}.`,
    ],
    [
      "with an unknown volume",
      { imageRef: CIRROS, block_device_mapping_v2: [ROOT_IMAGE, dataVolume(UNKNOWN)] },
      `Volume ${UNKNOWN} could not be found.`,
    ],
    [
      "with an unknown snapshot",
      {
        imageRef: CIRROS,
        block_device_mapping_v2: [ROOT_IMAGE, { ...BLANK, source_type: "snapshot", uuid: UNKNOWN }],
      },
      `Block Device Mapping is Invalid: failed to get snapshot ${UNKNOWN}.`,
    ],
    [
      "with an unknown image",
      { block_device_mapping_v2: [{ ...ROOT_IMAGE, destination_type: "volume", uuid: UNKNOWN, volume_size: 1 }] },
      `Block Device Mapping is Invalid: failed to get image ${UNKNOWN}.`,
    ],
    [
      "with an unknown type",
      { imageRef: CIRROS, block_device_mapping_v2: [ROOT_IMAGE, { ...BLANK, volume_type: "gold" }] },
      "Volume type gold could not be found.",
    ],
    [
      "with an unknown bus",
      { imageRef: CIRROS, block_device_mapping_v2: [ROOT_IMAGE, { ...BLANK, disk_bus: "pigeon" }] },
      "Block Device Mapping is Invalid.",
    ],
    ["without a root disk", { block_device_mapping_v2: [BLANK] }, SEQUENCE],
    ["with a gap", { imageRef: CIRROS, block_device_mapping_v2: [ROOT_IMAGE, { ...BLANK, boot_index: 2 }] }, SEQUENCE],
    [
      "with a volume in place of the image's root disk",
      { imageRef: CIRROS, block_device_mapping_v2: [ROOT_IMAGE, { ...BLANK, device_name: "/dev/vda" }] },
      "The volume cannot be assigned the same device name as the root device vda",
    ],
    [
      "with nothing in the former format",
      { block_device_mapping: [{ device_name: "vda" }] },
      `${"Block Device Mapping is Invalid: "}Unrecognized legacy format.`,
    ],
  ])("%s", async (_title, server, message) => {
    const reply = await create(server);
    expect([reply.status, reply.message]).toEqual([400, message]);
  });

  test("with a root volume that is not bootable", async () => {
    const volume = await world.volume();
    const reply = await create({ block_device_mapping_v2: [rootVolume(volume)] });
    expect([reply.status, reply.message]).toEqual([400, `Block Device ${volume} is not bootable.`]);
  });

  test("with a new root volume that is smaller than its image needs", async () => {
    const uuid = world.image({ minDisk: 2 });
    const device = { ...ROOT_IMAGE, uuid, destination_type: "volume", volume_size: 1 };
    const reply = await create({ block_device_mapping_v2: [device] });
    expect([reply.status, reply.message]).toEqual([
      400,
      "Volume is smaller than the minimum size specified in image metadata. Volume size is 1073741824 bytes, minimum size is 2147483648 bytes.",
    ]);
  });

  test("with one volume for several servers", async () => {
    const volume = await world.volume();
    const devices = [ROOT_IMAGE, dataVolume(volume)];
    const reply = await create({ imageRef: CIRROS, max_count: 2, block_device_mapping_v2: devices });
    expect([reply.status, reply.message]).toEqual([400, "Cannot attach one or more volumes to multiple instances"]);
  });

  test("with a volume in use, and reserves none of the others", async () => {
    const [free, used] = [await world.volume(), await world.volume()];
    const first = await create({ imageRef: CIRROS, block_device_mapping_v2: [ROOT_IMAGE, dataVolume(used)] });
    expect(first.status).toBe(202);
    const devices = [ROOT_IMAGE, dataVolume(free), dataVolume(used)];
    const reply = await create({ imageRef: CIRROS, block_device_mapping_v2: devices });
    expect([reply.status, reply.message]).toEqual([
      400,
      `Invalid volume: Invalid input received: Invalid volume: Volume ${used} status must be available or downloading to reserve, ` +
        `but the current status is reserved. (HTTP 400) (Request-ID: ${reply.headers["x-compute-request-id"]})`,
    ]);
    expect(await world.volumeStatus(free)).toBe("available");
    expect(world.store.requests.buildRequests()).toHaveLength(1);
  });

  test("with a volume of another project", async () => {
    const volume = await world.volume();
    const devices = [ROOT_IMAGE, dataVolume(volume)];
    const reply = await create({ imageRef: CIRROS, block_device_mapping_v2: devices }, 67, await world.token("demo"));
    expect([reply.status, reply.message]).toEqual([400, `Volume ${volume} could not be found.`]);
  });

  test("with a volume of several servers before 2.60", async () => {
    await world.volumeRequest("POST", "/types", {
      volume_type: { name: "shared", extra_specs: { multiattach: "<is> True" } },
    });
    const volume = await world.volume({ volume_type: "shared" });
    const server = { imageRef: CIRROS, block_device_mapping_v2: [ROOT_IMAGE, dataVolume(volume)] };
    const reply = await create(server, 59);
    expect([reply.status, reply.message]).toEqual([
      400,
      "Multiattach volumes are only supported starting with compute API version 2.60.",
    ]);
    expect((await create(server, 60)).status).toBe(202);
  });
});

describe("a server that no host has is deleted", () => {
  async function serverWithVolumes(): Promise<{ readonly uuid: string; readonly root: string; readonly data: string }> {
    const [root, data] = [await bootableVolume(), await world.volume()];
    const devices = [{ ...rootVolume(root), delete_on_termination: true }, dataVolume(data)];
    const reply = await create({ block_device_mapping_v2: devices });
    return { uuid: String(reply.json("server", "id")), root, data };
  }

  test("before it is scheduled: its volumes are free, and deleted if they go with it", async () => {
    const { uuid, root, data } = await serverWithVolumes();
    const reply = await world.ask({ method: "DELETE", url: `/compute/v2.1/servers/${uuid}` });
    expect(reply.status).toBe(204);
    await world.runVolumeWork();
    expect(world.store.blockDevices.ofInstance(uuid)).toEqual([]);
    expect(await world.volumeStatus(data)).toBe("available");
    expect((await world.volumeRequest("GET", `/volumes/${root}`)).status).toBe(404);
    expect((await world.volumeRequest("GET", "/attachments")).json("attachments")).toEqual([]);
  });

  test("keeps a volume that goes with it if the volume cannot be deleted", async () => {
    const { uuid, root } = await serverWithVolumes();
    const snapshot = { volume_id: root, force: true };
    world.store.database.execute("UPDATE block_storage_volumes SET status = 'in-use' WHERE id = ?", root);
    expect((await world.volumeRequest("POST", "/snapshots", { snapshot })).status).toBe(202);
    await world.runVolumeWork();
    expect((await world.ask({ method: "DELETE", url: `/compute/v2.1/servers/${uuid}` })).status).toBe(204);
    expect(await world.volumeStatus(root)).toBe("available");
  });
});
