import { describe, expect, test } from "vitest";
import type { BlockDevice } from "../../../../../src/records/index.js";
import { DeviceDetachFailed, GuestNotFound } from "../../../../../src/virt/errors.js";
import { ClientException } from "../../../../../src/volume-client/errors.js";
import { FlowStage, type StageOptions } from "../../support/flow-stage.js";
import { stageVolumes } from "../../support/staged-volumes.js";

function staged(device: Partial<BlockDevice> = {}, options: StageOptions = {}) {
  const stage = new FlowStage({
    capabilities: { supportsMultiattach: true, supportsTaggedAttachVolume: true, supportsExtendVolume: true },
    ...options,
  });
  return { stage, ...stageVolumes(stage, device) };
}

const B = { blockDeviceUuid: "device-vol-b" };

/** A device that the API has created and reserved. */
const RESERVED = { connectionInfo: null } as const;

describe("6.12 reserve a name", () => {
  const NEW = { ...RESERVED, attachmentId: null, deviceName: null, diskBus: null } as const;

  test("the next name is saved and returned, whatever name the user requests", async () => {
    const { stage, devices } = staged({ ...NEW, deviceName: "/dev/vdx" });
    const [root] = devices();
    Object.assign(root ?? {}, { deviceName: "/dev/vda", diskBus: "virtio" });
    expect(await stage.run("reserve_block_device_name", B)).toBe("/dev/vdb");
    expect(devices()[1]).toMatchObject({ deviceName: "/dev/vdb", diskBus: "virtio", deviceType: "disk" });
  });

  test("local disks whose records are new get the names that they have in the guest", async () => {
    const { stage, devices } = staged(NEW);
    expect(await stage.run("reserve_block_device_name", B)).toBe("/dev/vdb");
    expect(devices()[0]).toMatchObject({ deviceName: "/dev/vda" });
  });

  test.each([
    ["VolumeTaggedAttachNotSupported", { tag: "data" }, {}],
    ["MultiattachNotSupportedByVirtDriver", {}, { isMultiattach: true }],
  ] as const)("%s: the driver lacks the capability", async (name, device, volume) => {
    const { stage, devices } = staged({ ...NEW, ...device }, { capabilities: {} });
    stage.replies["volumes.getVolume"] = { id: "vol-b", isMultiattach: false, ...volume };
    expect(await stage.failure("reserve_block_device_name", B)).toMatchObject({ name });
    expect(devices()[1]?.deviceName).toBeNull();
  });

  test("TooManyDiskDevices: max_disk_devices_to_attach is reached", async () => {
    const { stage } = staged(NEW);
    Object.assign(stage.context.config.compute, { maxDiskDevicesToAttach: 1 });
    expect(await stage.failure("reserve_block_device_name", B)).toMatchObject({
      name: "TooManyDiskDevices",
      message: "The maximum allowed number of disk devices (1) to attach to a single instance has been exceeded.",
    });
  });

  test("a record that is gone is not found", async () => {
    const { stage } = staged(NEW);
    expect(await stage.failure("reserve_block_device_name", { blockDeviceUuid: "none" })).toMatchObject({
      name: "BlockDeviceNotFound",
    });
  });
});

describe("6.12 attach", () => {
  test("connects, plugs and completes", async () => {
    const { stage, log } = staged(RESERVED);
    expect(await stage.failure("attach_volume", B)).toBeNull();
    expect(log()).toEqual(["PUT vol-b-0 /dev/vdb", "save vol-b-0", "driver.attachVolume", "complete vol-b-0"]);
    expect(stage.events).toEqual(["compute_attach_volume", "Success"]);
    expect(stage.steps).toEqual(["attach_volume.connect", "attach_volume.plug", "attach_volume.complete"]);
  });

  test.each([
    ["volumes.updateAttachment", new ClientException(500, "broken"), "ClientException"],
    ["driver.attachVolume", new Error("planted"), "Error"],
    ["volumes.completeAttachment", new ClientException(500, "broken"), "ClientException"],
  ])("a failure of %s takes everything back, and is the fault", async (call, error, fault) => {
    const { stage, log, devices, attachments } = staged(RESERVED);
    stage.replies[call] = error;
    expect(await stage.failure("attach_volume", B)).toBe(error);
    expect(log().slice(-3)).toEqual(["driver.detachVolume", "DELETE vol-b-0", "forget device-vol-b"]);
    expect([devices().length, [...attachments.keys()]]).toEqual([1, ["vol-a-0"]]);
    expect([stage.events, stage.faults]).toEqual([["compute_attach_volume", "Error"], [fault]]);
  });

  test("a disk that the guest does not release keeps its record and its attachment", async () => {
    const { stage, devices, attachments } = staged(RESERVED);
    stage.replies["volumes.completeAttachment"] = new ClientException(500, "broken");
    stage.replies["driver.detachVolume"] = new DeviceDetachFailed("busy");
    await stage.failure("attach_volume", B);
    expect([devices().length, attachments.size]).toEqual([2, 2]);
  });

  test("a record that is gone is no error", async () => {
    const { stage, log } = staged(RESERVED);
    expect(await stage.failure("attach_volume", { blockDeviceUuid: "none" })).toBeNull();
    expect(log()).toEqual([]);
  });

  test("the message follows an instance that has moved", async () => {
    const { stage } = staged(RESERVED, { instance: { host: "there" } });
    await stage.failure("attach_volume", B);
    expect(stage.calls).toEqual(["cast attach_volume"]);
  });
});

