import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { GuestNotFound, InstanceFaultRollback } from "../../../../src/virt/index.js";
import { imageOf, migrationOf, NO_DEVICES, UUID } from "../../virt/fixtures.js";
import { DESTROY, HARNESSES, type Harness, KEEP_DISKS, SPAWN } from "./fixtures.js";
import { connect, large, lookAt, REVERT, small } from "./two-hosts.js";

const GIB = 1024 ** 3;
const TO = { ...NO_DEVICES, destIp: "127.0.0.2", flavor: large.flavor };
const FINISH = { ...NO_DEVICES, image: imageOf(), resizeInstance: true, powerOn: true };
const CONFIRM = { network: [] };

describe.each(HARNESSES)("8.3 cold moves on %s", (_, createHarness) => {
  describe.each([false, true])("shared storage: %s", (shared) => {
    let harness: Harness;
    let source: DriverHost;
    let destination: DriverHost;
    const look = () => lookAt(harness, shared);
    const bytes = async (host: string, name: string) => {
      const root = shared ? `${harness.folder}/nfs` : `${harness.folder}/hypervisors/${host}/instances`;
      return (await harness.files.stat(`${root}/${UUID}/${name}`))?.bytes;
    };

    beforeEach(async () => {
      harness = await createHarness();
      source = await connect(harness, "devstack1", { shared });
      destination = await connect(harness, "devstack2", { shared });
      await source.spawn(small, SPAWN);
    });
    afterEach(() => harness.close());
    test("S 1, D 2, S 3a a confirmed resize: larger disks at the destination, nothing at the source", async () => {
      const diskInfo = await source.migrateDiskAndPowerOff(small, TO);
      await destination.finishMigration(migrationOf(), large, diskInfo, FINISH);
      expect(await look()).toMatchObject({ source: "shutoff", destination: "running" });
      expect(await bytes("devstack2", "disk")).toBe(20 * GIB);
      expect(await bytes("devstack2", "disk.eph0")).toBe(2 * GIB);
      await source.confirmMigration(migrationOf(), large, CONFIRM);
      await source.confirmMigration(migrationOf(), large, CONFIRM);
      const { sourceFiles, ...rest } = await look();
      expect(rest).toMatchObject({ source: undefined, destination: "running" });
      expect(sourceFiles).toEqual(shared ? [`nfs/${UUID}`] : []);
      expect(await destination.getAvailableResource("devstack2")).toMatchObject({ vcpusUsed: 4, memoryMbUsed: 4096 });
    });

    test("D 2 without power on: defined and shut off; disks keep their size if the flavor is the same", async () => {
      const diskInfo = await source.migrateDiskAndPowerOff(small, { ...TO, flavor: small.flavor });
      await destination.finishMigration(migrationOf(), small, diskInfo, { ...FINISH, powerOn: false });
      expect(await look()).toMatchObject({ source: "shutoff", destination: "shutoff" });
      expect(await bytes("devstack2", "disk")).toBe(10 * GIB);
    });

    test("D 3b, S 4b a reverted resize restores the guest", async () => {
      const before = await look();
      const diskInfo = await source.migrateDiskAndPowerOff(small, TO);
      await destination.finishMigration(migrationOf(), large, diskInfo, FINISH);
      await destination.destroy(large, shared ? KEEP_DISKS : DESTROY);
      await source.finishRevertMigration(small, REVERT);
      expect(await look()).toEqual(before);
      expect(await bytes("devstack1", "disk")).toBe(10 * GIB);
      expect(await source.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 2, memoryMbUsed: 2048 });
      await source.finishRevertMigration(small, REVERT);
      expect(await look()).toEqual(before);
    });

    test.each([
      ["a hard reboot of", () => source.reboot(small, "HARD")],
      ["power for", () => source.powerOn(small)],
    ])("8.2 %s restores the guest from the files of the move; no confirmation removes it", async (_, start) => {
      await source.migrateDiskAndPowerOff(small, TO);
      await start();
      expect(await source.instanceOnDisk(small)).toBe(true);
      await source.confirmMigration(migrationOf(), small, CONFIRM);
      expect(await look()).toMatchObject({ source: "running" });
    });
    test("6.4 same-host resize: confirm does not touch the guest, revert restores the old one", async () => {
      const sameHost = migrationOf({ destCompute: "devstack1" });
      const diskInfo = await source.migrateDiskAndPowerOff(small, TO);
      await source.finishMigration(sameHost, large, diskInfo, FINISH);
      expect(await source.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 4 });
      await source.destroy(large, KEEP_DISKS);
      await source.finishRevertMigration(small, REVERT);
      expect(await look()).toMatchObject({ source: "running" });
      expect(await source.getAvailableResource("devstack1")).toMatchObject({ vcpusUsed: 2 });
      expect(await bytes("devstack1", "disk")).toBe(10 * GIB);

      await source.finishMigration(sameHost, large, await source.migrateDiskAndPowerOff(small, TO), FINISH);
      await source.confirmMigration(sameHost, large, CONFIRM);
      const { sourceFiles, source: state } = await look();
      expect(state).toBe("running");
      expect(sourceFiles.filter((name) => name.endsWith("_resize"))).toEqual([]);
      expect(await bytes("devstack1", "disk")).toBe(20 * GIB);
    });

    test("leftover files of an earlier move are ignored", async () => {
      const root = shared ? `${harness.folder}/nfs` : `${harness.folder}/hypervisors/devstack1/instances`;
      await harness.files.truncate(`${root}/${UUID}_resize/disk`, 99 * GIB);
      const diskInfo = await source.migrateDiskAndPowerOff(small, TO);
      await destination.finishMigration(migrationOf(), large, diskInfo, FINISH);
      expect(await bytes("devstack2", "disk")).toBe(20 * GIB);
    });

    test("6.3 a deleted guest leaves nothing at the source", async () => {
      const diskInfo = await source.migrateDiskAndPowerOff(small, TO);
      await destination.finishMigration(migrationOf(), large, diskInfo, FINISH);
      await destination.destroy(large, DESTROY);
      await source.destroy(small, DESTROY);
      expect(await look()).toMatchObject({ sourceFiles: [], destinationFiles: [] });
    });
  });

  describe("moves that are impossible", () => {
    let harness: Harness;
    let source: DriverHost;
    beforeEach(async () => {
      harness = await createHarness();
      source = await connect(harness, "devstack1");
    });
    afterEach(() => harness.close());

    test.each([
      ["root", { ...small.flavor, rootGb: 5, ephemeralGb: 1 }],
      ["ephemeral", { ...small.flavor, rootGb: 10, ephemeralGb: 0 }],
    ])("a smaller %s disk is InstanceFaultRollback, without effect", async (disk, flavor) => {
      await source.spawn(small, SPAWN);
      const error = await source.migrateDiskAndPowerOff(small, { ...TO, flavor }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InstanceFaultRollback);
      expect(String(error)).toContain(`Unable to resize disk down. The ${disk} disk`);
      expect(await lookAt(harness, false)).toMatchObject({ source: "running" });
    });

    test("S 1 of a missing guest: InstanceNotFound", async () => {
      await expect(source.migrateDiskAndPowerOff(small, TO)).rejects.toThrow(GuestNotFound);
    });

    test("D 2 on another machine, without access to the source's folders: disks of the same sizes, and back again", async () => {
      const elsewhere = await createHarness();
      onTestFinished(() => elsewhere.close());
      const destination = await connect(elsewhere, "devstack2");
      await source.spawn(small, SPAWN);
      const before = await lookAt(harness, false);
      const diskInfo = await source.migrateDiskAndPowerOff(small, { ...TO, flavor: small.flavor });
      await destination.finishMigration(migrationOf(), small, diskInfo, FINISH);
      expect(await lookAt(elsewhere, false)).toMatchObject({ source: undefined, destination: "running" });
      const disk = `${elsewhere.folder}/hypervisors/devstack2/instances/${UUID}/disk`;
      expect((await elsewhere.files.stat(disk))?.bytes).toBe(10 * GIB);
      await destination.destroy(small, DESTROY);
      await source.finishRevertMigration(small, REVERT);
      expect(await lookAt(harness, false)).toEqual(before);
    });

    test("D 2 fails without the source's disks, or with another driver's disk information", async () => {
      const destination = await connect(harness, "devstack2");
      const diskInfo = JSON.stringify({ instancesPath: `${harness.folder}/hypervisors/devstack1/instances` });
      await expect(destination.finishMigration(migrationOf(), large, diskInfo, FINISH)).rejects.toThrow(
        /cannot be migrated here: the source has no disk of it set aside in .*devstack1\/instances/,
      );
      await expect(destination.finishMigration(migrationOf(), large, "[]", FINISH)).rejects.toThrow(
        /disk information is not from fake-libvirt: expected JSON with instancesPath, found \[\]/,
      );
      expect(await lookAt(harness, false)).toMatchObject({ destination: undefined });
    });

    test("D 2 creates disks if the source sends no disk information, as Nova's fake drivers do", async () => {
      const destination = await connect(harness, "devstack2");
      await destination.finishMigration(migrationOf(), large, "{}", FINISH);
      expect(await destination.powerState(large)).toBe(1);
      expect(await lookAt(harness, false)).toMatchObject({ destination: "running" });
    });

    test("S 4b without disks fails with their expected path, and defines no empty guest", async () => {
      await expect(source.finishRevertMigration(small, REVERT)).rejects.toThrow(
        /cannot be restored: expected its disk in .*instances\/1111/,
      );
      expect(await lookAt(harness, false)).toMatchObject({ source: undefined });
    });

    test("3a of two agents on one hypervisor, a guest that the other has taken is kept, with a warning", async () => {
      await source.spawn(small, SPAWN);
      const other = await connect(harness, "devstack1", {}, { host: "devstack2" });
      const diskInfo = await source.migrateDiskAndPowerOff(small, TO);
      await other.finishMigration(migrationOf(), large, diskInfo, FINISH);
      await source.confirmMigration(migrationOf(), large, CONFIRM);
      expect(await other.powerState(large)).toBe(1);
      expect(harness.logs).toMatchObject([
        { level: "warn", message: "guest left in place: another agent of this hypervisor has redefined it" },
      ]);
    });
  });
});
