import { describe, expect, it } from "vitest";
import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import type { InstanceChanges } from "../../../../../src/records/index.js";
import { FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import { holds, type Operated, operated, REQUEST } from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";

const NOWHERE = { host: null, node: null, computeId: null };
const EVENT = "conductor_unshelve_instance on conductor:";

async function offloaded(changes: InstanceChanges = {}): Promise<Operated> {
  const world = await operated("unshelving", { changes: { vmState: "shelved_offloaded", ...NOWHERE, ...changes } });
  await world.bench.placement.deleteAllocation(world.instance.uuid, { force: true });
  return world;
}

const taskOf = ({ head }: Operated, host: string | null = null): Task => ({ kind: "unshelve_instance", ...head, host });

function createRejection(message: string) {
  return {
    instance: { taskState: null, taskRequestId: null },
    fault: { code: 500, message, host: "conductor" },
    events: [`${EVENT} Error (${message})`, `schedule_instances on conductor: Error (${message})`],
  };
}

describe("6.6 from offloaded, step by step", () => {
  it("claims, saves the zone of the new host, and casts", async () => {
    const world = await offloaded({ availabilityZone: null });
    world.bench.store.services.update(world.bench.service("devstack2").id, { disabled: true });
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([
      ["GET /allocation_candidates"],
      ["GET /allocations/I"],
      ["PUT /allocations/I", { devstack1: NEED }],
      [
        "cast unshelve_instance of devstack1",
        {
          instanceUuid: "I",
          allocations: { devstack1: { resources: NEED } },
          node: "devstack1",
          requestId: REQUEST,
        },
      ],
      ["instance", { availabilityZone: "nova" }],
      ["events", [`${EVENT} Success`, "schedule_instances on conductor: Success"]],
    ]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("2.91: only the requested host is used", async () => {
    const world = await offloaded();
    await stepsOf(world.bench, taskOf(world, "devstack2"));
    expect(world.bench.casts.map(({ host }) => host)).toEqual(["devstack2"]);
  });

  it("is claimed with its own flavor, and the claim of a killed run is replaced", async () => {
    const world = await offloaded({ flavor: { ...FLAVOR, memoryMb: 1024 } });
    await holds(world, world.instance.uuid, "devstack1");
    const lines = await stepsOf(world.bench, taskOf(world, "devstack2"));
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack2: { ...NEED, MEMORY_MB: 1024 } }]);
  });

  it("no host, or no request spec: it stays offloaded without allocations", async () => {
    const world = await offloaded();
    for (const { id } of world.bench.store.services.list({})) {
      world.bench.store.services.update(id, { disabled: true });
    }
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(outcome(lines)).toEqual(createRejection("No valid host was found. There are not enough hosts available."));
    expect(getExternalCalls(lines).slice(-1)).toEqual(["DELETE /allocations/I -> 404"]);
    const other = await offloaded();
    other.bench.store.database.run("DELETE FROM request_specs");
    expect(outcome(await stepsOf(other.bench, taskOf(other)))).toEqual(
      createRejection("the request spec of instance I is gone"),
    );
    expect(other.bench.store.tasks.pending()).toEqual([]);
  });

  it("deleted meanwhile: the claim is removed, and the instance is not changed", async () => {
    const world = await offloaded();
    const does = () => void world.bench.store.instances.save(world.instance.uuid, { taskState: "deleting" });
    world.bench.placementBench.inject({ on: "PUT /allocations", does });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(getExternalCalls(lines).slice(2)).toEqual(["PUT /allocations/I", "DELETE /allocations/I"]);
    expect(outcome(lines).instance).toMatchObject({ taskState: "deleting" });
    expect(outcome(lines)).not.toHaveProperty("fault");
  });

  it("deleted while no host is found: no fault, and its task_state stays", async () => {
    const world = await offloaded();
    const does = () => void world.bench.store.instances.save(world.instance.uuid, { taskState: "deleting" });
    world.bench.placementBench.inject({ on: "DELETE /allocations", does });
    for (const { id } of world.bench.store.services.list({})) {
      world.bench.store.services.update(id, { disabled: true });
    }
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(outcome(lines)).not.toHaveProperty("fault");
    expect(world.bench.instance(world.instance.uuid).taskState).toBe("deleting");
  });

  it("the instance is gone: the claim of a killed run is deleted by force", async () => {
    const world = await offloaded();
    await holds(world, world.instance.uuid, "devstack1");
    world.bench.store.instances.destroy(world.instance.uuid);
    expect(getExternalCalls(await stepsOf(world.bench, taskOf(world)))).toEqual(["DELETE /allocations/I"]);
  });

  it("an unexpected error: a fault, and the vm_state does not change", async () => {
    const world = await offloaded();
    const does = () => Promise.reject(new TypeError("unforeseen"));
    world.bench.placementBench.inject({ on: "DELETE /allocations", does, times: 3 });
    world.bench.placementBench.inject({ on: "GET /allocations", does });
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toMatchObject({
      instance: { taskState: null },
      fault: { message: "TypeError" },
      events: [`${EVENT} Error (TypeError)`, "schedule_instances on conductor: Error (TypeError)"],
      "unshelve_instance failed": true,
    });
    expect(world.bench.instance(world.instance.uuid).vmState).toBe("shelved_offloaded");
  });
});

it("an unexpected error of a deleted instance leaves nothing to end", async () => {
  const world = await offloaded();
  const does = () => {
    world.bench.store.instances.destroy(world.instance.uuid);
    return Promise.reject(new TypeError("unforeseen"));
  };
  world.bench.placementBench.inject({ on: "DELETE /allocations", does });
  world.bench.placementBench.inject({ on: "DELETE /allocations", does: "refuse" });
  world.bench.store.database.run("DELETE FROM request_specs");
  const left = outcome(await stepsOf(world.bench, taskOf(world)));
  expect(left).not.toHaveProperty("unshelve_instance could not be ended after its failure");
  expect(left).not.toHaveProperty("fault");
});

describe("6.6 from shelved", () => {
  it("is started on its host", async () => {
    const world = await operated("unshelving", { changes: { vmState: "shelved" } });
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([
      ["cast start_instance of devstack1", { instanceUuid: "I", requestId: REQUEST }],
      ["instance", { taskState: "powering-on" }],
    ]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it.each<[string, InstanceChanges]>([
    ["a user deletes it", { taskState: "deleting" }],
    ["it has no host", NOWHERE],
  ])("%s: no message is sent", async (_what, changes) => {
    const world = await operated("unshelving", { changes: { vmState: "shelved", ...changes } });
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });
});
