import { describe, expect, test, vi } from "vitest";
import { DRIVER_METHODS, type DriverMethod } from "../../../src/virt/driver-methods.js";
import { GuestNotFound, type GuestVolume, NotImplemented } from "../../../src/virt/index.js";
import {
  hostOf,
  imageOf,
  instanceOf,
  migrationOf,
  NO_DEVICES,
  NODE_UUID,
  OTHER_UUID,
  spawnOptions,
  UUID,
} from "./fixtures.js";

const instance = instanceOf();
const data = { blockMigration: true, sharedInstanceFiles: false };

describe("defaults of methods that a driver does not implement (spec 8.1, 8.2)", () => {
  test("processInstancesAtStartup is all instances", async () => {
    const { host } = await hostOf();
    expect(await host.processInstancesAtStartup([instance])).toEqual([instance]);
  });

  test("getNodenamesByUuid is the local uuid and the first available node", async () => {
    const { host } = await hostOf({ getAvailableNodes: async () => ["b", "a"] });
    expect(await host.getNodenamesByUuid()).toEqual(new Map([[NODE_UUID, "b"]]));
  });

  test("getNodenamesByUuid is empty without a node", async () => {
    const { host } = await hostOf({ getAvailableNodes: async () => [] });
    expect(await host.getNodenamesByUuid()).toEqual(new Map());
  });

  test("instanceExists searches the uuids", async () => {
    const { host } = await hostOf({ listInstanceUuids: async () => [UUID] });
    expect(await host.instanceExists(instance)).toBe(true);
    expect(await host.instanceExists(instanceOf({ uuid: OTHER_UUID }))).toBe(false);
  });

  test("yes-or-no methods", async () => {
    const { host } = await hostOf();
    expect(await host.isNodeDeleted("devstack1")).toBe(false);
    expect(await host.instanceOnDisk(instance)).toBe(false);
    expect(await host.deleteInstanceFiles(instance)).toBe(true);
    expect(await host.cleanupLingeringInstanceResources(instance)).toBe(true);
  });

  test("methods that do nothing by default", async () => {
    const { host } = await hostOf();
    await expect(host.prepareForSpawn(instance)).resolves.toBeUndefined();
    await expect(host.failedSpawnCleanup(instance)).resolves.toBeUndefined();
    await expect(host.resumeStateOnHostBoot(instance)).resolves.toBeUndefined();
    await expect(host.plugVifs(instance)).resolves.toBeUndefined();
    await expect(host.unplugVifs(instance)).resolves.toBeUndefined();
    await expect(host.setHostEnabled(true)).resolves.toBeUndefined();
    await expect(host.checkInstanceSharedStorageCleanup({})).resolves.toBeUndefined();
  });

  test("3.3 without a local storage probe: NotImplemented, and supports() returns false", async () => {
    const { host } = await hostOf();
    expect(host.supports("checkInstanceSharedStorageLocal")).toBe(false);
    await expect(host.checkInstanceSharedStorageLocal(instance)).rejects.toThrow(NotImplemented);
    await expect(host.checkInstanceSharedStorageRemote({})).rejects.toThrow(
      /broken has no checkInstanceSharedStorageRe/,
    );
  });

  test.each(["pause", "unpause", "suspend", "resume", "unrescue"] as const)("%s: NotImplemented", async (method) => {
    const { host } = await hostOf();
    await expect(host[method](instance)).rejects.toThrow(NotImplemented);
  });

  test("rescue and snapshot: NotImplemented", async () => {
    const { host } = await hostOf();
    await expect(host.rescue(instance, { ...NO_DEVICES, image: imageOf() })).rejects.toThrow(NotImplemented);
    await expect(host.snapshot(instance, "i", { updateTaskState: async () => {} })).rejects.toThrow(NotImplemented);
  });

  test("capabilities and rebalancesNodes are false", async () => {
    const { host } = await hostOf({ capabilities: { supportsEvacuate: true } });
    expect(host.capabilities.supportsEvacuate).toBe(true);
    expect(host.capabilities.supportsImageTypeRaw).toBe(false);
    expect(host.rebalancesNodes).toBe(false);
  });
});

const VOLUME: GuestVolume = {
  volumeId: "80aefd13-3013-4a69-9113-4aa5b0eca72d",
  deviceName: "/dev/vdb",
  diskBus: "virtio",
  deviceType: "disk",
  bootIndex: null,
  size: 1,
  tag: null,
  isShareable: false,
  connectionInfo: {},
};

