import { beforeEach, describe, expect, test } from "vitest";
import { GuestNotFound, HostEpochOutdated, type LiveMigrateData } from "../../../../src/virt/index.js";
import { instanceOf, NO_DEVICES, spawnOptions, UUID } from "../../virt/fixtures.js";
import { QemuHarness } from "./scripted-qemu.js";

const vm = instanceOf({ rootGb: 1 });
const DESTROY = { ...NO_DEVICES, destroyDisks: true };
const RUN = `/qemu/run/${UUID}`;

describe("8.11 whose process a guest of driver qemu is", () => {
  let harness: QemuHarness;

  beforeEach(() => {
    harness = new QemuHarness();
  });

  async function spawned() {
    const host = await harness.connect();
    await harness.run(host.spawn(vm, spawnOptions));
    return host;
  }

  test("the next agent finds it by its record, and starts nothing", async () => {
    await spawned();
    const next = await harness.connect();
    expect(await harness.run(next.powerState(vm))).toBe(1);
    await harness.run(next.powerOn(vm));
    expect(harness.started).toBe(1);
  });

  test("without a record it is found by QEMU's pid file, if its command line matches", async () => {
    await spawned();
    await harness.runtime.files.remove(`${RUN}/process.json`);
    const next = await harness.connect();
    expect(await harness.run(next.powerState(vm))).toBe(1);
    const foreignProcess = await harness.runtime.programs.start({
      argv: ["qemu-system-x86_64", "-pidfile", "/else"],
      logFile: "/l",
    });
    await harness.runtime.files.write(`${RUN}/pid`, `${foreignProcess.pid}\n`);
    expect(await harness.run(next.powerState(vm)), "another program has the pid").toBe(4);
  });

  test("a later process with the same pid is not touched", async () => {
    const host = await spawned();
    const [qemu] = harness.running;
    await harness.runtime.files.write(
      `${RUN}/process.json`,
      JSON.stringify({ pid: qemu?.pid, started: "before the boot" }),
    );
    expect(await harness.run(host.powerState(vm))).toBe(4);
    await harness.runtime.files.write(`${RUN}/pid`, "1\n");
    await harness.run(host.destroy(vm, DESTROY));
    expect(harness.running.size, "it goes on").toBe(1);
  });

  test("a monitor that reports another uuid gets no command", async () => {
    const host = await harness.connect();
    harness.script.uuid = "22222222-2222-4222-8222-222222222222";
    await expect(harness.run(host.spawn(vm, spawnOptions))).rejects.toThrow(/did not start/);
    expect(harness.commands).toEqual(["qmp_capabilities", "query-uuid"]);
    expect(harness.running.size, "nothing is left").toBe(0);
    expect(await harness.run(host.listInstanceUuids())).toEqual([]);
  });

  test("a start whose agent was killed before it could write anything is ended by the next", async () => {
    const host = await harness.connect();
    await harness.run(host.spawn(vm, { ...spawnOptions, powerOn: false }));
    const argv = ["qemu-system-x86_64", "-uuid", UUID, "-pidfile", `${RUN}/pid`];
    await harness.runtime.programs.start({ argv, cwd: RUN, logFile: `${RUN}/log` });
    await harness.run(host.powerOff(vm));
    expect(harness.running.size).toBe(0);
    await harness.runtime.programs.start({ argv, cwd: RUN, logFile: `${RUN}/log` });
    await harness.runtime.files.rename(RUN, `${RUN}.12345678`);
    await harness.run(host.powerOn(vm));
    expect(
      [...harness.running].map(({ cwd }) => cwd),
      "one guest, once",
    ).toEqual([RUN]);
    expect(harness.started).toBe(3);
  });

  test("a QEMU that does not end on SIGTERM is killed", async () => {
    const host = await spawned();
    harness.script.stubborn = true;
    await harness.run(host.powerOff(vm));
    expect(harness.running.size).toBe(0);
    expect(await harness.run(host.powerState(vm))).toBe(4);
  });

  test("a QEMU that survives SIGKILL is reported with its pid, and the wait ends", async () => {
    const host = await spawned();
    const [qemu] = harness.running;
    qemu?.stick();
    await expect(harness.run(host.powerOff(vm))).rejects.toThrow(
      `process ${qemu?.pid} still exists 30 s after SIGKILL`,
    );
    expect(await harness.run(host.powerState(vm)), "it still runs").toBe(1);
  });

  test("the power button is pressed every 10 s until the timeout", async () => {
    const host = await spawned();
    await harness.run(host.powerOff(vm, { timeout: 25 }));
    expect(harness.commands.filter((command) => command === "system_powerdown")).toHaveLength(3);
    expect(harness.running.size).toBe(0);
    harness.script.obeysButton = true;
    await harness.run(host.powerOn(vm));
    await harness.run(host.powerOff(vm, { timeout: 25 }));
    expect(harness.commands.filter((command) => command === "system_powerdown")).toHaveLength(4);
  });

  test("an agent that has lost its host changes nothing that it begins after that", async () => {
    const late = await harness.connect(1);
    await harness.run(late.spawn(vm, spawnOptions));
    await harness.connect(2);
    const changes = [
      () => late.powerOff(vm),
      () => late.pause(vm),
      () => late.destroy(vm, DESTROY),
      () => late.reboot(vm, "HARD"),
    ];
    for (const change of changes) {
      await expect(harness.run(change())).rejects.toThrow(HostEpochOutdated);
    }
    expect(await harness.run(late.powerState(vm))).toBe(1);
    expect(harness.started).toBe(1);
  });
});