describe("6.12 detach", () => {
  test("unplugs, then removes attachment and record", async () => {
    const { stage, log } = staged();
    expect(await stage.failure("detach_volume", B)).toBeNull();
    expect(log()).toEqual(["driver.detachVolume", "DELETE vol-b-0", "forget device-vol-b"]);
    expect(stage.events).toEqual(["compute_detach_volume", "Success"]);
  });

  test("a guest that is gone has no disk to release", async () => {
    const { stage, devices } = staged();
    stage.replies["driver.detachVolume"] = new GuestNotFound("gone");
    expect(await stage.failure("detach_volume", B)).toBeNull();
    expect(devices()).toHaveLength(1);
  });

  test("a guest that does not release the disk keeps the volume, which is in use again", async () => {
    const { stage, log, devices } = staged();
    stage.replies["driver.detachVolume"] = new DeviceDetachFailed("busy");
    expect(await stage.failure("detach_volume", B)).toBeInstanceOf(DeviceDetachFailed);
    expect(log()).toEqual(["driver.detachVolume", "rollDetaching vol-b"]);
    expect(devices()).toHaveLength(2);
    expect(stage.events).toEqual(["compute_detach_volume", "Error"]);
  });

  test("a repeated message finds the volume detached", async () => {
    const { stage, log } = staged();
    await stage.failure("detach_volume", B);
    expect(await stage.failure("detach_volume", B)).toBeNull();
    expect(log()).toHaveLength(3);
  });
});

describe("6.12 swap", () => {
  const SWAP = { ...B, newVolumeId: "vol-c", newAttachmentId: "vol-c-9" };

  test("the record names the old volume until the guest has the new one", async () => {
    const { stage, log, devices, attachments } = staged();
    attachments.set("vol-c-9", "reserved");
    stage.replies["volumes.getVolume"] = { id: "vol-c", size: 2, isMultiattach: false };
    expect(await stage.failure("swap_volume", SWAP)).toBeNull();
    expect(log()).toEqual([
      "PUT vol-c-9 /dev/vdb",
      "driver.swapVolume",
      "complete vol-c-9",
      "save vol-c-9",
      "DELETE vol-b-0",
    ]);
    expect(devices()[1]).toMatchObject({ volumeId: "vol-c", attachmentId: "vol-c-9", volumeSize: 2 });
  });

  test("a failed copy leaves the old volume in use, and the new one available", async () => {
    const { stage, log, devices, attachments } = staged();
    attachments.set("vol-c-9", "reserved");
    let copies = 0;
    stage.replies["driver.swapVolume"] = () => {
      copies += 1;
      return copies === 1 ? new Error("planted") : null;
    };
    expect(await stage.failure("swap_volume", SWAP)).not.toBeNull();
    expect(log().slice(-3)).toEqual(["driver.swapVolume", "DELETE vol-c-9", "rollDetaching vol-b"]);
    expect(devices()[1]).toMatchObject({ volumeId: "vol-b", attachmentId: "vol-b-0" });
  });
});

describe("6.12 extend", () => {
  const EXTENDED = { instanceUuid: "vm", requestId: "req-ours", volumeId: "vol-b" };

  test("the record and the guest get the new size", async () => {
    const { stage, devices } = staged();
    stage.replies["volumes.getVolume"] = { id: "vol-b", size: 5 };
    await stage.operations.extendVolume(EXTENDED);
    expect(devices()[1]?.volumeSize).toBe(5);
    expect(stage.argumentsOf("driver.extendVolume")[0]?.[1]).toMatchObject({ volumeId: "vol-b", size: 5 });
    expect(stage.events).toEqual(["compute_extend_volume", "Success"]);
  });

  test("a driver that cannot extend volumes is the fault; the record has the new size", async () => {
    const { stage, devices } = staged({}, { capabilities: {} });
    stage.replies["volumes.getVolume"] = { id: "vol-b", size: 5 };
    await expect(stage.operations.extendVolume(EXTENDED)).rejects.toThrow();
    expect(stage.faults).toEqual(["Volume size extension is not supported by the hypervisor."]);
    expect(devices()[1]?.volumeSize).toBe(5);
  });

  test("a volume that the instance does not have is left alone", async () => {
    const { stage } = staged();
    await stage.operations.extendVolume({ ...EXTENDED, volumeId: "vol-z" });
    expect(stage.calls).not.toContain("driver.extendVolume");
  });
});

