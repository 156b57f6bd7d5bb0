import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { instanceOf, UUID } from "../../virt/fixtures.js";
import { HARNESSES, type Harness, KEEP_DISKS, SPAWN } from "./fixtures.js";

const vm1 = instanceOf();
const GIB = 1024 ** 3;

describe.each(HARNESSES)("storage of fake-libvirt on %s", (_, createHarness) => {
  let harness: Harness;
  let host: DriverHost;
  const hypervisor = () => `${harness.folder}/hypervisors/devstack1`;
  const disk = (uuid: string) => `${hypervisor()}/instances/${uuid}/disk`;

  beforeEach(async () => {
    harness = await createHarness();
    host = await harness.connect();
  });
  afterEach(() => harness.close());

  describe("files and storage", () => {
    test.each([true, false])(
      "3.3 a host's token is visible only to a host with the same folder (shared: %s)",
      async (shared) => {
        const instancesPath = `${harness.folder}/nfs`;
        const source = await harness.connect({ instancesPath });
        const other = `fake-libvirt://${harness.folder}/hypervisors/devstack2`;
        const dest = await harness.connect(
          { connectionUri: other, ...(shared ? { instancesPath } : {}) },
          { host: "devstack2" },
        );
        await source.spawn(vm1, SPAWN);
        const token = await source.checkInstanceSharedStorageLocal(vm1);
        expect(await dest.checkInstanceSharedStorageRemote(token ?? {})).toBe(shared);
        await source.checkInstanceSharedStorageCleanup(token ?? {});
        expect(await source.checkInstanceSharedStorageRemote(token ?? {})).toBe(false);
        expect(await harness.files.list(`${instancesPath}/${UUID}`)).toEqual(["console.log", "disk"]);
      },
    );

    test("a token from another host cannot name a file elsewhere", async () => {
      await host.spawn(vm1, SPAWN);
      for (const token of [
        {},
        { instanceUuid: UUID, file: "disk" },
        { instanceUuid: "..", file: "../hypervisor.json" },
      ]) {
        expect(await host.checkInstanceSharedStorageRemote(token)).toBe(false);
        await host.checkInstanceSharedStorageCleanup(token);
      }
      const up = { instanceUuid: "../..", file: ".shared-storage-0123456789abcdef" };
      await harness.files.write(`${hypervisor()}/instances/../../.shared-storage-0123456789abcdef`, "");
      expect(await host.checkInstanceSharedStorageRemote(up)).toBe(false);
      expect(await harness.files.stat(disk(UUID))).toBeDefined();
    });

    test("6.7 evacuation on shared storage: the destination uses the source's disk", async () => {
      const instancesPath = `${harness.folder}/nfs`;
      const source = await harness.connect({ instancesPath });
      const dest = await harness.connect(
        { instancesPath, connectionUri: `fake-libvirt://${harness.folder}/hypervisors/devstack2` },
        { host: "devstack2" },
      );
      const shared = `${instancesPath}/${UUID}/disk`;
      const tiny = instanceOf({ rootGb: 0 });
      await source.spawn(tiny, SPAWN);
      await harness.files.append(shared, "what the guest wrote");
      expect(await dest.instanceOnDisk(tiny)).toBe(true);
      expect(await dest.instanceExists(tiny)).toBe(false);
      await dest.spawn(tiny, SPAWN);
      await source.destroy(tiny, KEEP_DISKS);
      expect(await harness.files.read(shared)).toBe("what the guest wrote");
      expect(await dest.powerState(tiny)).toBe(1);
    });

    test("a failed spawn on shared storage keeps the source's disk", async () => {
      const instancesPath = `${harness.folder}/nfs`;
      const source = await harness.connect({ instancesPath });
      await source.spawn(vm1, SPAWN);
      const connectionUri = `fake-libvirt://${harness.folder}/hypervisors/devstack2`;
      const failing = { ...harness.files, ...failingWrites(harness) };
      const dest = await harness.connect({ instancesPath, connectionUri }, { host: "devstack2", files: failing });
      await expect(dest.spawn(vm1, SPAWN)).rejects.toThrow("no space left");
      expect(await dest.listInstanceUuids()).toEqual([]);
      expect(await harness.files.stat(`${instancesPath}/${UUID}/disk`)).toMatchObject({ bytes: 20 * GIB });
    });
  });
});

function failingWrites({ files }: Harness): Harness["files"] {
  return {
    read: (path) => files.read(path),
    readIfPresent: (path) => files.readIfPresent(path),
    readBytes: (path) => files.readBytes(path),
    writeBytes: (path, bytes, options) => files.writeBytes(path, bytes, options),
    write: async (path, text) => {
      if (path.includes("/domains/")) {
        throw new Error("no space left");
      }
      await files.write(path, text);
    },
    create: (path, text) => files.create(path, text),
    append: (path, text) => files.append(path, text),
    truncate: (path, bytes) => files.truncate(path, bytes),
    rename: (from, to) => files.rename(from, to),
    remove: (path) => files.remove(path),
    makeFolder: (path) => files.makeFolder(path),
    list: (path) => files.list(path),
    stat: (path) => files.stat(path),
    watch: (folder, listener) => files.watch(folder, listener),
  };
}
