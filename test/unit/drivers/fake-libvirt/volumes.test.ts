import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import type { BlockDeviceInfo, GuestVolume } from "../../../../src/virt/index.js";
import { imageOf, instanceOf, UUID } from "../../virt/fixtures.js";
import { createVirtualHarness, type Harness, SPAWN } from "./fixtures.js";
import { connect } from "./two-hosts.js";

const GIB = 1024 ** 3;
const DATA_ID = "80aefd13-3013-4a69-9113-4aa5b0eca72d";
const vm = instanceOf({ ephemeralGb: 2, flavor: { ...instanceOf().flavor, ephemeralGb: 2, swap: 512 } });

function volumeOf(changes: Partial<GuestVolume> = {}): GuestVolume {
  return {
    volumeId: DATA_ID,
    deviceName: "/dev/vdd",
    diskBus: "virtio",
    deviceType: "disk",
    bootIndex: null,
    size: 3,
    tag: "data",
    isShareable: false,
    connectionInfo: connectionOf("10.0.0.9"),
    ...changes,
  };
}

const connectionOf = (address: string) => ({
  driver_volume_type: "iscsi",
  data: { target_portal: `${address}:3260`, target_iqn: "iqn.2010-10.org.openstack:volume-1", target_lun: 1 },
});

function devicesOf(volumes: readonly GuestVolume[], changes: Partial<BlockDeviceInfo> = {}): BlockDeviceInfo {
  return { rootDeviceName: "/dev/vda", localDisks: [], volumes, ...changes };
}

describe("8.16 disks of a guest in the domain XML", () => {
  let harness: Harness;
  let host: DriverHost;
  const xml = (hypervisor = "devstack1") =>
    harness.files.read(`${harness.folder}/hypervisors/${hypervisor}/domains/${UUID}.xml`);
  const instanceFiles = () => harness.files.list(`${harness.folder}/hypervisors/devstack1/instances/${UUID}`);
  const targets = async () => [...(await xml()).matchAll(/<target dev="(\w+)"/g)].map(([, target]) => target);

  beforeEach(async () => {
    harness = await createVirtualHarness();
    host = await harness.connect();
  });
  afterEach(() => harness.close());

  test("a volume has no file, and is described by serial, source, tag and size", async () => {
    await host.spawn(vm, { ...SPAWN, blockDevices: devicesOf([volumeOf({ isShareable: true })]) });
    expect(await instanceFiles()).toEqual(["console.log", "disk", "disk.eph0", "disk.swap"]);
    const text = await xml();
    for (const line of [
      `<serial>${DATA_ID}</serial>`,
      '<source dev="/dev/disk/by-path/ip-10.0.0.9:3260-iscsi-iqn.2010-10.org.openstack:volume-1-lun-1"/>',
      '<target dev="vdd" bus="virtio"/>',
      "<shareable/>",
      `<fake:volume serial="${DATA_ID}" size="3" tag="data"/>`,
    ]) {
      expect(text).toContain(line);
    }
  });

  test("a guest that boots from a volume has no root disk of its own, and needs no disk space for it", async () => {
    const root = volumeOf({ deviceName: "/dev/vda", bootIndex: 0 });
    await host.spawn(vm, { ...SPAWN, blockDevices: devicesOf([root]) });
    expect(await instanceFiles()).toEqual(["console.log", "disk.eph0", "disk.swap"]);
    expect(await xml()).toContain('<boot order="1"/>');
    expect(await targets()).toEqual(["vdb", "vdc", "vda"]);
    expect((await host.getAvailableResource("devstack1")).localGbUsed).toBe(3);
  });

  test("requested ephemeral and swap disks take the place of those of the flavor", async () => {
    const disk = { diskBus: "virtio", guestFormat: null };
    const blockDevices = devicesOf([], {
      localDisks: [
        { kind: "ephemeral", deviceName: "/dev/vdb", sizeMb: 1024, ...disk },
        { kind: "ephemeral", deviceName: "/dev/vdc", sizeMb: 512, ...disk },
        { kind: "swap", deviceName: "/dev/vdd", sizeMb: 256, ...disk },
      ],
    });
    await host.spawn(vm, { ...SPAWN, blockDevices });
    const size = async (name: string) =>
      (await harness.files.stat(`${harness.folder}/hypervisors/devstack1/instances/${UUID}/${name}`))?.bytes;
    expect([await size("disk.eph0"), await size("disk.eph1"), await size("disk.swap")]).toEqual([
      GIB,
      GIB / 2,
      GIB / 4,
    ]);
    expect(await targets()).toEqual(["vda", "vdb", "vdc", "vdd"]);
  });

  test("a hard reboot replaces the connections of volumes, and a soft one keeps them", async () => {
    await host.spawn(vm, { ...SPAWN, blockDevices: devicesOf([volumeOf()]) });
    const moved = { blockDevices: devicesOf([volumeOf({ connectionInfo: connectionOf("10.0.0.7") })]) };
    await host.reboot(vm, "SOFT", moved);
    expect(await xml()).toContain("ip-10.0.0.9:3260");
    await host.reboot(vm, "HARD", moved);
    expect(await xml()).toContain("ip-10.0.0.7:3260");
  });

  test("an extended volume has its new size", async () => {
    await host.spawn(vm, { ...SPAWN, blockDevices: devicesOf([volumeOf()]) });
    await host.extendVolume(vm, volumeOf({ size: 5 }));
    expect(await xml()).toContain(`<fake:volume serial="${DATA_ID}" size="5" tag="data"/>`);
  });

  test("a rescue hides the volumes, unless the image asks for a rescue disk beside all others", async () => {
    await host.spawn(vm, { ...SPAWN, blockDevices: devicesOf([volumeOf()]) });
    const rescue = { network: [], blockDevices: devicesOf([volumeOf()]) };
    await host.rescue(vm, { ...rescue, image: imageOf() });
    expect(await targets()).toEqual(["vda", "vdb", "vdc", "vdd"]);
    expect(await host.listVolumes(vm)).toEqual([]);
    await host.unrescue(vm);
    await host.rescue(vm, { ...rescue, image: imageOf({ properties: { hw_rescue_bus: "virtio" } }) });
    expect(await targets()).toEqual(["vda", "vdb", "vdc", "vde", "vdd"]);
    expect(await host.listVolumes(vm)).toEqual([{ volumeId: DATA_ID, deviceName: "/dev/vdd" }]);
  });

  test("a guest that migrated live uses the connections of its destination", async () => {
    const destination = await connect(harness, "devstack2");
    await host.spawn(vm, { ...SPAWN, blockDevices: devicesOf([volumeOf()]) });
    const checked = await destination.checkCanLiveMigrateDestination(vm, {
      blockMigration: null,
      diskOverCommit: false,
    });
    const data = await destination.preLiveMigration(vm, {
      network: [],
      blockDevices: devicesOf([volumeOf({ connectionInfo: connectionOf("10.0.0.7") })]),
      data: await host.checkCanLiveMigrateSource(vm, checked),
    });
    const callbacks = { onProgress: () => {}, postMethod: async () => {}, recoverMethod: async () => {} };
    await host.liveMigration(vm, "devstack2", { blockMigration: data.blockMigration, data, ...callbacks });
    expect(await xml("devstack2")).toContain("ip-10.0.0.7:3260");
  });

  test("statistics include volumes", async () => {
    await host.spawn(vm, { ...SPAWN, blockDevices: devicesOf([volumeOf()]) });
    expect(await host.getDiagnostics(vm)).toHaveProperty("vdd_read");
  });
});
