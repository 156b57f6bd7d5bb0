import { describe, expect, test } from "vitest";
import { type NewInstance, POWER_STATES } from "../../../../../src/records/index.js";
import { StubHypervisor } from "../../../../fixtures/tracker-driver.js";
import { TrackerWorld } from "../../../../fixtures/tracker-world.js";

const { running, shutdown, paused, nostate, crashed, suspended } = POWER_STATES;

async function setUp(changes: Partial<NewInstance>, power?: number) {
  const world = await TrackerWorld.create();
  const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
  const vm = await world.placed(agent, changes);
  if (power !== undefined) {
    agent.hypervisor.guests.set(vm.uuid, power as typeof running);
  }
  return { world, agent, vm, row: () => world.stored(vm.uuid), guest: () => agent.hypervisor.guests.get(vm.uuid) };
}

describe("power operations", () => {
  test("start: guest on, vm active, power state, task null", async () => {
    const { agent, vm, row } = await setUp({ vmState: "stopped", taskState: "powering-on", powerState: shutdown });
    await agent.operations.run("start_instance", { instanceUuid: vm.uuid, requestId: "req-1" });
    expect(row()).toMatchObject({ vmState: "active", taskState: null, powerState: running });
  });

  test("start of a guest that is gone makes it anew (8.2 HARD reboot)", async () => {
    const { agent, vm, row, guest } = await setUp({ vmState: "stopped", taskState: "powering-on" });
    agent.hypervisor.guests.clear();
    await agent.operations.run("start_instance", { instanceUuid: vm.uuid, requestId: "req-1" });
    expect(guest()).toBe(running);
    expect(row().vmState).toBe("active");
  });

  test("6.6 start of a shelved instance whose offload has destroyed guest and disks: it stays shelved", async () => {
    const { agent, vm, row, guest } = await setUp({ vmState: "shelved", taskState: "powering-on" });
    agent.hypervisor.guests.clear();
    agent.hypervisor.disks.clear();
    const start = agent.operations.run("start_instance", { instanceUuid: vm.uuid, requestId: "req-1" });
    await expect(start).rejects.toThrow();
    expect(guest()).toBeUndefined();
    expect(row()).toMatchObject({ vmState: "shelved", taskState: null });
  });

  test("a hard reboot that is accepted before another has begun has the instance", async () => {
    const { world, agent, vm, row } = await setUp({ taskState: "rebooting_hard", taskRequestId: "req-1" });
    agent.session.fail = ({ method }) => {
      if (method === "instance_save") {
        world.store.instances.save(vm.uuid, { taskState: "rebooting_hard", taskRequestId: "req-2" });
        agent.session.fail = () => undefined;
      }
      return undefined;
    };
    const reboot = { instanceUuid: vm.uuid, type: "HARD" } as const;
    await expect(agent.operations.run("reboot_instance", { ...reboot, requestId: "req-1" })).rejects.toThrow("req-2");
    expect(row()).toMatchObject({ taskState: "rebooting_hard", taskRequestId: "req-2" });
    await agent.operations.run("reboot_instance", { ...reboot, requestId: "req-2" });
    expect(row()).toMatchObject({ vmState: "active", taskState: null });
  });

  test("stop: guest off, vm stopped, task null", async () => {
    const { agent, vm, row, guest } = await setUp({ taskState: "powering-off" });
    await agent.operations.run("stop_instance", { instanceUuid: vm.uuid, requestId: "req-1" });
    expect(row()).toMatchObject({ vmState: "stopped", taskState: null, powerState: shutdown });
    expect(guest()).toBe(shutdown);
  });

  test("stop fails: fault, task null, vm_state as it was", async () => {
    const { world, agent, vm, row } = await setUp({ taskState: "powering-off" });
    agent.hypervisor.fail = (method) => (method === "powerOff" ? new Error("qemu hangs") : undefined);
    await expect(agent.operations.run("stop_instance", { instanceUuid: vm.uuid, requestId: "req-1" })).rejects.toThrow(
      "qemu hangs",
    );
    expect(row()).toMatchObject({ vmState: "active", taskState: null });
    expect(world.store.instances.fault(vm.uuid)?.message).toBe("Error");
  });

  test("stop of an instance that is being deleted meanwhile leaves it to the delete", async () => {
    const { world, agent, vm, row } = await setUp({ taskState: "powering-off" });
    agent.hypervisor.fail = (method) => {
      if (method === "powerOff") {
        world.store.instances.save(vm.uuid, { taskState: "deleting" });
      }
      return undefined;
    };
    await expect(
      agent.operations.run("stop_instance", { instanceUuid: vm.uuid, requestId: "req-1" }),
    ).rejects.toMatchObject({
      name: "UnexpectedDeletingTaskState",
    });
    expect(row().taskState).toBe("deleting");
  });

  test.each([
    ["SOFT", "rebooting", ["reboot_pending", "reboot_started"]],
    ["HARD", "rebooting_hard", ["reboot_pending_hard", "reboot_started_hard"]],
    ["HARD", "reboot_pending_hard", ["reboot_pending_hard", "reboot_started_hard"]],
  ] as const)("reboot %s from %s: %o, active", async (type, taskState, tasks) => {
    const { agent, vm, row } = await setUp({ taskState });
    await agent.operations.run("reboot_instance", { instanceUuid: vm.uuid, type: type, requestId: "req-1" });
    expect(agent.steps.flatMap((step) => step.match(/"taskState":"(\w+)"/)?.[1] ?? [])).toEqual(tasks);
    expect(row()).toMatchObject({ vmState: "active", taskState: null, powerState: running });
  });

  test.each([
    [running, "active"],
    [shutdown, "error"],
  ])("reboot fails and leaves power %i: vm %s", async (power, vmState) => {
    const { agent, vm, row } = await setUp({ taskState: "rebooting" }, power);
    agent.hypervisor.fail = (method) => (method === "reboot" ? new Error("no") : undefined);
    const reboot = agent.operations.run("reboot_instance", { instanceUuid: vm.uuid, type: "SOFT", requestId: "req-1" });
    const thrown = await reboot.then(
      () => null,
      (error: Error) => error.message,
    );
    expect(thrown).toBe(power === running ? null : "no");
    expect(row()).toMatchObject({ vmState, taskState: null });
  });

  test("unpause: active", async () => {
    const { agent, vm, row } = await setUp({ vmState: "paused", taskState: "unpausing", powerState: paused });
    await agent.operations.run("unpause_instance", { instanceUuid: vm.uuid, requestId: "req-1" });
    expect(row()).toMatchObject({ vmState: "active", taskState: null, powerState: running });
  });

  test("what an operation logs carries its request id", async () => {
    const { world, agent, vm } = await setUp({ taskState: "powering-off" });
    agent.hypervisor.fail = () => new Error("no");
    agent.session.fail = ({ method }) => (method === "instance_add_fault" ? new Error("conductor") : undefined);
    await agent.operations.run("stop_instance", { instanceUuid: vm.uuid, requestId: "req-17" }).catch(() => undefined);
    expect(world.runtime.logs.at(-1)?.fields).toMatchObject({ request_id: "req-17", instance: vm.uuid });
  });
});

