import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { BuildAbortException, GuestNotFound } from "../../../../src/virt/index.js";
import { imageOf, instanceOf, NO_DEVICES, UUID } from "../../virt/fixtures.js";
import { DESTROY, HARNESSES, type Harness, SPAWN } from "./fixtures.js";

const vm = instanceOf();
const RESCUE = { ...NO_DEVICES, image: imageOf({ name: "rescue", minDisk: 2 }) };

describe.each(HARNESSES)("8.2 rescue and snapshot on %s", (_, createHarness) => {
  let harness: Harness;
  let host: DriverHost;
  const hypervisor = () => `${harness.folder}/hypervisors/devstack1`;
  const xml = () => harness.files.read(`${hypervisor()}/domains/${UUID}.xml`);

  beforeEach(async () => {
    harness = await createHarness();
    host = await harness.connect();
    await host.spawn(vm, SPAWN);
  });
  afterEach(() => harness.close());

  test("rescue boots from a rescue disk, with the guest's own as the second; unrescue restores it", async () => {
    const before = await xml();
    await host.powerOff(vm);
    await host.rescue(vm, RESCUE);
    expect(await host.powerState(vm)).toBe(1);
    expect(await xml()).toMatch(/disk\.rescue"[\s\S]*dev="vda"[\s\S]*\/disk"[\s\S]*dev="vdb"/);
    expect(await harness.files.stat(`${hypervisor()}/instances/${UUID}/disk.rescue`)).toMatchObject({
      bytes: 2 * 1024 ** 3,
    });
    await host.unrescue(vm);
    expect(await host.powerState(vm)).toBe(1);
    expect(await xml()).toBe(before);
    expect(await harness.files.list(`${hypervisor()}/instances/${UUID}`)).toEqual(["console.log", "disk"]);
  });

  test("a second rescue keeps the original definition; a second unrescue changes nothing", async () => {
    const before = await xml();
    await host.rescue(vm, RESCUE);
    await host.rescue(vm, RESCUE);
    await host.unrescue(vm);
    await host.powerOff(vm);
    await host.unrescue(vm);
    expect(await xml()).toBe(before);
    expect(await host.powerState(vm)).toBe(4);
  });

  test("a missing guest is InstanceNotFound; an image that no host can run is BuildAbortException", async () => {
    await expect(host.rescue(vm, { ...RESCUE, image: imageOf({ diskFormat: "iso" }) })).rejects.toThrow(
      BuildAbortException,
    );
    expect(await host.powerState(vm)).toBe(1);
    await host.destroy(vm, DESTROY);
    await expect(host.rescue(vm, RESCUE)).rejects.toThrow(GuestNotFound);
    await expect(host.unrescue(vm)).rejects.toThrow(GuestNotFound);
    expect(await harness.files.list(`${hypervisor()}/instances`)).toEqual([]);
  });
});
