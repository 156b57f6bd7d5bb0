import { beforeEach, describe, expect, test } from "vitest";
import { HostVolumes } from "../../../../src/agent/volumes/host-volumes.js";
import type { Conductor } from "../../../../src/conductor-client/port.js";
import type { BlockDevice, Instance, NewBlockDevice } from "../../../../src/records/index.js";
import { createVirtualLogger } from "../../../../src/simulation/virtual-logger.js";
import { LOCAL_DISKS } from "../../../../src/virt/driver-host.js";
import { anInstance } from "../../../fixtures/records.js";
import { VolumeClientHarness } from "../../volume-client/volume-client-harness.js";

const SERVER = "33333333-3333-4333-8333-333333333333";

let harness: VolumeClientHarness;
let volumes: HostVolumes;
let instance: Instance;
let warnings: string[];
let supportsMultiattach: boolean;
/** Calls to the conductor. */
let calls: string[];

beforeEach(() => {
  harness = new VolumeClientHarness();
  warnings = [];
  calls = [];
  supportsMultiattach = true;
  instance = anInstance({ uuid: SERVER, systemMetadata: { block_devices: "True" } });
  const { blockDevices } = harness.storage.store;
  const methods: Record<string, (params: never) => unknown> = {
    block_devices: ({ instanceUuid }: { instanceUuid: string }) => blockDevices.ofInstance(instanceUuid),
    block_device_save: ({ uuid, changes }: { uuid: string; changes: Partial<BlockDevice> }) =>
      blockDevices.save(uuid, changes),
  };
  const conductor = {
    call: async (method: string, params: never) => {
      calls.push(method);
      return methods[method]?.(params);
    },
  } as unknown as Conductor;
  const driver = {
    getVolumeConnector: async () => ({ host: "devstack1", initiator: "iqn.1994-05.com.redhat:1" }),
    capabilities: {
      get supportsMultiattach() {
        return supportsMultiattach;
      },
    },
  } as unknown as ConstructorParameters<typeof HostVolumes>[0]["driver"];
  const logger = createVirtualLogger((level, message) => void (level === "warn" && warnings.push(message)));
  volumes = new HostVolumes({ conductor, driver, logger, service: harness.client });
});

function add(device: Partial<NewBlockDevice>): BlockDevice {
  return harness.storage.store.blockDevices.create({
    instanceUuid: SERVER,
    sourceType: "volume",
    destinationType: "volume",
    ...device,
  });
}

/** Adds a device with a volume that is reserved for the server, as the API does. */
async function addReserved(device: Partial<NewBlockDevice> = {}): Promise<BlockDevice> {
  const volumeId = await harness.storage.volume();
  const { id } = await harness.client.createAttachment(volumeId, SERVER, null);
  harness.requests.length = 0;
  return add({ volumeId, attachmentId: id, ...device });
}

const saved = () => harness.storage.store.blockDevices.ofInstance(SERVER);

const statusOf = async ({ volumeId }: BlockDevice) => (await harness.client.getVolume(volumeId ?? "")).status;