describe("8.3 a guest that comes to driver qemu", () => {
  const DATA: LiveMigrateData = {
    blockMigration: true,
    sharedInstanceFiles: false,
    disks: [{ name: "disk", bytes: 1024 ** 3 }],
  };

  async function arriving(arrival: string[]) {
    const harness = new QemuHarness();
    harness.script.arrival = arrival;
    const host = await harness.connect();
    await harness.run(host.preLiveMigration(vm, { ...NO_DEVICES, data: DATA }));
    return {
      harness: harness,
      arrived: () => harness.run(host.postLiveMigrationAtDestination(vm, { ...NO_DEVICES, data: DATA })),
      host,
    };
  }

  test("is waited for while its QEMU reads the end of what the other has sent", async () => {
    const { arrived, host, harness } = await arriving(["active", "active", "completed"]);
    await arrived();
    expect(await harness.run(host.powerState(vm))).toBe(1);
  });

  test("is not waited for when nothing of it has come, or when its QEMU has ended", async () => {
    const nothing = await arriving([]);
    await expect(nothing.arrived()).rejects.toThrow(GuestNotFound);
    const ended = await arriving(["active", "active", "completed"]);
    for (const qemu of ended.harness.running) {
      qemu.exit(1);
    }
    await expect(ended.arrived()).rejects.toThrow(GuestNotFound);
  });
});

describe("8.3 a guest that driver qemu sends", () => {
  test("comes back from a QEMU that does not finish a cancel, by killing the receiving QEMU", async () => {
    const harness = new QemuHarness();
    const host = await harness.connect();
    await harness.run(host.spawn(vm, spawnOptions));
    const { programs, files } = harness.runtime;
    const there = await programs.start({ argv: ["qemu-system-x86_64", "-pidfile", "/there"], logFile: "/l" });
    const destination = { qemu: there, folder: "/other", instances: "/other/instances" };
    await files.write(`/qemu/migrations/${UUID}.json`, JSON.stringify({ destination, disks: [], running: true }));
    harness.script.departure = () => (harness.running.size === 2 ? "cancelling" : "cancelled");
    await harness.run(host.liveMigrationAbort(vm));
    expect([...harness.running].map(({ cwd }) => cwd)).toEqual([RUN]);
    expect(harness.commands.at(-1)).toBe("cont");
  });
});

describe("the node of driver qemu", () => {
  test("reports /proc and the file system, and counts its guests' memory with an overhead", async () => {
    const harness = new QemuHarness();
    const host = await harness.connect();
    await harness.run(host.spawn(vm, spawnOptions));
    expect(await harness.run(host.getAvailableResource("devstack1"))).toMatchObject({
      vcpus: 2,
      memoryMb: 8192,
      localGb: 100,
      vcpusUsed: 2,
      memoryMbUsed: 2048 + 64,
      localGbUsed: 1,
      diskAvailableLeast: 50,
      hypervisorType: "QEMU",
      hypervisorVersion: 7_002_022,
      hypervisorHostname: "devstack1",
    });
  });
});
