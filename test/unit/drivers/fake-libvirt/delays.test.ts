import { expect, test } from "vitest";
import { fakeLibvirtSchema } from "../../../../drivers/fake-libvirt/config.js";
import { driver as definition } from "../../../../drivers/fake-libvirt/index.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../../src/virt/create-driver-host.js";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { contextOf, imageOf, migrationOf, NO_DEVICES } from "../../virt/fixtures.js";
import { DESTROY, SPAWN } from "./fixtures.js";
import { large, REVERT, small } from "./two-hosts.js";

type Act = (host: DriverHost) => Promise<unknown>;

const DATA = { blockMigration: true, sharedInstanceFiles: false };
const ON_DISK = JSON.stringify({ instancesPath: "/h/instances" });
const spawn: Act = (host) => host.spawn(small, SPAWN);

async function migrate(host: DriverHost): Promise<void> {
  await spawn(host);
  await host.migrateDiskAndPowerOff(small, { ...NO_DEVICES, destIp: "127.0.0.2", flavor: large.flavor });
}

async function turnOff(host: DriverHost): Promise<void> {
  await spawn(host);
  await host.powerOff(small);
}

/** The delayed operation of each option, and the operation before it. */
const DELAYED: Readonly<Record<string, readonly [before: Act, act: Act]>> = {
  delay_spawn: [async () => {}, spawn],
  delay_destroy: [spawn, (host) => host.destroy(small, DESTROY)],
  delay_power_on: [turnOff, (host) => host.powerOn(small)],
  delay_power_off: [spawn, (host) => host.powerOff(small)],
  delay_reboot: [spawn, (host) => host.reboot(small, "HARD")],
  delay_pause: [spawn, (host) => host.pause(small)],
  delay_unpause: [spawn, (host) => host.unpause(small)],
  delay_suspend: [spawn, (host) => host.suspend(small)],
  delay_resume: [spawn, (host) => host.resume(small)],
  delay_rescue: [spawn, (host) => host.rescue(small, { ...NO_DEVICES, image: imageOf() })],
  delay_unrescue: [spawn, (host) => host.unrescue(small)],
  delay_snapshot: [spawn, (host) => host.snapshot(small, "i", { updateTaskState: async () => {} })],
  delay_migrate_disk: [
    spawn,
    (host) => host.migrateDiskAndPowerOff(small, { ...NO_DEVICES, destIp: "127.0.0.2", flavor: large.flavor }),
  ],
  delay_finish_migration: [
    migrate,
    (host) =>
      host.finishMigration(migrationOf(), large, ON_DISK, {
        ...NO_DEVICES,
        image: imageOf(),
        resizeInstance: true,
        powerOn: true,
      }),
  ],
  delay_confirm_migration: [migrate, (host) => host.confirmMigration(migrationOf(), large, { network: [] })],
  delay_revert_migration: [migrate, (host) => host.finishRevertMigration(small, REVERT)],
  delay_pre_live_migration: [async () => {}, (host) => host.preLiveMigration(small, { ...NO_DEVICES, data: DATA })],
  delay_live_migration: [
    spawn,
    (host) =>
      host.liveMigration(small, "devstack2", {
        blockMigration: true,
        data: { ...DATA, destination: { uri: "fake-libvirt:///other", instancesPath: "/other/instances" } },
        onProgress: () => {},
        postMethod: async () => {},
        recoverMethod: async () => {},
      }),
  ],
};

test("every delay option has an operation in this test", () => {
  const options = Object.keys(fakeLibvirtSchema.options).filter((name) => name.startsWith("delay_"));
  expect(Object.keys(DELAYED).sort()).toEqual(options.sort());
});

test.each(Object.entries(DELAYED))("%s", async (option, [before, act]) => {
  const runtime = createVirtualRuntime();
  const connect = async (config: Readonly<Record<string, unknown>>) => {
    const host = await createDriverHost(
      definition,
      contextOf(runtime, { config: { connectionUri: "fake-libvirt:///h", ...config } }),
    );
    await runtime.runUntil(host.initHost());
    return host;
  };
  await runtime.runUntil(before(await connect({})));
  const host = await connect({ [option]: 7 });
  const started = runtime.clock.monotonic();
  await runtime.runUntil(act(host));
  expect(runtime.clock.monotonic() - started).toBe(7_000);
});