describe("block devices of a guest", () => {
  test("a server without records has local disks, and costs no call", async () => {
    const local = anInstance({ uuid: SERVER });
    expect(await volumes.connect(local)).toBe(LOCAL_DISKS);
    expect(await volumes.info(local)).toBe(LOCAL_DISKS);
    await volumes.release(local);
    await volumes.reserveAgain(local);
    expect([calls, harness.requests]).toEqual([[], []]);
  });

  test("names follow the order root, ephemeral, swap, volumes, whatever names users request", async () => {
    await addReserved({ deviceName: "/dev/vda", tag: "data" });
    add({ sourceType: "blank", destinationType: "local", guestFormat: "swap", volumeSize: 512 });
    add({ sourceType: "blank", destinationType: "local", guestFormat: "ext4", volumeSize: 2 });
    add({ sourceType: "image", destinationType: "local", bootIndex: 0 });
    expect(await volumes.connect(instance)).toMatchObject({
      rootDeviceName: "/dev/vda",
      localDisks: [
        { kind: "ephemeral", deviceName: "/dev/vdb", sizeMb: 2048, guestFormat: "ext4" },
        { kind: "swap", deviceName: "/dev/vdc", sizeMb: 512, guestFormat: null },
      ],
      volumes: [{ deviceName: "/dev/vdd", diskBus: "virtio", deviceType: "disk", size: 1, tag: "data" }],
    });
  });

  test("the bus of a device decides about its name", async () => {
    add({ sourceType: "image", destinationType: "local", bootIndex: 0 });
    await addReserved({ diskBus: "scsi" });
    await addReserved({ deviceType: "cdrom" });
    await volumes.connect(instance);
    expect(saved().map(({ deviceName, diskBus }) => [deviceName, diskBus])).toEqual([
      ["/dev/vda", "virtio"],
      ["/dev/sda", "scsi"],
      ["/dev/sdb", "sata"],
    ]);
  });

  test("an image decides about the bus of disks without one", async () => {
    instance = { ...instance, systemMetadata: { ...instance.systemMetadata, image_hw_disk_bus: "scsi" } };
    add({ sourceType: "image", destinationType: "local", bootIndex: 0 });
    expect((await volumes.connect(instance)).rootDeviceName).toBe("/dev/sda");
  });

  test("names that a host has chosen stay when another host connects the volumes", async () => {
    await addReserved();
    const first = await addReserved();
    await volumes.connect(instance);
    harness.storage.store.blockDevices.destroy(first.uuid);
    await addReserved();
    const { volumes: connected } = await volumes.connect(instance);
    expect(connected.map(({ deviceName }) => deviceName)).toEqual(["/dev/vda", "/dev/vdb"]);
  });
});

describe("connections of a build", () => {
  test("an existing volume is connected, saved and completed", async () => {
    const device = await addReserved({ bootIndex: 0 });
    const { volumes: guest } = await volumes.connect(instance);
    expect(harness.changes).toEqual(["PUT /attachments/*", "POST /attachments/*/action os-complete"]);
    expect(guest).toMatchObject([{ volumeId: device.volumeId, bootIndex: 0, isShareable: false }]);
    expect(saved()).toMatchObject([
      {
        deviceName: "/dev/vda",
        volumeSize: 1,
        attachmentId: device.attachmentId,
        connectionInfo: { serial: device.volumeId },
      },
    ]);
    expect(await statusOf(device)).toBe("in-use");
    expect(JSON.parse(harness.requests[1]?.body ?? "").attachment.connector).toEqual({
      host: "devstack1",
      initiator: "iqn.1994-05.com.redhat:1",
      mountpoint: "/dev/vda",
    });
  });

  test("volumes are made from an image, from a snapshot, and blank", async () => {
    harness.storage.images.put("c0ffee00-0000-4000-8000-000000000001");
    const parent = await harness.storage.volume();
    const { id: snapshotId } = await harness.storage.get("POST", "/snapshots", { snapshot: { volume_id: parent } });
    add({ sourceType: "image", imageId: "c0ffee00-0000-4000-8000-000000000001", volumeSize: 1, bootIndex: 0 });
    add({ sourceType: "snapshot", snapshotId: String(snapshotId) });
    add({ sourceType: "blank", volumeSize: 2 });
    await volumes.connect(instance);
    const found = [];
    for (const { volumeId } of saved()) {
      found.push(await harness.storage.get("GET", `/volumes/${volumeId}`));
    }
    expect(found).toMatchObject([
      { status: "in-use", size: 1, bootable: "true" },
      { status: "in-use", size: 1, snapshot_id: snapshotId },
      { status: "in-use", size: 2, name: `${SERVER}-blank-vol` },
    ]);
  });

  test("a volume that is not created is deleted if it goes with the server, and otherwise kept", async () => {
    harness.storage.fault("volume.create=fail");
    add({ sourceType: "blank", volumeSize: 1, deleteOnTermination: true });
    await expect(volumes.connect(instance)).rejects.toMatchObject({ name: "VolumeNotCreated" });
    expect(harness.changes).toEqual(["POST /volumes", "DELETE /volumes/*"]);
    expect(saved()).toMatchObject([{ volumeId: null }]);
    harness.storage.store.blockDevices.save(saved()[0]?.uuid ?? "", { deleteOnTermination: false });
    await expect(volumes.connect(instance)).rejects.toMatchObject({ name: "VolumeNotCreated" });
    expect(saved()[0]?.volumeId).not.toBeNull();
  });

  test("an attachment that is gone is made again", async () => {
    const device = await addReserved();
    await harness.client.deleteAttachment(device.attachmentId ?? "");
    await volumes.connect(instance);
    expect(saved()[0]?.attachmentId).not.toBe(device.attachmentId);
    expect(await statusOf(device)).toBe("in-use");
  });

  test("a volume of several servers needs a driver that shares volumes", async () => {
    await harness.storage.get("POST", "/types", { volume_type: { name: "shared" } }, { caller: "admin" });
    const types = await harness.storage.send("GET", "/types", undefined, { caller: "admin" });
    const [{ id }] = types.json("volume_types") as [{ readonly id: string }];
    await harness.storage.send(
      "POST",
      `/types/${id}/extra_specs`,
      { extra_specs: { multiattach: "<is> True" } },
      { caller: "admin" },
    );
    const volumeId = await harness.storage.volume({ volume_type: "shared" });
    add({ volumeId });
    expect(await volumes.connect(instance)).toMatchObject({ volumes: [{ isShareable: true }] });
    supportsMultiattach = false;
    await expect(volumes.connect(instance)).rejects.toMatchObject({ name: "MultiattachNotSupportedByVirtDriver" });
  });

  test("a failed build takes back its connections, and the volumes that it made only if nobody tries again", async () => {
    const unowned = await addReserved({ deleteOnTermination: false });
    add({ sourceType: "blank", volumeSize: 1, deleteOnTermination: true });
    await volumes.connect(instance);
    await volumes.undoBuild(instance, { deletesVolumes: false });
    for (const device of saved()) {
      expect(await statusOf(device)).toBe("available");
    }
    expect(saved()).toMatchObject([
      { attachmentId: null, connectionInfo: null },
      { attachmentId: null, connectionInfo: null },
    ]);
    await volumes.connect(instance);
    await volumes.undoBuild(instance, { deletesVolumes: true });
    expect(saved()).toMatchObject([{ volumeId: unowned.volumeId }, { volumeId: null }]);
  });
});

