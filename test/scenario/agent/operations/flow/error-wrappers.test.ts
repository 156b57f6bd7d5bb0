import { describe, expect, test } from "vitest";
import {
  addFault,
  erroringOut,
  recordingFault,
  revertingTaskState,
  withActionEvent,
  withActionEventAndFault,
} from "../../../../../src/agent/operations/flow/error-wrappers.js";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { InstanceChanges } from "../../../../../src/records/index.js";
import { InstanceFaultRollback, NotImplemented } from "../../../../../src/virt/errors.js";
import { StubHypervisor } from "../../../../fixtures/tracker-driver.js";
import { TrackerWorld } from "../../../../fixtures/tracker-world.js";

async function setUp(changes: InstanceChanges = {}) {
  const world = await TrackerWorld.create();
  const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
  const vm = await world.placed(agent, { vmState: "stopped", taskState: "powering-on", ...(changes as object) });
  const { userId, projectId } = vm;
  world.store.actions.start({ action: "start", instanceUuid: vm.uuid, requestId: "req-1", userId, projectId });
  const events = () => world.store.actions.events(world.store.actions.list(vm.uuid)[0]?.id ?? 0);
  return { world, agent, vm, context: agent.context, row: () => world.stored(vm.uuid), events };
}
function failWith(error: unknown) {
  return async () => {
    throw error;
  };
}

describe("1.6 error wrappers of agent operations", () => {
  test("1.6 reverts task state: any exception except UnexpectedTaskState", async () => {
    const { context, vm, row } = await setUp();
    const conflict = new ConductorError("UnexpectedTaskState", "deleting");
    await expect(
      revertingTaskState(context, { instanceUuid: vm.uuid, requestId: "req-1" }, failWith(conflict)),
    ).rejects.toBe(conflict);
    expect(row().taskState).toBe("powering-on");
    await expect(
      revertingTaskState(context, { instanceUuid: vm.uuid, requestId: "req-1" }, failWith(new Error("x"))),
    ).rejects.toThrow("x");
    expect(row().taskState).toBeNull();
    expect(await revertingTaskState(context, { instanceUuid: vm.uuid, requestId: "req-1" }, async () => 7)).toBe(7);
  });

  test("1.6 fault recording: any exception except InstanceNotFound", async () => {
    const { context, vm, world } = await setUp();
    await expect(
      recordingFault(context, vm.uuid, failWith(new ConductorError("InstanceNotFound", "gone"))),
    ).rejects.toThrow("gone");
    expect(world.store.instances.fault(vm.uuid)).toBeNull();
    await expect(recordingFault(context, vm.uuid, failWith(new Error("it broke")))).rejects.toThrow("it broke");
    expect(world.store.instances.fault(vm.uuid)).toMatchObject({ message: "Error", code: 500, host: "h1" });
    expect(world.store.instances.fault(vm.uuid)?.details).toContain("Error: it broke");
  });

  test("1.6 a fault's message is at most 255 characters, and never empty", async () => {
    const { context, vm, world } = await setUp();
    await addFault(context, vm.uuid, new NotImplemented("x".repeat(300)));
    expect(world.store.instances.fault(vm.uuid)?.message).toHaveLength(255);
    await addFault(context, vm.uuid, "a thrown text");
    await addFault(context, vm.uuid, new TypeError());
    expect(world.store.instances.fault(vm.uuid)?.message).not.toBe("");
  });

  test("1.6 error-out: anything sets vm error", async () => {
    const { context, vm, row } = await setUp();
    await expect(erroringOut(context, vm, "req-1", failWith(new Error("x")))).rejects.toThrow("x");
    expect(row()).toMatchObject({ vmState: "error", taskState: null });
  });

  test.each([
    [new NotImplemented("no pause"), "no pause"],
    [new InstanceFaultRollback("nothing happened", { cause: new Error("inner") }), "inner"],
  ])("1.6 error-out: %o gives the vm_state back and raises the inner error", async (error, message) => {
    const { context, vm, row } = await setUp();
    await expect(erroringOut(context, vm, "req-1", failWith(error))).rejects.toThrow(message);
    expect(row()).toMatchObject({ vmState: "stopped", taskState: null });
  });

  test("1.6 the event joins the action of its request, Success or Error", async () => {
    const { context, vm, events } = await setUp();
    const options = { instanceUuid: vm.uuid, requestId: "req-1" };
    expect(await withActionEvent(context, { ...options, event: "compute_a" }, async () => "r")).toBe("r");
    const failing = withActionEvent(context, { ...options, event: "compute_b" }, failWith(new Error("it broke")));
    await expect(failing).rejects.toThrow("it broke");
    expect(events()).toMatchObject([
      { event: "compute_a", result: "Success", host: "h1" },
      { event: "compute_b", result: "Error", details: "Error" },
    ]);
  });

  test("an event that was handed over is left to the conductor, also when the operation fails after that", async () => {
    const { context, vm, events } = await setUp();
    const options = { instanceUuid: vm.uuid, requestId: "req-1", event: "compute_a" };
    const handed = withActionEvent(context, options, async (event) => {
      event.fail(new Error("here"));
      event.handOver();
      event.fail(new Error("later"));
      throw new Error("no answer");
    });
    await expect(handed).rejects.toThrow("no answer");
    expect(events()).toMatchObject([{ event: "compute_a", result: null }]);
  });

  test("an instance without action has no event, and the operation runs all the same", async () => {
    const { world, context } = await setUp();
    const options = { instanceUuid: world.instance().uuid, requestId: "req-2", event: "compute_a" };
    expect(await withActionEvent(context, options, async () => "r")).toBe("r");
  });

  test("the conductor fails while an error is handled: the first error is raised", async () => {
    const { agent, context, vm, world } = await setUp();
    const options = { instanceUuid: vm.uuid, requestId: "req-1", event: "compute_a" };
    agent.session.fail = ({ method }) =>
      method === "instance_action_event_start" ? undefined : new Error("conductor");
    await expect(withActionEventAndFault(context, options, failWith(new Error("first")))).rejects.toThrow("first");
    expect(world.logged("error", "could not")).toBe(3);
  });
});