describe("4.10 _sync_power_states", () => {
  const sync = async (changes: Partial<NewInstance>, power: number | null) => {
    const set = await setUp(changes, power ?? running);
    if (power === null) {
      set.agent.hypervisor.guests.clear();
    }
    await set.agent.operations.syncInstancePowerState(set.vm);
    return set;
  };

  test.each([
    ["active", shutdown, "powering-off"],
    ["active", crashed, "powering-off"],
    ["active", running, null],
    ["active", paused, null],
    ["active", null, null],
    ["active", suspended, "powering-off"],
    ["stopped", running, "powering-off"],
    ["stopped", paused, "powering-off"],
    ["stopped", suspended, "powering-off"],
    ["stopped", shutdown, null],
    ["error", shutdown, null],
    ["suspended", running, null],
    ["paused", shutdown, "powering-off"],
    ["paused", paused, null],
  ] as const)("4.10 vm %s, guest %s: task %s; power_state follows the driver", async (vmState, power, taskState) => {
    const { row } = await sync({ vmState }, power);
    expect(row()).toMatchObject({ vmState, taskState, powerState: power ?? nostate });
  });

  test("4.10 paused or nostate of an active instance only warn", async () => {
    expect((await sync({}, paused)).world.logged("warn", "nothing is done")).toBe(1);
    expect((await sync({}, null)).world.logged("warn", "nothing is done")).toBe(1);
  });

  test("4.10 a task is set: skipped", async () => {
    const { row } = await sync({ taskState: "rebooting" }, shutdown);
    expect(row()).toMatchObject({ taskState: "rebooting", powerState: running });
  });

  test("4.10 never acts on an instance of another host, or one that is gone", async () => {
    const { world, agent, vm, row } = await setUp({}, shutdown);
    const other = await world.startedAgent("h2", new StubHypervisor("n2"));
    other.hypervisor.guests.set(vm.uuid, shutdown);
    await other.operations.syncInstancePowerState(vm);
    expect(row().powerState).toBe(running);
    world.store.instances.destroy(vm.uuid);
    await agent.operations.syncInstancePowerState(vm);
    expect(row().powerState).toBe(running);
  });
});