describe("what the core adds", () => {
  test("nodeIsAvailable asks once more with refresh", async () => {
    const getAvailableNodes = vi.fn(async (options?: { refresh?: boolean }) => (options?.refresh ? ["new"] : ["old"]));
    const { host } = await hostOf({ getAvailableNodes });
    expect(await host.nodeIsAvailable("old")).toBe(true);
    expect(getAvailableNodes).toHaveBeenCalledOnce();
    expect(await host.nodeIsAvailable("new")).toBe(true);
    expect(await host.nodeIsAvailable("none")).toBe(false);
  });

  test("powerState of a missing guest is nostate", async () => {
    const { host } = await hostOf({ getInfo: () => Promise.reject(new GuestNotFound("gone")) });
    expect(await host.powerState(instance)).toBe(0);
  });

  test("cleanupHost runs once and ends the events", async () => {
    const cleanupHost = vi.fn(async () => {});
    const { host, emit } = await hostOf({ cleanupHost });
    const listener = vi.fn();
    host.setLifecycleListener(listener);
    await host.cleanupHost();
    await host.cleanupHost();
    emit({ timestamp: 1, uuid: UUID, name: "a", transition: "started" });
    await Promise.resolve();
    expect(cleanupHost).toHaveBeenCalledOnce();
    expect(listener).not.toHaveBeenCalled();
  });

  test("V6 the permit is checked before every method that changes guests, and no other", async () => {
    const called: string[] = [];
    const rejectedCalls: string[] = [];
    const methods = Object.keys(DRIVER_METHODS) as DriverMethod[];
    const all = Object.fromEntries(methods.map((method) => [method, async () => void called.push(method)]));
    const { host } = await hostOf(all, {
      permit: (method, uuid) => {
        rejectedCalls.push(`${method} ${uuid}`);
        throw new Error("the host lease is not held");
      },
    });
    const attempts: readonly Promise<unknown>[] = [
      host.prepareForSpawn(instance),
      host.spawn(instance, spawnOptions),
      host.rebuild(instance, spawnOptions),
      host.failedSpawnCleanup(instance),
      host.destroy(instance, { ...NO_DEVICES, destroyDisks: true }),
      host.powerOff(instance),
      host.powerOn(instance),
      host.reboot(instance, "HARD"),
      host.pause(instance),
      host.unpause(instance),
      host.suspend(instance),
      host.resume(instance),
      host.resumeStateOnHostBoot(instance),
      host.plugVifs(instance),
      host.unplugVifs(instance),
      host.deleteInstanceFiles(instance),
      host.cleanupLingeringInstanceResources(instance),
      host.rescue(instance, { ...NO_DEVICES, image: imageOf() }),
      host.unrescue(instance),
      host.setAdminPassword(instance, "secret"),
      host.snapshot(instance, "i", { updateTaskState: async () => {} }),
      host.attachVolume(instance, VOLUME),
      host.detachVolume(instance, VOLUME),
      host.swapVolume(instance, { old: VOLUME, new: VOLUME }),
      host.extendVolume(instance, VOLUME),
      host.migrateDiskAndPowerOff(instance, { ...NO_DEVICES, destIp: "127.0.0.2", flavor: instance.flavor }),
      host.finishMigration(migrationOf(), instance, "", { ...spawnOptions, resizeInstance: false }),
      host.confirmMigration(migrationOf(), instance, { network: [] }),
      host.finishRevertMigration(instance, { ...NO_DEVICES, migration: null, powerOn: true }),
      host.preLiveMigration(instance, { ...NO_DEVICES, data }),
      host.liveMigration(instance, "devstack2", {
        blockMigration: false,
        data,
        onProgress: () => {},
        postMethod: async () => {},
        recoverMethod: async () => {},
      }),
      host.liveMigrationForceComplete(instance),
      host.liveMigrationAbort(instance),
      host.postLiveMigration(instance, { ...NO_DEVICES, data }),
      host.postLiveMigrationAtSource(instance, { ...NO_DEVICES, data }),
      host.postLiveMigrationAtDestination(instance, { ...NO_DEVICES, data }),
      host.rollbackLiveMigrationAtSource(instance, { ...NO_DEVICES, data }),
      host.rollbackLiveMigrationAtDestination(instance, { ...NO_DEVICES, data, destroyDisks: true }),
      host.cleanup(instance, { ...NO_DEVICES, destroyDisks: true }),
    ];
    for (const result of await Promise.allSettled(attempts)) {
      expect(result).toMatchObject({ status: "rejected", reason: { message: "the host lease is not held" } });
    }
    expect(called).toEqual([]);
    expect(rejectedCalls).toHaveLength(methods.filter((method) => DRIVER_METHODS[method].changesGuests).length);
    expect(rejectedCalls.every((call) => call.endsWith(UUID))).toBe(true);
    await host.initHost();
    expect(called).toEqual(["initHost"]);
  });

  test("fault points before and after, and the arguments of observe", async () => {
    const events: string[] = [];
    const { host } = await hostOf(
      { powerOn: async () => void events.push("driver") },
      {
        point: (method, when) => void events.push(`${when} ${method}`),
        observe: (method, milliseconds, outcome) => void events.push(`${method} ${milliseconds} ${outcome}`),
      },
    );
    await host.powerOn(instance);
    expect(events).toEqual(["before powerOn", "driver", "after powerOn", "powerOn 0 success"]);
  });

  test("an observer that fails is logged", async () => {
    const { host, runtime } = await hostOf(
      {},
      {
        observe: () => {
          throw new Error("metrics");
        },
      },
    );
    await host.powerOn(instance);
    expect(runtime.logs.map(({ message }) => message)).toEqual(["the observer of driver calls failed"]);
  });

  test("the driver's signal is aborted when the caller's is, and the caller gets its reason", async () => {
    const { host, runtime } = await hostOf({
      spawn: (_: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("of the driver's own")));
        }),
    });
    const controller = new AbortController();
    const spawning = host.spawn(instance, { ...spawnOptions, signal: controller.signal });
    await runtime.advance(0);
    controller.abort(new Error("deleted meanwhile"));
    await expect(spawning).rejects.toThrow("deleted meanwhile");
  });

  test("a call that is aborted while its permit is pending is never made", async () => {
    const spawn = vi.fn(async () => {});
    const controller = new AbortController();
    const { host } = await hostOf({ spawn }, { permit: async () => controller.abort(new Error("deleted meanwhile")) });
    await expect(host.spawn(instance, { ...spawnOptions, signal: controller.signal })).rejects.toThrow(
      "deleted meanwhile",
    );
    expect(spawn).not.toHaveBeenCalled();
  });
});
