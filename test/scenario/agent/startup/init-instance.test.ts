import { expect, test } from "vitest";
import { type InitInputs, planInitInstance } from "../../../../src/agent/startup/init-rows.js";
import {
  type Instance,
  type PowerState,
  type TaskState,
  VM_STATES,
  type VmState,
} from "../../../../src/records/index.js";
import {
  type DriverDefinition,
  defineDriver,
  NotImplemented,
  PciDeviceNotFound,
  type VirtDriver,
  VirtualInterfacePlugException,
} from "../../../../src/virt/index.js";
import type { Harness } from "../../../unit/agent/support/harness.js";
import { AMOUNTS, addInstance, addMigration, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const RUNNING: PowerState = 1;
const PAUSED: PowerState = 3;
const SHUTDOWN: PowerState = 4;

/** The columns that the rows read. */
const ALWAYS = { uuid: uuidOf(1), host: "devstack1", powerState: RUNNING, systemMetadata: {} };

function plan(
  vmState: VmState,
  taskState: TaskState | null,
  power: PowerState = RUNNING,
  more: Partial<Instance> = {},
) {
  const instance = { ...ALWAYS, vmState, taskState, ...more } as Instance;
  const inputs: InitInputs = { host: "devstack1", instance, power, resumeGuests: true, plugsVifs: false };
  return planInitInstance(inputs).map(({ action }) => action);
}

const ERROR = { kind: "save", changes: { vmState: "error", taskState: null } };
const CLEAR = { kind: "save", changes: { taskState: null } };
const ACTIVE = { kind: "save", changes: { taskState: null, vmState: "active" } };

test("2.6 row 1 another host's instance: nothing", () => {
  expect(plan("active", "deleting", RUNNING, { host: "devstack2" })).toMatchObject([{ kind: "leave" }]);
});

test("2.6 row 2 soft-deleted, or in error with no task that a server in error has: nothing", () => {
  expect([plan("soft-delete", null), plan("error", null)]).toEqual([[{ kind: "leave" }], [{ kind: "leave" }]]);
  expect(plan("error", "spawning", SHUTDOWN)).toEqual([{ kind: "leave" }]);
  expect(plan("error", "deleting")).toEqual([{ kind: "terminate" }]);
  expect(plan("error", "resize_migrating")[0]).toEqual({ kind: "revert-resize" });
});

test("2.6 row 2, V31 in error, and in the middle of what a server in error may be asked for: it ends, or goes on", () => {
  expect(plan("error", "powering-off")).toEqual([{ kind: "stop" }]);
  expect(plan("error", "soft-deleting")).toEqual([{ kind: "change-state", change: "softDelete" }]);
  expect(plan("error", "rescuing", SHUTDOWN)[0]).toEqual(CLEAR);
  for (const task of ["rebooting_hard", "reboot_pending_hard", "reboot_started_hard"] as const) {
    expect(plan("error", task, SHUTDOWN)).toEqual([{ kind: "reboot", type: "HARD", pendingHard: false }]);
  }
});

test("2.6 row 3 vm deleted: the deletion is completed", () => {
  expect(plan("deleted", null)).toEqual([{ kind: "complete-partial-deletion" }]);
});

for (const task of ["scheduling", "block_device_mapping", "networking", "spawning"] as const) {
  test(`2.6 row 4 task ${task}: an interrupted build becomes an error`, () => {
    expect(plan("building", task)).toEqual([{ ...ERROR, kind: "fail-build" }]);
    expect(plan("active", task)).toEqual([ERROR]);
    expect(plan("building", null)).toEqual([{ ...ERROR, kind: "fail-build" }]);
  });
}

for (const task of ["rebuilding", "rebuild_block_device_mapping", "rebuild_spawning"] as const) {
  test(`2.6 row 5 task ${task}: an interrupted rebuild becomes an error`, () => {
    expect(plan("active", task)).toEqual([ERROR]);
    expect(plan("stopped", task)).toEqual([ERROR]);
    expect(plan("paused", task)).toEqual([ERROR]);
    expect(plan("error", task)).toEqual([ERROR]);
  });
}

for (const task of ["image_snapshot_pending", "image_pending_upload", "image_uploading", "image_snapshot"] as const) {
  test(`2.6 rows 6, 7 task ${task}: cleared, and the rows below are looked at`, () => {
    expect(plan("active", task)).toEqual([CLEAR]);
    expect(plan("active", task, SHUTDOWN)).toEqual([CLEAR, { kind: "resume-on-host-boot" }]);
  });
}

test("2.6 row 7 task resize_prep: undone, and the rows below are looked at", () => {
  const undo = { kind: "undo-resize-prep" };
  expect(plan("active", "resize_prep")).toEqual([undo]);
  expect(plan("active", "resize_prep", SHUTDOWN)).toEqual([undo, { kind: "resume-on-host-boot" }]);
});

for (const [task, change] of [
  ["pausing", "pause"],
  ["suspending", "suspend"],
  ["resuming", "resume"],
  ["unrescuing", "unrescue"],
  ["soft-deleting", "softDelete"],
] as const) {
  test(`2.6, V31 task ${task}: done again`, () => {
    expect(plan("active", task, SHUTDOWN)).toEqual([{ kind: "change-state", change }]);
  });
}

test("2.6, V31 soft-deleted and restoring: restored", () => {
  expect(plan("soft-delete", "restoring", SHUTDOWN)).toEqual([{ kind: "change-state", change: "restore" }]);
});

test("2.6, V31 a shelving starts from the beginning, an offload goes on", () => {
  for (const task of ["shelving", "shelving_image_pending_upload", "shelving_image_uploading"] as const) {
    expect(plan("active", task)).toEqual([CLEAR]);
  }
  expect(plan("shelved", "shelving_offloading", SHUTDOWN)).toEqual([{ kind: "offload" }]);
});

test("2.6 row 8 task deleting: the whole delete again", () => {
  expect(plan("active", "deleting")).toEqual([{ kind: "terminate" }]);
  expect(plan("stopped", "deleting", SHUTDOWN)).toEqual([{ kind: "terminate" }]);
  expect(plan("building", "deleting")).toEqual([{ kind: "terminate" }]);
  expect(plan("soft-delete", "deleting", SHUTDOWN)).toEqual([{ kind: "terminate" }]);
});

test("2.6 row 9 reboot retry", () => {
  const soft = { kind: "reboot", type: "SOFT", pendingHard: false };
  const hard = { kind: "reboot", type: "HARD", pendingHard: false };
  const softMadeHard = { kind: "reboot", type: "HARD", pendingHard: true };
  expect(plan("active", "reboot_pending")).toEqual([soft]);
  expect(plan("active", "reboot_pending", SHUTDOWN)).toEqual([softMadeHard]);
  expect(plan("stopped", "reboot_pending")).toEqual([]);
  for (const state of ["active", "stopped", "paused", "suspended"] as const) {
    expect(plan(state, "reboot_pending_hard")).toEqual([hard]);
  }
  expect(plan("rescued", "reboot_pending_hard")).toEqual([]);
  expect(plan("active", "rebooting", SHUTDOWN)).toEqual([softMadeHard]);
  expect(plan("active", "reboot_started", SHUTDOWN)).toEqual([softMadeHard]);
  expect(plan("active", "rebooting_hard", SHUTDOWN)).toEqual([hard]);
  expect(plan("active", "reboot_started_hard", SHUTDOWN)).toEqual([hard]);
});

for (const task of [
  "reboot_started",
  "reboot_started_hard",
  "rebooting",
  "rebooting_hard",
  "pausing",
  "unpausing",
] as const) {
  test(`2.6 row 10 task ${task} and the guest runs: done, active`, () => {
    expect(plan("paused", task)).toEqual([ACTIVE]);
  });
}

test("2.6 row 11 paused and unpausing: unpaused", () => {
  expect(plan("paused", "unpausing", PAUSED)).toEqual([{ kind: "unpause" }]);
});

test("2.6 row 11 OPT unpausing, and the guest has lost its power: tried, so that the task ends", () => {
  expect(plan("paused", "unpausing", SHUTDOWN)).toEqual([{ kind: "unpause" }]);
});

test("2.6 rows 12, 13 powering-off, powering-on: again", () => {
  expect(plan("active", "powering-off")).toEqual([{ kind: "stop" }]);
  expect(plan("stopped", "powering-on", SHUTDOWN)).toEqual([{ kind: "start" }]);
});

test("2.6 row 17 finally: brought back after the host's boot, if the option says so", () => {
  expect(plan("active", null, SHUTDOWN)).toEqual([{ kind: "resume-on-host-boot" }]);
  expect(plan("active", null, SHUTDOWN, { powerState: SHUTDOWN })).toEqual([]);
  expect(plan("active", null)).toEqual([]);
  // The guest belongs to the move, which continues.
  expect(plan("resized", "resize_reverting", SHUTDOWN)).toEqual([]);
});

test("2.6 an instance at rest needs nothing, whatever its vm_state", () => {
  const busy = ["building", "deleted", "error", "soft-delete"];
  for (const state of VM_STATES.filter((name) => !busy.includes(name))) {
    expect(plan(state, null)).toEqual([]);
  }
});

async function restart(harness: Harness, values: Parameters<typeof addInstance>[2], power: PowerState = RUNNING) {
  const { node } = await harness.seed("devstack1");
  const { node: other } = await harness.seed("devstack2");
  addInstance(harness.store, uuidOf(1), { ...placed(node), ...values });
  harness.hypervisor("devstack1").addGuest(uuidOf(1), power);
  return { node, other, vm: uuidOf(1) };
}

scenario("2.6 what the rows say is done in the records", async (harness) => {
  const { vm, node } = await restart(harness, { vmState: "building", taskState: "spawning" });
  await harness.allocate(vm, node);
  await harness.start("devstack1");
  expect(harness.instance(vm)).toMatchObject({ vmState: "error", taskState: null, host: "devstack1" });
  expect(await harness.held(vm)).toEqual({ [node.uuid]: AMOUNTS });
});

scenario("2.6 row 9 a soft reboot of a guest that is down is recorded as a hard one first", async (harness) => {
  const { vm } = await restart(harness, { taskState: "reboot_started" }, SHUTDOWN);
  const run = await harness.start("devstack1");
  expect(run.operations).toEqual([`reboot HARD ${vm}`]);
  expect(harness.instance(vm).taskState).toBe("reboot_pending_hard");
});

scenario("2.6 row 8 a delete that fails again: vm error", async (harness) => {
  const { vm } = await restart(harness, { taskState: "deleting" });
  const failure = async () => Promise.reject(new Error("the domain is stuck"));
  const run = await harness.start("devstack1", { operations: { terminate_instance: failure } });
  expect(run.agent.state).toBe("serving");
  expect(harness.instance(vm)).toMatchObject({ vmState: "error", deleted: 0 });
});

scenario("2.6 row 3 a partial deletion that fails is logged, and the start continues", async (harness) => {
  await restart(harness, { vmState: "deleted" });
  const failure = async () => Promise.reject(new Error("later"));
  const run = await harness.start("devstack1", { operations: { completePartialDeletion: failure } });
  expect(run.agent.state).toBe("serving");
});

for (const [found, left] of [
  ["active", "error"],
  ["resized", "resized"],
] as const) {
  scenario(
    `2.6 row 17 a guest that cannot be brought back after the host's boot: ${found}, then ${left}`,
    async (harness) => {
      const { vm } = await restart(harness, { vmState: found }, SHUTDOWN);
      harness.hypervisor("devstack1").failures.set("resumeStateOnHostBoot", () => new Error("no memory"));
      await harness.start("devstack1", { config: { defaults: { resume_guests_state_on_host_boot: true } } });
      expect(harness.instance(vm).vmState).toBe(left);
    },
  );
}

function plugging(harness: Harness, plugVifs: VirtDriver["plugVifs"]): DriverDefinition {
  const { name, apiVersion, create } = harness.hypervisor("devstack1").driver();
  return defineDriver({
    name,
    apiVersion,
    create: async (driverContext) => ({
      ...(await create(driverContext)),
      plugVifs: async (...args) => plugVifs?.(...args),
    }),
  });
}

for (const [what, error, vmState, goesOn] of [
  ["plugged", null, "active", true],
  ["NotImplemented is ignored", new NotImplemented("no ports here"), "active", true],
  ["a failure: vm error, and no row below", new VirtualInterfacePlugException("no bridge"), "error", false],
  ["a device that is not here: left, and no row below", new PciDeviceNotFound("0000:05:00.1"), "active", false],
] as const) {
  scenario(`2.6 row 14 ports: ${what}`, async (harness) => {
    const { vm } = await restart(harness, {}, SHUTDOWN);
    const plugged: string[] = [];
    const driver = plugging(harness, async ({ uuid }) => {
      plugged.push(uuid);
      if (error) {
        throw error;
      }
    });
    const config = { defaults: { resume_guests_state_on_host_boot: true } };
    const run = await harness.start("devstack1", { driver, config });
    expect(run.agent.state).toBe("serving");
    expect(plugged).toEqual([vm]);
    expect(harness.instance(vm).vmState).toBe(vmState);
    const resumed = harness.hypervisor("devstack1").changes.map(({ method }) => method);
    expect(resumed).toEqual(goesOn ? ["resumeStateOnHostBoot"] : []);
  });
}

function context(vm: string, migrationId: number) {
  return {
    instanceUuid: vm,
    migrationId,
    oldNumaTopology: null,
    newNumaTopology: null,
    oldPciDevices: [],
    newPciDevices: [],
    oldResources: [],
    newResources: [],
  };
}

for (const quirk of [false, true]) {
  scenario(
    `2.6 row 15, 2.6 OPT resize_migrating: the guest stays here ${quirk ? "and upstream leaves the rest" : "and so do its allocations"}`,
    async (harness) => {
      const { vm, node, other } = await restart(harness, {
        taskState: "resize_migrating",
        systemMetadata: { old_vm_state: "stopped" },
      });
      const migration = addMigration(harness.store, vm, "migration", "migrating", {
        sourceCompute: "devstack1",
        sourceNode: "devstack1",
        destCompute: "devstack2",
        destNode: "devstack2",
        destComputeId: other.id,
      });
      harness.store.instances.save(vm, { migrationContext: context(vm, migration.id) });
      await harness.allocate(migration.uuid, node);
      await harness.allocate(vm, other);
      await harness.start("devstack1", { config: { quirks: quirk ? ["leave-interrupted-resize-allocations"] : [] } });
      expect(harness.hypervisor("devstack1").changes.map(({ method }) => method)).toEqual(["finishRevertMigration"]);
      expect(harness.hypervisor("devstack1").guests.get(vm)?.power).toBe(SHUTDOWN);
      expect(harness.instance(vm).taskState).toBeNull();
      expect(harness.store.migrations.get(migration.id)?.status).toBe(quirk ? "migrating" : "error");
      expect(await harness.held(vm)).toEqual({ [quirk ? other.uuid : node.uuid]: AMOUNTS });
      expect(Object.keys(await harness.held(migration.uuid))).toEqual(quirk ? [node.uuid] : []);
      expect(harness.instance(vm).migrationContext === null).toBe(!quirk);
    },
    quirk ? ["V27"] : [],
  );
}

scenario("2.6 OPT resize_finish: the destination fails the resize and keeps its own allocation", async (harness) => {
  const { vm, node, other } = await restart(harness, { taskState: "resize_finish" });
  const migration = addMigration(harness.store, vm, "migration", "post-migrating", {
    sourceCompute: "devstack2",
    sourceNode: "devstack2",
    destCompute: "devstack1",
    destNode: "devstack1",
    destComputeId: node.id,
  });
  await harness.allocate(migration.uuid, other);
  await harness.allocate(vm, node);
  await harness.start("devstack1");
  expect(harness.instance(vm)).toMatchObject({ vmState: "error", taskState: null, host: "devstack1" });
  expect(harness.store.migrations.get(migration.id)?.status).toBe("error");
  expect(await harness.held(vm)).toEqual({ [node.uuid]: AMOUNTS });
  expect(await harness.held(migration.uuid)).toEqual({});
});

for (const quirk of [false, true]) {
  scenario(
    `2.6 row 16, 2.6 OPT migrating: aborted, ${quirk ? "and upstream leaves the allocations" : "and the allocations come back"}`,
    async (harness) => {
      const { vm, node, other } = await restart(harness, { taskState: "migrating" });
      const migration = addMigration(harness.store, vm, "live-migration", "running", {
        sourceCompute: "devstack1",
        sourceNode: "devstack1",
        destCompute: "devstack2",
        destNode: "devstack2",
        destComputeId: other.id,
      });
      await harness.allocate(migration.uuid, node);
      await harness.allocate(vm, other);
      await harness.start("devstack1", {
        config: { quirks: quirk ? ["leave-interrupted-live-migration-allocations"] : [] },
      });
      expect(harness.hypervisor("devstack1").changes.map(({ method }) => method)).toEqual(["liveMigrationAbort"]);
      expect(harness.instance(vm)).toMatchObject({ taskState: null, vmState: "active" });
      expect(harness.store.migrations.get(migration.id)?.status).toBe("error");
      expect(await harness.held(vm)).toEqual({ [quirk ? other.uuid : node.uuid]: AMOUNTS });
    },
    quirk ? ["V27"] : [],
  );
}

scenario("2.6 row 16 migrating, and the guest is not here any more: nothing is guessed", async (harness) => {
  const { vm, node, other } = await restart(harness, { taskState: "migrating" });
  harness.hypervisor("devstack1").guests.delete(vm);
  const migration = addMigration(harness.store, vm, "live-migration", "running", {
    sourceCompute: "devstack1",
    sourceNode: "devstack1",
    destCompute: "devstack2",
    destNode: "devstack2",
    destComputeId: other.id,
  });
  await harness.allocate(migration.uuid, node);
  await harness.allocate(vm, other);
  const run = await harness.start("devstack1");
  expect(harness.instance(vm).taskState).toBe("migrating");
  expect(harness.store.migrations.get(migration.id)?.status).toBe("running");
  expect(await harness.held(vm)).toEqual({ [other.uuid]: AMOUNTS });
  expect(run.runtime.logs.some(({ message }) => message.includes("is checked for it when this host serves"))).toBe(
    true,
  );
});
