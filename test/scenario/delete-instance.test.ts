import { describe, expect, test } from "vitest";
import {
  checkAllocations,
  checkDeleteOrder,
  checkPersistedUsage,
  checkUsage,
  countChecks,
} from "../fixtures/invariants-tracker.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { CONFLICT } from "../fixtures/tracker-http.js";
import { type AgentOptions, TrackerWorld } from "../fixtures/tracker-world.js";

async function setUp(seed = "delete", options: AgentOptions = {}) {
  const world = await TrackerWorld.create(seed);
  const agent = await world.startedAgent("h1", new StubHypervisor("n1"), options);
  const vm = await world.placed(agent, { taskState: "deleting" });
  const { userId, projectId } = vm;
  world.store.actions.start({ action: "delete", instanceUuid: vm.uuid, requestId: "req-d", userId, projectId });
  await agent.tracker.updateAvailableResource({ startup: false });
  agent.steps.length = 0;
  agent.http.take();
  const remove = async () => {
    // As the API does for each request.
    if (world.stored(vm.uuid).deleted === 0) {
      world.store.instances.save(vm.uuid, { taskState: "deleting" });
    }
    await agent.operations.run("terminate_instance", { instanceUuid: vm.uuid, requestId: "req-d" });
  };
  return { world, agent, vm, remove };
}

describe("6.2 delete, host up", () => {
  test("6.2 host up: guest → vm deleted → usage → allocations (force) → row (V23, V20)", async () => {
    const { world, agent, vm, remove } = await setUp();
    await remove();
    expect(countChecks(world)).toBeGreaterThan(0);
    checkDeleteOrder(agent.steps, vm.uuid);
    expect(agent.hypervisor.guests.size).toBe(0);
    expect(agent.hypervisor.disks.size).toBe(0);
    expect(world.stored(vm.uuid)).toMatchObject({ vmState: "deleted", taskState: null, powerState: 0 });
    expect(world.stored(vm.uuid).deleted).not.toBe(0);
    await checkAllocations(world, [vm]);
    checkPersistedUsage(world, agent);
    const [action] = world.store.actions.list(vm.uuid);
    expect(world.store.actions.events(action?.id ?? 0)).toMatchObject([
      { event: "compute_terminate_instance", result: "Success" },
    ]);
  });

  test("6.2 at most the requests of nova-compute: one DELETE", async () => {
    const { agent, remove } = await setUp();
    await remove();
    const requests = agent.http.take().map(({ method, version, requestId }) => [method, version, requestId]);
    expect(requests, "with the request id of the operation").toEqual([["DELETE", null, "req-d"]]);
  });

  test("6.2 reclaim_instance_interval > 0: the allocation goes guarded by its generation", async () => {
    const { world, agent, vm, remove } = await setUp("soft", { config: { defaults: { reclaimInstanceInterval: 60 } } });
    await remove();
    expect(agent.http.take().map(({ method, version }) => [method, version])).toEqual([
      ["GET", "1.28"],
      ["PUT", "1.28"],
    ]);
    await checkAllocations(world, [vm]);
  });

  test("6.2 driver destroy fails: vm error, task reverted, row, allocations and usage stay; a retry works", async () => {
    const { world, agent, vm, remove } = await setUp();
    agent.hypervisor.fail = (method) => (method === "destroy" ? new Error("qemu hangs") : undefined);
    await expect(remove()).rejects.toThrow("qemu hangs");
    expect(world.stored(vm.uuid)).toMatchObject({ vmState: "error", taskState: null, host: "h1", deleted: 0 });
    expect(world.store.instances.fault(vm.uuid)?.message).toBe("Error");
    await checkAllocations(world, [vm]);
    checkPersistedUsage(world, agent);
    agent.hypervisor.fail = () => undefined;
    await remove();
    expect(world.store.instances.get(vm.uuid)).toBeNull();
    await checkAllocations(world, [vm]);
  });

  test("6.2 AllocationDeleteFailed: vm error, the row is kept and counts again, a retry works", async () => {
    const { world, agent, vm, remove } = await setUp();
    agent.http.fault = ({ method }) => (method === "DELETE" ? { status: 500 } : undefined);
    await expect(remove()).rejects.toMatchObject({ name: "AllocationDeleteFailed" });
    expect(world.stored(vm.uuid)).toMatchObject({ vmState: "error", taskState: null, host: "h1", deleted: 0 });
    await checkAllocations(world, [vm]);
    checkUsage(world, agent);
    agent.http.fault = () => undefined;
    await remove();
    await checkAllocations(world, [vm]);
    checkPersistedUsage(world, agent);
  });

  test.each(["refused", "answer lost"] as const)(
    "6.2 Placement cannot be reached, %s: it stays deleted",
    async (fault) => {
      const { world, agent, vm, remove } = await setUp();
      agent.http.fault = ({ method }) => (method === "DELETE" ? fault : undefined);
      await expect(remove()).rejects.toMatchObject({ name: "AllocationDeleteFailed" });
      expect(world.stored(vm.uuid)).toMatchObject({ vmState: "deleted", taskState: null, host: "h1", deleted: 0 });
      agent.http.fault = () => undefined;
      await agent.operations.completePartialDeletion(world.stored(vm.uuid));
      expect(world.store.instances.get(vm.uuid)).toBeNull();
      await checkAllocations(world, [vm]);
      checkPersistedUsage(world, agent);
    },
  );

  test("9.4 the answer to DELETE is lost after commit: a retry finds nothing and ends well", async () => {
    const { world, agent, vm, remove } = await setUp();
    let lost = 0;
    agent.http.fault = ({ method }) => (method === "DELETE" && lost++ === 0 ? "answer lost" : undefined);
    await remove();
    expect(lost).toBe(2);
    expect(world.store.instances.get(vm.uuid)).toBeNull();
    await checkAllocations(world, [vm]);
  });

  test("6.2 bug 1836754 a consumer generation bump does not stop the user's delete", async () => {
    const { world, vm, agent, remove } = await setUp();
    agent.http.fault = ({ method }) => (method === "PUT" ? CONFLICT : undefined);
    await remove();
    await checkAllocations(world, [vm]);
  });

  test("6.2 no host: error after a failed build: row destroyed, always {}", async () => {
    const { world, agent } = await setUp();
    const vm = world.instance({ vmState: "error", taskState: "deleting" });
    await world.claim(vm, agent.nodeUuid);
    agent.hypervisor.calls.length = 0;
    await agent.operations.run("terminate_instance", { instanceUuid: vm.uuid, requestId: "req-x" });
    expect(agent.hypervisor.calls).toEqual([]);
    expect(world.store.instances.get(vm.uuid)).toBeNull();
    expect(await world.held(vm.uuid)).toEqual({});
  });

  test("V1 an instance of another host is not touched, and its delete is handed on once", async () => {
    const { world, agent } = await setUp();
    const other = await world.startedAgent("h2", new StubHypervisor("n2"));
    const vm = await world.placed(other);
    agent.hypervisor.guests.set(vm.uuid, 1);
    await agent.operations.run("terminate_instance", { instanceUuid: vm.uuid, requestId: "req-x" });
    expect(world.handedOn).toEqual([vm.uuid]);
    expect(agent.hypervisor.guests.has(vm.uuid)).toBe(true);
    expect(world.stored(vm.uuid)).toMatchObject({ deleted: 0, vmState: "active" });
    await checkAllocations(world, [vm]);
  });

  test("the same delete twice, at the same time: the second finds nothing to do", async () => {
    const { world, agent, vm, remove } = await setUp();
    await Promise.all([remove(), remove()]);
    expect(agent.hypervisor.calls.filter((call) => call === `destroy ${vm.uuid}`)).toHaveLength(1);
    expect(world.store.instances.get(vm.uuid)).toBeNull();
  });
});

