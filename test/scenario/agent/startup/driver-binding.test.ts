import { describe, expect, it } from "vitest";
import { DriverRecord } from "../../../../src/agent/identity-file.js";
import type { MigrationStatus } from "../../../../src/records/index.js";
import { createVirtualRuntime, type VirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { evacuated } from "../../../unit/agent/support/evacuated.js";
import { Hypervisor } from "../../../unit/agent/support/hypervisor.js";
import { addInstance, addMigration, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const VM = uuidOf(1);
const RECORD = "/state/devstack1/compute_driver.devstack1";

/** Returns a third-party driver with its own hypervisor, which has the same name as the host's. */
function another(name = "qemu") {
  return { driverName: name, hypervisor: new Hypervisor("devstack1") };
}

scenario("2.4 g a host's first start records its driver by the name in its definition", async (harness) => {
  await harness.start("devstack1", { config: { defaults: { compute_driver: "./path/to/driver" } } });
  expect(await harness.read(RECORD)).toBe("fake-memory\n./path/to/driver\n");
});

scenario("2.4 g another driver is rejected before any of its methods is called", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  harness.hypervisor("devstack1").addGuest(VM);
  await harness.allocate(VM, node);
  const records = () => JSON.stringify([harness.store.computeNodes.byHost("devstack1"), harness.instance(VM)]);
  const before = [records(), await harness.generation(node), await harness.read(RECORD)];
  const other = another();
  const rejection = await harness.expectRejection("devstack1", other);
  expect(rejection).toMatchObject({ code: "driver-changed", error: "InvalidConfiguration", untouched: true });
  expect(rejection.found).toBe(
    `host devstack1 was served by driver fake-memory (compute_driver fake-libvirt), by ${RECORD}; this agent has driver qemu`,
  );
  expect(rejection.hint).toContain("--compute-driver fake-libvirt");
  expect(rejection.hint).toContain("--change-driver");
  expect(rejection.records).toEqual({ [RECORD]: "fake-memory", driver: "qemu" });
  expect(other.hypervisor.calls.filter(({ method }) => method !== "cleanupHost")).toEqual([]);
  expect([records(), await harness.generation(node), await harness.read(RECORD)]).toEqual(before);
  await harness.start("devstack1");
});

scenario("2.4 g an evacuation is not called clean by a driver that never had the guest", async (harness) => {
  const { migration } = await evacuated(harness, "done");
  expect((await harness.expectRejection("devstack1", another())).code).toBe("driver-changed");
  expect(harness.store.migrations.get(migration.id)?.status).toBe("done");
  await harness.start("devstack1");
  expect(harness.store.migrations.get(migration.id)?.status).toBe("completed");
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
});

scenario("2.4 g the same driver from another path is the same", async (harness) => {
  await harness.seed("devstack1");
  await harness.start("devstack1", { config: { defaults: { compute_driver: "/moved/driver" } } });
  expect(await harness.read(RECORD)).toBe("fake-memory\n/moved/driver\n");
});

scenario("2.4 g a host without the file adopts a driver of its node's hypervisor type", async (harness) => {
  await harness.seed("devstack1");
  await harness.remove(RECORD);
  await harness.start("devstack1", { driverName: "renamed" });
  expect(await harness.read(RECORD)).toBe("renamed\nfake-libvirt\n");
});

scenario("2.4 g a host without the file refuses a driver of another hypervisor type", async (harness) => {
  const { node } = await harness.seed("devstack1");
  await harness.remove(RECORD);
  harness.store.computeNodes.save(node.id, { hypervisorType: "QEMU" });
  const rejection = await harness.expectRejection("devstack1");
  expect(rejection).toMatchObject({ code: "driver-changed", untouched: true });
  expect(rejection.found).toContain(`hypervisor type QEMU, by compute node ${node.uuid} (devstack1)`);
  expect(rejection.records).toEqual({ compute_node: "QEMU", driver: "fake-memory, hypervisor type fake" });
  expect(await harness.read(RECORD)).toBeUndefined();
  await harness.start("devstack1", { changeDriver: true });
});

scenario("2.4 g a node that never reported its type says nothing", async (harness) => {
  const { node } = await harness.seed("devstack1");
  await harness.remove(RECORD);
  harness.store.computeNodes.save(node.id, { hypervisorType: "" });
  await harness.start("devstack1");
});

scenario("2.4 g an empty host changes its driver on request, and is then bound to it", async (harness) => {
  await harness.seed("devstack1");
  const run = await harness.start("devstack1", { ...another(), changeDriver: true });
  expect(run.runtime.logs.map(({ message }) => message)).toContain(
    "host devstack1 changes its driver, as --change-driver says",
  );
  expect(await harness.read(RECORD)).toBe("qemu\nfake-libvirt\n");
  await harness.stop(run);
  run.runtime.kill();
  expect((await harness.expectRejection("devstack1")).records).toEqual({ [RECORD]: "qemu", driver: "fake-memory" });
});

scenario("2.4 g a host with a server keeps its driver", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  const rejection = await harness.expectRejection("devstack1", { ...another(), changeDriver: true });
  expect(rejection.found).toContain(`cannot change it now: 1 server: vm-01 (${VM})`);
  expect(await harness.read(RECORD)).toContain("fake-memory");
});

