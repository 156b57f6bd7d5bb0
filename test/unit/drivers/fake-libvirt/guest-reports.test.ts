import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { uptimeText } from "../../../../drivers/fake-libvirt/reports.js";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { GuestNotFound, InstanceAgentNotEnabled, InstanceNotRunning } from "../../../../src/virt/index.js";
import { instanceOf, UUID } from "../../virt/fixtures.js";
import { DESTROY, HARNESSES, type Harness, IMAGE, KEEP_DISKS, SPAWN } from "./fixtures.js";

const vm1 = instanceOf({ vcpus: 2, memoryMb: 2048, hostname: "vm1" });
const boots = (text: string): number => text.split("Linux version").length - 1;

describe.each(HARNESSES)("8.14 reports of fake-libvirt guests on %s", (_, createHarness) => {
  let harness: Harness;
  let host: DriverHost;

  beforeEach(async () => {
    harness = await createHarness();
    host = await harness.connect();
  });
  afterEach(() => harness.close());

  test("the console has the guest's boot up to the login prompt", async () => {
    await host.spawn(vm1, SPAWN);
    const text = await host.getConsoleOutput(vm1);
    expect(text).toMatch(/^SeaBIOS[\s\S]*Linux version[\s\S]*smpboot: Allowing 2 CPUs[\s\S]*\nvm1 login: \n$/);
    expect(text).toMatch(/Memory: \d+K\/2097152K available/);
  });

  test("the console of a guest that was never started is empty", async () => {
    await host.spawn(vm1, { ...SPAWN, powerOn: false });
    expect(await host.getConsoleOutput(vm1)).toBe("");
    await host.powerOn(vm1);
    expect(boots(await host.getConsoleOutput(vm1))).toBe(1);
  });

  test("each boot is appended; actions without a boot are not", async () => {
    await host.spawn(vm1, SPAWN);
    await host.reboot(vm1, "SOFT");
    await host.reboot(vm1, "HARD");
    await host.powerOff(vm1);
    await host.powerOn(vm1);
    const text = await host.getConsoleOutput(vm1);
    expect(boots(text)).toBe(4);
    expect(text.match(/reboot: System halted/g)).toHaveLength(2);
    await host.pause(vm1);
    await host.unpause(vm1);
    await host.suspend(vm1);
    await host.resume(vm1);
    expect(await host.getConsoleOutput(vm1)).toBe(text);
    await host.rescue(vm1, { ...DESTROY, image: IMAGE });
    await host.unrescue(vm1);
    expect(boots(await host.getConsoleOutput(vm1))).toBe(6);
  });

  test("the console survives the agent, and is deleted and retained with the disks", async () => {
    await host.spawn(vm1, SPAWN);
    await host.cleanupHost();
    const next = await harness.connect();
    expect(boots(await next.getConsoleOutput(vm1))).toBe(1);
    await next.destroy(vm1, KEEP_DISKS);
    await next.spawn(vm1, SPAWN);
    expect(boots(await next.getConsoleOutput(vm1))).toBe(2);
    await next.destroy(vm1, DESTROY);
    await next.spawn(vm1, SPAWN);
    expect(boots(await next.getConsoleOutput(vm1))).toBe(1);
  });

  test("the console has a limited size after any number of boots", async () => {
    await host.spawn(vm1, SPAWN);
    const path = `${harness.folder}/hypervisors/devstack1/instances/${UUID}/console.log`;
    await harness.files.append(path, "x\n".repeat(200 * 1024));
    await host.reboot(vm1, "SOFT");
    expect((await harness.files.stat(path))?.bytes).toBeLessThanOrEqual(200 * 1024);
    expect(await host.getConsoleOutput(vm1)).toMatch(/^x\n[\s\S]*vm1 login: \n$/);
  });

  test("diagnostics count the guest's CPUs and disks, in both forms", async () => {
    await host.spawn(vm1, SPAWN);
    expect(await host.getDiagnostics(vm1)).toMatchObject({
      cpu0_time: expect.any(Number),
      cpu1_time: expect.any(Number),
      vda_read_req: expect.any(Number),
      vda_write: expect.any(Number),
      memory: 2048 * 1024,
    });
    expect(await host.getInstanceDiagnostics(vm1)).toMatchObject({
      driver: "libvirt",
      configDrive: false,
      memoryDetails: { maximum: 2048 },
      cpuDetails: [{ id: 0 }, { id: 1 }],
      diskDetails: [{ errorsCount: -1 }],
      nicDetails: [],
    });
  });

  test("a missing guest has no reports", async () => {
    await expect(host.getConsoleOutput(vm1)).rejects.toThrow(GuestNotFound);
    await expect(host.getDiagnostics(vm1)).rejects.toThrow(GuestNotFound);
    await expect(host.getInstanceDiagnostics(vm1)).rejects.toThrow(GuestNotFound);
  });

  test("the host's uptime starts at its first use", async () => {
    expect(await host.getHostUptime()).toMatch(
      /^ \d\d:\d\d:\d\d up \d+ min, {2}0 users, {2}load average: 0.00, 0.00, 0.00\n$/,
    );
  });
});

test("8.14 the format of uptime", () => {
  const now = Date.UTC(2026, 0, 1, 12, 34, 56);
  expect(uptimeText(now, 59, 0)).toBe(" 12:34:56 up 0 min,  0 users,  load average: 0.00, 0.00, 0.00\n");
  expect(uptimeText(now, 7_500, 1)).toBe(" 12:34:56 up  2:05,  0 users,  load average: 1.00, 0.90, 0.80\n");
  expect(uptimeText(now, 86_460, 0)).toMatch(/ up 1 day, 1 min, /);
  expect(uptimeText(now, 200_000, 0)).toMatch(/ up 2 days, {2}7:33, /);
});

describe.each(HARNESSES)("6.6 the administrator's password on %s", (_, createHarness) => {
  let harness: Harness;
  let host: DriverHost;

  beforeEach(async () => {
    harness = await createHarness();
    host = await harness.connect();
  });
  afterEach(() => harness.close());

  test("is set if the image has a guest agent and the guest is running", async () => {
    await host.spawn(vm1, SPAWN);
    const withAgent = { ...vm1, systemMetadata: { image_hw_qemu_guest_agent: "yes" } };
    await host.setAdminPassword(withAgent, "secret");
    await expect(host.setAdminPassword(vm1, "secret")).rejects.toThrow(InstanceAgentNotEnabled);
    await host.powerOff(vm1);
    await expect(host.setAdminPassword(withAgent, "secret")).rejects.toThrow(InstanceNotRunning);
  });
});