describe("2.6 a delete that died", () => {
  test("6.2 killed before each step: after the restart the instance is gone for good", async () => {
    const { agent: baseline, remove: run } = await setUp();
    await run();
    const steps = baseline.steps.length;
    expect(steps).toBeGreaterThan(6);
    for (let step = 0; step < steps; step += 1) {
      const { world, agent, vm, remove } = await setUp(`kill ${step}`);
      const dead = agent.dieBefore(step);
      void remove();
      await dead;
      const again = await world.startedAgent("h1", agent.hypervisor);
      const found = world.store.instances.get(vm.uuid);
      // Spec 2.6: task deleting runs the complete delete again, vm deleted completes the partial one.
      if (found?.vmState === "deleted") {
        await again.operations.completePartialDeletion(found);
      } else if (found) {
        await again.operations.run("terminate_instance", { instanceUuid: found.uuid, requestId: "req-again" });
      }
      expect(world.store.instances.get(vm.uuid), `killed before step ${step}`).toBeNull();
      expect(again.hypervisor.guests.size).toBe(0);
      await again.tracker.updateAvailableResource({ startup: false });
      await checkAllocations(world, [vm]);
      checkPersistedUsage(world, again);
    }
  });

  test("2.6 partial deletion: row, then usage, then allocations; what fails is the caller's to log", async () => {
    const { world, agent, vm } = await setUp();
    world.store.instances.save(vm.uuid, { vmState: "deleted", taskState: null });
    await agent.operations.completePartialDeletion(world.stored(vm.uuid));
    const order = ["instance_destroy", "compute_node_save", "placement DELETE"].map((name) =>
      agent.steps.findIndex((step) => step.includes(name)),
    );
    expect(order).toEqual([...order].sort((left, right) => left - right));
    expect(order).not.toContain(-1);
    await checkAllocations(world, [vm]);
    checkPersistedUsage(world, agent);
  });
});
