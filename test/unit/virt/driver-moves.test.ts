import { describe, expect, test, vi } from "vitest";
import { VirtDriverMisbehaved } from "../../../src/virt/errors.js";
import { NotImplemented } from "../../../src/virt/index.js";
import { hostOf, instanceOf, migrationOf, NO_DEVICES, spawnOptions } from "./fixtures.js";

const instance = instanceOf();
const data = { blockMigration: true, sharedInstanceFiles: false };
const post = { ...NO_DEVICES, data };

describe("defaults of move methods that a driver does not implement (spec 8.3)", () => {
  test("methods that move a guest: NotImplemented", async () => {
    const { host } = await hostOf();
    const attempts = [
      () => host.migrateDiskAndPowerOff(instance, { ...NO_DEVICES, destIp: "127.0.0.2", flavor: instance.flavor }),
      () => host.finishMigration(migrationOf(), instance, "", { ...spawnOptions, resizeInstance: false }),
      () => host.confirmMigration(migrationOf(), instance, { network: [] }),
      () => host.checkCanLiveMigrateDestination(instance, { blockMigration: null, diskOverCommit: false }),
      () => host.checkCanLiveMigrateSource(instance, data),
      () => host.preLiveMigration(instance, post),
      () => host.liveMigrationForceComplete(instance),
      () => host.liveMigrationAbort(instance),
      () =>
        host.liveMigration(instance, "devstack2", {
          blockMigration: true,
          data,
          onProgress: () => {},
          postMethod: async () => {},
          recoverMethod: async () => {},
        }),
    ];
    for (const attempt of attempts) {
      await expect(attempt()).rejects.toThrow(NotImplemented);
    }
  });

  test("methods after a live migration: nothing", async () => {
    const { host } = await hostOf();
    await expect(host.cleanupLiveMigrationDestinationCheck(data)).resolves.toBeUndefined();
    await expect(host.postLiveMigration(instance, post)).resolves.toBeUndefined();
    await expect(host.postLiveMigrationAtSource(instance, post)).resolves.toBeUndefined();
    await expect(host.postLiveMigrationAtDestination(instance, post)).resolves.toBeUndefined();
    await expect(host.rollbackLiveMigrationAtSource(instance, post)).resolves.toBeUndefined();
  });

  test("finishRevertMigration powers the guest on if requested", async () => {
    const powerOn = vi.fn(async () => {});
    const { host } = await hostOf({ powerOn });
    await host.finishRevertMigration(instance, { ...NO_DEVICES, migration: null, powerOn: false });
    expect(powerOn).not.toHaveBeenCalled();
    await host.finishRevertMigration(instance, { ...NO_DEVICES, migration: null, powerOn: true });
    expect(powerOn).toHaveBeenCalledOnce();
  });

  test("cleanup calls destroy, and a rollback at the destination calls cleanup", async () => {
    const destroy = vi.fn(async () => {});
    const { host } = await hostOf({ destroy });
    await host.cleanup(instance, { ...NO_DEVICES, destroyDisks: false });
    await host.rollbackLiveMigrationAtDestination(instance, { ...post, destroyDisks: true });
    expect(destroy.mock.calls).toEqual([
      [instance, { ...NO_DEVICES, destroyDisks: false, signal: expect.any(AbortSignal) }],
      [instance, { ...NO_DEVICES, destroyDisks: true, signal: expect.any(AbortSignal) }],
    ]);
    const cleanup = vi.fn(async () => {});
    const { host: other } = await hostOf({ destroy, cleanup });
    await other.rollbackLiveMigrationAtDestination(instance, { ...post, destroyDisks: true });
    expect(cleanup).toHaveBeenCalledOnce();
    expect(destroy).toHaveBeenCalledTimes(2);
  });
});

describe("results of a driver's move methods", () => {
  test("disk information is a string, which may be empty", async () => {
    const options = { ...NO_DEVICES, destIp: "127.0.0.2", flavor: instance.flavor };
    const { host } = await hostOf({ migrateDiskAndPowerOff: async () => "" });
    expect(await host.migrateDiskAndPowerOff(instance, options)).toBe("");
    const { host: broken } = await hostOf({ migrateDiskAndPowerOff: async () => ({}) });
    await expect(broken.migrateDiskAndPowerOff(instance, options)).rejects.toThrow(
      /migrateDiskAndPowerOff must return a string, but found \{\}/,
    );
  });

  test.each([
    [undefined, /return the migration's data \(an object\), but found undefined/],
    [{ sharedInstanceFiles: true }, /true or false as blockMigration of the migration's data, but found undefined/],
    [{ ...data, sharedInstanceFiles: 1 }, /true or false as sharedInstanceFiles of the migration's data, but found 1/],
    [{ ...data, size: 1n }, /return data that JSON can represent/],
  ])("data of a live migration: %s", async (returned, message) => {
    const give = async () => returned;
    const { host } = await hostOf({
      checkCanLiveMigrateDestination: give,
      checkCanLiveMigrateSource: give,
      preLiveMigration: give,
    });
    const calls = [
      () => host.checkCanLiveMigrateDestination(instance, { blockMigration: null, diskOverCommit: false }),
      () => host.checkCanLiveMigrateSource(instance, data),
      () => host.preLiveMigration(instance, post),
    ];
    for (const ask of calls) {
      const error = await ask().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(VirtDriverMisbehaved);
      expect(String(error)).toMatch(message);
    }
  });

  test("data of a live migration are converted to plain JSON", async () => {
    const { host } = await hostOf({
      checkCanLiveMigrateSource: async () => ({ ...data, disks: ["a"], lost: undefined }),
    });
    expect(await host.checkCanLiveMigrateSource(instance, data)).toStrictEqual({ ...data, disks: ["a"] });
  });
});
