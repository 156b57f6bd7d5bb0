import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { BuildAbortException, GuestNotFound, InstanceExists, InstanceNotRunning } from "../../../../src/virt/index.js";
import { instanceOf, UUID } from "../../virt/fixtures.js";
import { DESTROY, HARNESSES, type Harness, IMAGE, KEEP_DISKS, SPAWN } from "./fixtures.js";

const vm1 = instanceOf();
const GIB = 1024 ** 3;

describe.each(HARNESSES)("guests of fake-libvirt on %s", (_, createHarness) => {
  let harness: Harness;
  let host: DriverHost;
  const hypervisor = () => `${harness.folder}/hypervisors/devstack1`;
  const disk = (uuid: string) => `${hypervisor()}/instances/${uuid}/disk`;

  beforeEach(async () => {
    harness = await createHarness();
    host = await harness.connect();
  });
  afterEach(() => harness.close());

  describe("8.2 guests", () => {
    test("spawn makes a running guest with a sparse disk", async () => {
      await host.spawn(vm1, SPAWN);
      expect(await host.listInstanceUuids()).toEqual([UUID]);
      expect(await host.instanceExists(vm1)).toBe(true);
      expect(await host.getInfo(vm1)).toEqual({ state: 1, internalId: "instance-0000002a" });
      expect(await harness.files.stat(disk(UUID))).toMatchObject({ kind: "file", bytes: 20 * GIB });
    });
    test("spawn over an existing guest is InstanceExists, and does not change it", async () => {
      await host.spawn(vm1, SPAWN);
      await expect(host.spawn(vm1, SPAWN)).rejects.toThrow(InstanceExists);
      expect(await host.powerState(vm1)).toBe(1);
      expect(await harness.files.stat(disk(UUID))).toBeDefined();
    });

    test("an image that no host can run is BuildAbortException, and leaves nothing", async () => {
      await expect(host.spawn(vm1, { ...SPAWN, image: { ...IMAGE, diskFormat: "vmdk" } })).rejects.toThrow(
        BuildAbortException,
      );
      expect(await harness.files.list(`${hypervisor()}/instances`)).toEqual([]);
    });

    test("a volume-backed guest has no local root disk", async () => {
      await host.spawn(instanceOf({ imageRef: "" }), SPAWN);
      expect(await harness.files.stat(disk(UUID))).toBeUndefined();
      expect((await host.getAvailableResource("devstack1")).localGbUsed).toBe(0);
    });

    test("destroy removes everything; a missing guest is success", async () => {
      await host.spawn(vm1, SPAWN);
      await host.destroy(vm1, DESTROY);
      await host.destroy(vm1, DESTROY);
      expect(await host.listInstanceUuids()).toEqual([]);
      for (const folder of ["domains", "state", "instances"]) {
        expect(await harness.files.list(`${hypervisor()}/${folder}`)).toEqual([]);
      }
    });

    test("V5 destroy with destroyDisks false keeps the files", async () => {
      await host.spawn(vm1, SPAWN);
      await host.destroy(vm1, KEEP_DISKS);
      expect(await host.instanceExists(vm1)).toBe(false);
      expect(await harness.files.stat(disk(UUID))).toMatchObject({ bytes: 20 * GIB });
    });
    test.each(["pause", "unpause", "suspend"] as const)(
      "%s of a guest that is shut off: InstanceNotRunning",
      async (method) => {
        await host.spawn(vm1, { ...SPAWN, powerOn: false });
        await expect(host[method](vm1)).rejects.toThrow(InstanceNotRunning);
        expect(await host.powerState(vm1)).toBe(4);
      },
    );
    test("a SOFT reboot of a missing guest is InstanceNotFound, HARD creates it again", async () => {
      await expect(host.reboot(vm1, "SOFT")).rejects.toThrow(GuestNotFound);
      await host.reboot(vm1, "HARD");
      expect(await host.powerState(vm1)).toBe(1);
      expect(await harness.files.stat(disk(UUID))).toMatchObject({ bytes: 20 * GIB });
    });
  });
});