for (const status of ["accepted", "pre-migrating", "done"] satisfies MigrationStatus[]) {
  scenario(`2.4 g a host with an evacuation that is ${status} keeps its driver`, async (harness) => {
    const { migration } = await evacuated(harness, status, { recordedOn: "devstack2" });
    const rejection = await harness.expectRejection("devstack1", { ...another(), changeDriver: true });
    expect(rejection.found).toContain(`1 evacuation to clean up: migration ${migration.id} (${status})`);
  });
}

scenario("2.4 g a host that may get a guest back by a revert keeps its driver", async (harness) => {
  await harness.seed("devstack1");
  const { node } = await harness.seed("devstack2");
  addInstance(harness.store, VM, { ...placed(node), vmState: "resized" });
  const migration = addMigration(harness.store, VM, "resize", "finished", {
    sourceCompute: "devstack1",
    sourceNode: "devstack1",
    destCompute: "devstack2",
    destNode: "devstack2",
    destComputeId: node.id,
  });
  const rejection = await harness.expectRejection("devstack1", { ...another(), changeDriver: true });
  expect(rejection.found).toContain(`1 move under way: migration ${migration.id} (finished)`);
});

scenario("2.4 g a dry run refuses as a start does, and records nothing", async (harness) => {
  await harness.seed("devstack1");
  expect((await harness.dryRun("devstack1", another())).rejection?.code).toBe("driver-changed");
  await harness.remove(RECORD);
  expect((await harness.dryRun("devstack1")).rejection).toBeNull();
  expect(await harness.read(RECORD)).toBeUndefined();
});

for (const [what, text] of [
  ["empty", ""],
  ["of white space", " \n"],
] as const) {
  scenario(`2.4 g a record that is ${what} is no record of this driver`, async (harness) => {
    await harness.seed("devstack1");
    await harness.write(RECORD, text);
    const rejection = await harness.expectRejection("devstack1");
    expect(rejection.code).toBe("driver-changed");
    expect(rejection.message).toContain(`${RECORD} is empty`);
  });
}

describe("the record of the driver", () => {
  const record = (host: string, runtime: VirtualRuntime, name = "fake-libvirt") =>
    new DriverRecord({
      files: runtime.files,
      logger: runtime.logger,
      host,
      statePath: "/state",
      driver: { name, computeDriver: name },
    });

  it("is one for each host of a shared state_path", async () => {
    const runtime = createVirtualRuntime();
    await runtime.runUntil(record("ironic1", runtime, "ironic").write());
    await runtime.runUntil(record("devstack1", runtime).write());
    expect(await runtime.runUntil(record("ironic1", runtime).read())).toEqual({
      name: "ironic",
      computeDriver: "ironic",
    });
  });

  it("does not keep an agent from serving where it cannot be written", async () => {
    const runtime = createVirtualRuntime();
    await runtime.runUntil(runtime.files.write("/state", "a file where the folder should be"));
    await runtime.runUntil(record("devstack1", runtime).write());
    expect(runtime.logs.map(({ message }) => message)).toEqual(["could not record the name of this host's driver"]);
  });
});
