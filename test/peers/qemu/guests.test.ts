import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { driver as definition } from "../../../drivers/qemu/index.js";
import { createNodeRuntime } from "../../../src/runtime/node/node-runtime.js";
import type { Runtime } from "../../../src/runtime/runtime.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { HarnessImages } from "../../../src/testing/harness-fixtures.js";
import { createDriverHost } from "../../../src/virt/create-driver-host.js";
import type { DriverHost } from "../../../src/virt/driver-host.js";
import type { LiveMigrateData } from "../../../src/virt/index.js";
import {
  contextOf,
  imageOf,
  instanceOf,
  migrationOf,
  NO_DEVICES,
  spawnOptions,
  UUID,
} from "../../unit/virt/fixtures.js";
import { countsIn, countsOn, writeCountingImage } from "./support/counts.js";
import { missingQemu } from "./support/installed.js";

const missing = missingQemu();
const small = { vcpus: 1, memoryMb: 16, rootGb: 1 };
const image = imageOf();
const vm = instanceOf({ ...small, flavor: { ...instanceOf().flavor, ...small } });
const DESTROY = { ...NO_DEVICES, destroyDisks: true };

describe.skipIf(missing !== null)(`guests of driver qemu${missing === null ? "" : ` (${missing})`}`, () => {
  let folder: string;
  let runtime: Runtime;
  let images: HarnessImages;
  const hosts: DriverHost[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "qemu-guests-"));
    runtime = createNodeRuntime({ logger: createVirtualRuntime().logger });
    images = new HarnessImages(runtime.files, join(folder, "image-service"));
    await writeCountingImage(join(folder, "images", `${image.id}.raw`));
  });
  afterEach(async () => {
    for (const host of hosts.splice(0)) {
      for (const uuid of await host.listInstanceUuids()) {
        await host.destroy(instanceOf({ uuid }), DESTROY);
      }
      await host.cleanupHost();
    }
    await runtime.http.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Connects an agent's driver. A second one for a host is that of the agent after a killed one. */
  async function connect(name: string, config: Readonly<Record<string, unknown>> = {}): Promise<DriverHost> {
    const own = { folder: join(folder, name), imagesPath: join(folder, "images"), kvm: "never", ...config };
    const host = await createDriverHost(definition, contextOf(runtime, { host: name, config: own, images }));
    await host.initHost();
    hosts.push(host);
    return host;
  }

  const consoleOn = (name: string) => join(folder, name, "instances", UUID, "console.log");

  async function spawned(name: string): Promise<DriverHost> {
    const host = await connect(name);
    await host.spawn(vm, spawnOptions);
    return host;
  }

  test("boot from their image, outlive the agent, and are found by the next agent", async () => {
    await spawned("one");
    const first = await countsOn(consoleOn("one"));
    const next = await connect("one");
    expect(await next.powerState(vm)).toBe(1);
    expect((await countsOn(consoleOn("one"))).memory, "it was not started again").toBeGreaterThan(first.memory);
    await next.destroy(vm, DESTROY);
    expect(await next.listInstanceUuids()).toEqual([]);
    expect(await readdir(join(folder, "one", "run")), "no process is left").toEqual([]);
  });

  test("keep their disk over a stop and a start, but not their memory", async () => {
    const host = await spawned("one");
    const before = await countsOn(consoleOn("one"));
    await host.powerOff(vm);
    expect(await host.powerState(vm)).toBe(4);
    const previousCount = (await countsIn(consoleOn("one"))).length;
    await host.powerOn(vm);
    await countsOn(consoleOn("one"));
    const first = (await countsIn(consoleOn("one")))[previousCount];
    expect(first?.disk).toBeGreaterThan(before.disk);
    expect(first?.memory).toBe(1);
  });

  test("stop while they are paused, and continue from there", async () => {
    const host = await spawned("one");
    await countsOn(consoleOn("one"));
    await host.pause(vm);
    expect(await host.powerState(vm)).toBe(3);
    const paused = (await countsIn(consoleOn("one"))).at(-1);
    expect((await countsIn(consoleOn("one"))).at(-1)).toEqual(paused);
    await host.unpause(vm);
    expect((await countsOn(consoleOn("one"))).memory).toBeGreaterThan(paused?.memory ?? 0);
  });

  test("keep their memory while they are suspended without a process", async () => {
    const host = await spawned("one");
    await countsOn(consoleOn("one"), 10);
    await host.suspend(vm);
    expect(await host.powerState(vm)).toBe(7);
    const last = (await countsIn(consoleOn("one"))).at(-1);
    expect(await readdir(join(folder, "one", "run"))).toEqual([]);
    const next = await connect("one");
    await next.resume(vm);
    const counts = await countsIn(consoleOn("one"));
    const after = await countsOn(consoleOn("one"));
    expect(after.memory).toBeGreaterThan(last?.memory ?? 0);
    expect(after.disk - after.memory, "disk and memory belong together").toBe((last?.disk ?? 0) - (last?.memory ?? 0));
    expect(counts.filter(({ memory }) => memory === 1)).toHaveLength(1);
  });

  test("are copied by snapshots of one moment, from which other guests boot", async () => {
    const host = await spawned("one");
    const before = await countsOn(consoleOn("one"), 10);
    const imageId = "55555555-5555-4555-8555-555555555555";
    await host.snapshot(vm, imageId, { updateTaskState: async () => {} });
    const after = await countsOn(consoleOn("one"));
    await host.destroy(vm, DESTROY);
    await host.spawn(vm, { ...spawnOptions, image: imageOf({ id: imageId }) });
    await countsOn(consoleOn("one"));
    const [first] = await countsIn(consoleOn("one"));
    expect(first?.memory).toBe(1);
    expect(first?.disk).toBeGreaterThan(before.disk);
    expect(first?.disk).toBeLessThanOrEqual(after.disk + 1);
  });

  test("boot from an image of the Image service, and an interrupted download leaves nothing", async () => {
    const id = "66666666-6666-4666-8666-666666666666";
    const raw = await runtime.files.readBytes(join(folder, "images", `${image.id}.raw`));
    await images.upload(id, raw, { diskFormat: "raw" });
    const host = await connect("one");
    images.breaks = true;
    const options = { ...spawnOptions, image: imageOf({ id, diskFormat: "raw" }) };
    await expect(host.spawn(vm, options)).rejects.toThrow("broke off");
    expect(await host.listInstanceUuids()).toEqual([]);
    expect(await runtime.files.list(join(folder, "one", "instances"))).toEqual([]);
    images.breaks = false;
    await host.spawn(vm, options);
    expect((await countsOn(consoleOn("one"))).disk).toBeGreaterThan(0);
    expect(await runtime.files.list(join(folder, "one", "instances", UUID))).toEqual(["console.log", "disk"]);
  });

  test("are not built from an image that includes a file of the host", async () => {
    const id = "66666666-6666-4666-8666-666666666666";
    const path = join(folder, "layered.qcow2");
    const backing = join(folder, "images", `${image.id}.raw`);
    const argv = ["qemu-img", "create", "-q", "-f", "qcow2", "-b", backing, "-F", "raw", path];
    expect(await runtime.programs.run({ argv })).toMatchObject({ code: 0 });
    await images.upload(id, await runtime.files.readBytes(path), { diskFormat: "qcow2" });
    const host = await connect("one");
    await expect(host.spawn(vm, { ...spawnOptions, image: imageOf({ id }) })).rejects.toMatchObject({
      name: "ImageUnacceptable",
      message: expect.stringContaining(`it depends on another file, ${backing}`),
    });
    expect(await host.listInstanceUuids()).toEqual([]);
  });

  test("boot a rescue image with their own disk attached, and are unrescued", async () => {
    const host = await spawned("one");
    const before = await countsOn(consoleOn("one"), 10);
    const previousCount = (await countsIn(consoleOn("one"))).length;
    await host.rescue(vm, { ...NO_DEVICES, image });
    await countsOn(consoleOn("one"));
    const rescued = (await countsIn(consoleOn("one"))).slice(previousCount).find(({ memory }) => memory === 1);
    expect(rescued?.disk, "another disk").toBe(1);
    const meanwhile = (await countsIn(consoleOn("one"))).length;
    await host.unrescue(vm);
    await countsOn(consoleOn("one"));
    const own = (await countsIn(consoleOn("one"))).slice(meanwhile).find(({ memory }) => memory === 1);
    expect(own?.disk).toBeGreaterThan(before.disk);
  });

  test("take their disk to another host, and back at a revert", async () => {
    const source = await spawned("one");
    const destination = await connect("two");
    const before = await countsOn(consoleOn("one"), 5);
    const disks = await source.migrateDiskAndPowerOff(vm, {
      ...NO_DEVICES,
      destIp: "127.0.0.2",
      flavor: vm.flavor,
    });
    const options = { ...NO_DEVICES, image, allocations: {}, resizeInstance: false, powerOn: true };
    await destination.finishMigration(migrationOf(), vm, disks, options);
    const there = await countsOn(consoleOn("two"));
    expect(there.disk).toBeGreaterThan(before.disk);
    await destination.destroy(vm, DESTROY);
    await source.finishRevertMigration(vm, { ...NO_DEVICES, migration: null, powerOn: true });
    const back = await countsOn(consoleOn("one"));
    expect(back.disk).toBeGreaterThan(before.disk);
    expect(await destination.listInstanceUuids()).toEqual([]);
  });

  test.each([
    ["with its disk", {}],
    ["on a disk that both hosts share", { shared: true }],
  ])("are migrated live, %s", async (_, { shared = false }: { shared?: boolean }) => {
    const config = shared ? { instancesPath: join(folder, "shared") } : {};
    const [source, destination] = [await connect("one", config), await connect("two", config)];
    await source.spawn(vm, spawnOptions);
    const [here, there] = shared
      ? [join(folder, "shared", UUID, "console.log"), join(folder, "shared", UUID, "console.log")]
      : [consoleOn("one"), consoleOn("two")];
    await countsOn(here, 10);
    const data = await prepared(source, destination);
    expect(data.blockMigration).toBe(!shared);
    const ended: string[] = [];
    await source.liveMigration(vm, "two", {
      blockMigration: data.blockMigration,
      data,
      onProgress: () => {},
      postMethod: async () => void ended.push("post"),
      recoverMethod: async ({ status }) => void ended.push(status),
    });
    expect(ended).toEqual(["post"]);
    expect(await source.listInstanceUuids()).toEqual([]);
    await destination.postLiveMigrationAtDestination(vm, { ...NO_DEVICES, data });
    const last = (await countsIn(here)).at(-1);
    const moved = await countsOn(there);
    await source.cleanup(vm, { ...NO_DEVICES, destroyDisks: !shared });
    expect(moved.memory, "its memory has come along").toBeGreaterThanOrEqual(last?.memory ?? 0);
    expect(moved.disk, "it counts in both alike").toBe(moved.memory);
    // The disk at the destination contains the guest's own count.
    const previousCount = (await countsIn(there)).length;
    await destination.reboot(vm, "HARD");
    await countsOn(there);
    const reborn = (await countsIn(there)).slice(previousCount).find(({ memory }) => memory === 1);
    expect(reborn?.disk).toBeGreaterThan(moved.disk);
  });

  test("are not moved to a host of another machine, even if a local folder has its name", async () => {
    const [source, destination] = [await connect("one"), await connect("two")];
    await source.spawn(vm, spawnOptions);
    const offered = await destination.checkCanLiveMigrateDestination(vm, {
      blockMigration: null,
      diskOverCommit: false,
    });
    // The destination's token file is only in a folder on its machine.
    await destination.cleanupLiveMigrationDestinationCheck(offered);
    await expect(source.checkCanLiveMigrateSource(vm, offered)).rejects.toThrow("both hosts must run on one machine");
    expect(await source.listInstanceUuids()).toEqual([UUID]);
  });

  async function prepared(source: DriverHost, destination: DriverHost): Promise<LiveMigrateData> {
    const checkOptions = { blockMigration: null, diskOverCommit: false };
    const offered = await destination.checkCanLiveMigrateDestination(vm, checkOptions);
    const data = await source.checkCanLiveMigrateSource(vm, offered);
    await destination.cleanupLiveMigrationDestinationCheck(offered);
    return destination.preLiveMigration(vm, { ...NO_DEVICES, data });
  }
});