describe("volumes of a deleted server", () => {
  test("all attachments are removed, then the volumes that go with the server are deleted", async () => {
    const unowned = await addReserved();
    await addReserved({ deleteOnTermination: true });
    await volumes.connect(instance);
    harness.requests.length = 0;
    await volumes.release(instance);
    await volumes.release(instance);
    expect(harness.changes.slice(0, 3)).toEqual([
      "DELETE /attachments/*",
      "DELETE /attachments/*",
      "DELETE /volumes/*",
    ]);
    expect(await statusOf(unowned)).toBe("available");
  });

  test("a volume that cannot be released does not keep the others", async () => {
    const broken = await addReserved({ deleteOnTermination: true });
    const other = await addReserved();
    await volumes.connect(instance);
    const body = '{"computeFault": {"message": "The server has erred"}}';
    harness.intercept = ({ url, method }) =>
      method === "DELETE" && [broken.attachmentId, broken.volumeId].some((id) => url.endsWith(id ?? ""))
        ? { status: 503, body }
        : undefined;
    await volumes.release(instance);
    expect(await statusOf(other)).toBe("available");
    expect(warnings).toEqual([
      `could not remove attachment ${broken.attachmentId} of volume ${broken.volumeId}; it is left`,
      `could not delete volume ${broken.volumeId}; it is left`,
    ]);
  });
});

test("a new reservation takes the place of each attachment, also when it is repeated after a kill", async () => {
  const device = await addReserved();
  await volumes.connect(instance);
  harness.requests.length = 0;
  await volumes.reserveAgain(instance);
  expect(harness.changes).toEqual(["POST /attachments", "DELETE /attachments/*"]);
  expect(await statusOf(device)).toBe("reserved");
  await volumes.reserveAgain(instance);
  expect(await harness.client.listAttachments(SERVER)).toMatchObject([{ id: saved()[0]?.attachmentId }]);
  await volumes.connect(instance, { completes: false });
  expect(await statusOf(device)).toBe("attaching");
  await volumes.complete(instance);
  expect(await statusOf(device)).toBe("in-use");
});