describe("2.6 attachments that a killed process has left", () => {
  async function recovered(
    device: Partial<BlockDevice>,
    status: string | null,
    { volume = "in-use", guest = true } = {},
  ) {
    const all = staged(device);
    const { stage, attachments } = all;
    for (const id of ["vol-a-0", "vol-b-0"].slice(status === "attached" ? 2 : 1)) {
      attachments.delete(id);
      if (status !== null) {
        attachments.set(id, status);
      }
    }
    const volumes = ["vol-a", ...(guest ? ["vol-b"] : [])].map((volumeId) => ({ volumeId, deviceName: "/dev/vdx" }));
    stage.replies["driver.listVolumes"] = volumes;
    const usual = stage.replies["volumes.getVolume"] as (id: string) => object;
    stage.replies["volumes.getVolume"] = (id: string) => ({ ...usual(id), ...(id === "vol-b" && { status: volume }) });
    await stage.operations.recoverVolumes(stage.instance as never);
    return all;
  }

  test("nothing is left: nothing changes", async () => {
    const { log } = await recovered({}, "attached");
    expect(log()).toEqual([]);
  });

  test.each([
    ["before it connected", "reserved", false],
    ["before the guest had the disk", "attaching", false],
    ["before it completed", "attaching", true],
  ])("an attachment that was killed %s is finished", async (_, status, guest) => {
    const { log, attachments, devices } = await recovered({}, status, { guest });
    expect(log()).toEqual(["PUT vol-b-0 /dev/vdb", "save vol-b-0", "driver.attachVolume", "complete vol-b-0"]);
    expect([attachments.get("vol-b-0"), devices().length]).toEqual(["attached", 2]);
  });

  test("an attachment that cannot be finished is taken back", async () => {
    const all = staged();
    all.attachments.set("vol-b-0", "reserved");
    all.stage.replies["driver.attachVolume"] = new Error("broken");
    await all.stage.operations.recoverVolumes(all.stage.instance as never);
    expect(all.devices().map(({ volumeId }) => volumeId)).toEqual(["vol-a"]);
  });

  test.each([
    ["before the guest released the disk", "attached", true],
    ["before it removed the attachment", "attached", false],
  ])("a detachment that was killed %s is finished", async (_, status, guest) => {
    const { log, devices } = await recovered({}, status, { guest, volume: "detaching" });
    expect(log()).toEqual(["driver.detachVolume", "DELETE vol-b-0", "forget device-vol-b"]);
    expect(devices()).toHaveLength(1);
  });

  test("a detachment that was killed before it removed the record is finished", async () => {
    const { devices } = await recovered({}, null, { guest: false, volume: "available" });
    expect(devices()).toHaveLength(1);
  });

  test("a device that the API is still reserving is left", async () => {
    const all = staged({ attachmentId: null });
    await all.stage.operations.recoverVolumes(all.stage.instance as never);
    expect(all.log()).toEqual([]);
  });

  test("an attachment of this host takes the place of a destination's that a record names", async () => {
    const all = staged();
    all.stage.replies["driver.listVolumes"] = ["vol-a", "vol-b"].map((volumeId) => ({ volumeId, deviceName: "" }));
    all.attachments.set("vol-b-9", "attached");
    const save = all.stage.replies.block_device_save as (params: object) => void;
    save({ uuid: "device-vol-b", changes: { attachmentId: "vol-b-9" } });
    await all.stage.operations.recoverVolumes(all.stage.instance as never);
    expect(all.log()).toEqual(["save vol-b-0", "DELETE vol-b-9"]);
    expect([...all.attachments.keys()]).toEqual(["vol-a-0", "vol-b-0"]);
  });

  test("attachments that no record names are removed", async () => {
    const all = staged();
    all.stage.replies["driver.listVolumes"] = ["vol-a", "vol-b"].map((volumeId) => ({ volumeId, deviceName: "" }));
    all.attachments.set("vol-b-7", "reserved");
    await all.stage.operations.recoverVolumes(all.stage.instance as never);
    expect([...all.attachments.keys()]).toEqual(["vol-a-0", "vol-b-0"]);
  });

  test.each([{ taskState: "rebuilding" }, { vmState: "error" }, { host: "there" }] as const)(
    "an instance that is not at rest here is left: %o",
    async (instance) => {
      const all = staged({}, { instance });
      all.attachments.clear();
      await all.stage.operations.recoverVolumes(all.stage.instance as never);
      expect(all.log()).toEqual([]);
    },
  );
});
