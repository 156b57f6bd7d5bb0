import { describe, expect, test } from "vitest";
import { driver as definition } from "../../../../drivers/fake-libvirt/index.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../../src/virt/create-driver-host.js";
import { InstanceExists, POWER_STATES } from "../../../../src/virt/index.js";
import { contextOf, NO_DEVICES } from "../../virt/fixtures.js";
import { SPAWN } from "./fixtures.js";
import { small } from "./two-hosts.js";

const DATA = { blockMigration: false, sharedInstanceFiles: false, guestMadeAnew: true };
const CHECK = { blockMigration: null, diskOverCommit: false };

/** Creates a host for migrations to or from a fake driver of another kind. */
async function host() {
  const runtime = createVirtualRuntime();
  const driver = await createDriverHost(
    definition,
    contextOf(runtime, { config: { connectionUri: "fake-libvirt:///lab/here", delayLiveMigration: 10 } }),
  );
  await runtime.runUntil(driver.initHost());
  return { runtime, driver };
}

describe("8.3 a live migration from or to a hypervisor without guest handover", () => {
  test.each([
    ["active", POWER_STATES.running],
    ["paused", POWER_STATES.paused],
  ] as const)("a guest that is %s appears when its arrival is reported, and not before", async (vmState, power) => {
    const { driver } = await host();
    const instance = { ...small, vmState };
    await driver.preLiveMigration(instance, { ...NO_DEVICES, data: DATA });
    expect(await driver.powerState(instance)).toBe(POWER_STATES.shutdown);
    await driver.postLiveMigrationAtDestination(instance, { ...NO_DEVICES, data: DATA });
    expect(await driver.powerState(instance)).toBe(power);
    expect(await driver.instanceOnDisk(instance)).toBe(true);
    // The guest is a normal guest by now.
    await expect(driver.preLiveMigration(instance, { ...NO_DEVICES, data: DATA })).rejects.toThrow(InstanceExists);
    await driver.powerOff(instance);
    await driver.postLiveMigrationAtDestination(instance, { ...NO_DEVICES, data: DATA });
    expect(await driver.powerState(instance)).toBe(POWER_STATES.shutdown);
  });

  test("a prepared destination is removed by a rollback, and does not block a later migration without one", async () => {
    const { driver } = await host();
    await driver.preLiveMigration(small, { ...NO_DEVICES, data: DATA });
    expect(await driver.checkCanLiveMigrateDestination(small, CHECK)).toMatchObject({
      sharedInstanceFiles: false,
    });
    await driver.preLiveMigration(small, { ...NO_DEVICES, data: DATA });
    await driver.rollbackLiveMigrationAtDestination(small, { ...NO_DEVICES, data: DATA, destroyDisks: true });
    expect(await driver.instanceExists(small)).toBe(false);
    expect(await driver.instanceOnDisk(small)).toBe(false);
  });

  test.each(["moved", "cancelled"] as const)("the source's guest: %s", async (end) => {
    const { runtime, driver } = await host();
    await driver.spawn(small, SPAWN);
    const data = await driver.checkCanLiveMigrateSource(small, DATA);
    expect(data).toEqual(DATA);
    const called: string[] = [];
    const done = driver.liveMigration(small, "r1", {
      blockMigration: false,
      data,
      onProgress: () => {},
      postMethod: async () => void called.push("moved"),
      recoverMethod: async ({ status }) => void called.push(status),
    });
    await runtime.advance(5_000);
    expect(await driver.powerState(small)).toBe(POWER_STATES.running);
    if (end === "cancelled") {
      await driver.liveMigrationAbort(small);
    }
    await runtime.runUntil(done);
    expect(called).toEqual([end]);
    expect(await driver.instanceExists(small)).toBe(end === "cancelled");
  });
});
