import { describe, expect, it } from "vitest";
import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import { type InstanceChanges, type Migration, markInterruptedRebuild } from "../../../../../src/records/index.js";
import { FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import {
  forgetNode,
  holds,
  migrationOf,
  type Operated,
  operated,
  providerOf,
  REQUEST,
} from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { CONSUMER_CONFLICT, errorResponse, FULL } from "../../../../unit/placement-client/bench.js";

type RebuildTask = Extract<Task, { kind: "rebuild_instance" }>;

interface Evacuated extends Operated {
  readonly evacuation: Migration;
}

const SMALL = { ...FLAVOR, id: 2, flavorid: "2", name: "m1.small", memoryMb: 2048, rootGb: 20 };

async function evacuated(changes: InstanceChanges = {}, hosts = ["devstack1", "devstack2"]): Promise<Evacuated> {
  const world = await operated("rebuilding", { hosts, changes });
  world.bench.store.services.update(world.bench.service("devstack1").id, { forcedDown: true });
  return { ...world, evacuation: migrationOf(world, "evacuation", "accepted") };
}

function taskOf({ head, evacuation }: Evacuated, more: Partial<RebuildTask> = {}): RebuildTask {
  return {
    kind: "rebuild_instance",
    ...head,
    migrationId: evacuation.id,
    host: null,
    forced: false,
    onSharedStorage: null,
    targetStopped: false,
    ...more,
  };
}
const forced = (world: Evacuated, host = "devstack2") => taskOf(world, { host, forced: true });

const EVENT = "rebuild_server on conductor:";
function ended(message: string, instance: object = {}) {
  return {
    instance: { taskState: null, taskRequestId: null, ...instance },
    "migration M1": { status: "error" },
    fault: { code: 500, message, host: "conductor" },
    events: [`${EVENT} Error (${message})`],
  };
}

describe("6.7 rows 2a and 2b, step by step", () => {
  const castParams = {
    instanceUuid: "I",
    migrationId: 1,
    onSharedStorage: true,
    recreate: true,
    node: "devstack2",
    imageRef: "c0ffee00-0000-4000-8000-000000000001",
    targetStopped: true,
    requestId: REQUEST,
  };

  it("row 2a: claims beside the dead host's allocations, saves the destination and casts", async () => {
    const world = await evacuated();
    expect(await stepsOf(world.bench, taskOf(world, { onSharedStorage: true, targetStopped: true }))).toEqual([
      ["GET /allocation_candidates"],
      ["GET /allocations/I"],
      ["PUT /allocations/I", { devstack1: NEED, devstack2: NEED }],
      ["cast rebuild_instance of devstack2", castParams],
      ["migration M1", { destCompute: "devstack2" }],
      ["events", [`${EVENT} Success`]],
    ]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("row 2b: the amounts of the source are copied to the requested host", async () => {
    const world = await evacuated();
    const task = { ...forced(world), onSharedStorage: true, targetStopped: true };
    expect(await stepsOf(world.bench, task)).toEqual([
      ["GET /allocations/I"],
      ["GET /allocations/I"],
      ["PUT /allocations/I", { devstack1: NEED, devstack2: NEED }],
      ["cast rebuild_instance of devstack2", castParams],
      ["migration M1", { destCompute: "devstack2" }],
      ["events", [`${EVENT} Success`]],
    ]);
  });

  it("an instance that was resized is claimed with its current flavor", async () => {
    const world = await evacuated({ flavor: SMALL });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(lines).toContainEqual([
      "PUT /allocations/I",
      { devstack1: NEED, devstack2: { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 20 } },
    ]);
  });

  it("an instance without a host may use any host", async () => {
    const world = await evacuated({ host: null, node: null, computeId: null });
    world.bench.store.services.update(world.bench.service("devstack1").id, { forcedDown: false });
    world.bench.store.services.update(world.bench.service("devstack2").id, { forcedDown: true });
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.casts).toMatchObject([{ host: "devstack1" }]);
  });

  it("row 2a: the source is no destination, even if it is up again and the only host", async () => {
    const world = await evacuated();
    world.bench.store.services.update(world.bench.service("devstack1").id, { forcedDown: false });
    world.bench.store.services.update(world.bench.service("devstack2").id, { forcedDown: true });
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.instance(world.instance.uuid)).toMatchObject({ vmState: "error", taskState: null });
    expect(world.bench.casts).toEqual([]);
  });

  it("row 2a: a requested host is the only one considered", async () => {
    const world = await evacuated({}, ["devstack1", "devstack2", "devstack3"]);
    await stepsOf(world.bench, taskOf(world, { host: "devstack3" }));
    expect(world.bench.casts).toMatchObject([{ host: "devstack3" }]);
    expect(world.bench.placementBench.requests()[0]).toContain(`in_tree=${providerOf(world, "devstack3")}`);
  });

  it("9.4 a lost response to the committed claim: claimed again completely, on two providers, with one cast", async () => {
    const world = await evacuated({}, ["devstack1", "devstack2", "devstack3"]);
    world.bench.placementBench.inject({ on: "PUT /allocations", does: "lose" });
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.casts).toHaveLength(1);
    const held = await world.bench.held(world.instance.uuid);
    expect(Object.keys(held).sort()).toEqual(["devstack1", world.bench.casts[0]?.host]);
  });
});

describe("6.7 rows 2a and 2b fail", () => {
  it("row 2a, no host: the instance is in error", async () => {
    const world = await evacuated();
    world.bench.store.services.update(world.bench.service("devstack2").id, { disabled: true });
    const why = "No valid host was found. There are not enough hosts available.";
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(outcome(lines)).toEqual(ended(why, { vmState: "error" }));
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("row 2a, no request spec: the instance is in error", async () => {
    const world = await evacuated();
    world.bench.store.database.run("DELETE FROM request_specs");
    const why = "the request spec of instance I is gone";
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toEqual(ended(why, { vmState: "error" }));
  });

  const UNABLE = "No valid host was found. Unable to move instance I to host devstack2. ";
  const COMPLEX = "The instance has complex allocations on the source host so move cannot be forced.";

  it.each<[string, (world: Evacuated) => unknown, string]>([
    [
      "a host that is full",
      ({ bench }) => bench.placementBench.inject({ on: "PUT /allocations", does: FULL }),
      `${UNABLE}There is not enough capacity on the host for the instance.`,
    ],
    [
      "allocations on two providers",
      (world) => holds(world, world.instance.uuid, "devstack1", "devstack3"),
      UNABLE + COMPLEX,
    ],
    ["an allocation elsewhere", (world) => holds(world, world.instance.uuid, "devstack3"), UNABLE + COMPLEX],
    [
      "no allocations",
      ({ bench, instance }) => bench.placement.deleteAllocation(instance.uuid, { force: true }),
      "instance I has no allocations to copy; heal them first",
    ],
    [
      "no node on the source",
      (world) => forgetNode(world, "devstack1"),
      "compute host devstack1 has no compute node; start its agent, or evacuate without force",
    ],
    [
      "no node on the destination",
      (world) => forgetNode(world, "devstack2"),
      "compute host devstack2 has no compute node; start its agent, or evacuate without force",
    ],
  ])("row 2b, %s: the instance does not change", async (_what, spoils, why) => {
    const world = await evacuated({ vmState: "stopped" }, ["devstack1", "devstack2", "devstack3"]);
    await spoils(world);
    expect(outcome(await stepsOf(world.bench, forced(world)))).toEqual(ended(why));
    expect(world.bench.casts).toEqual([]);
  });

  it("row 2b, an instance without a host has no source", async () => {
    const world = await evacuated({ host: null, node: null, computeId: null });
    const why = "compute host null has no compute node; start its agent, or evacuate without force";
    expect(outcome(await stepsOf(world.bench, forced(world)))).toEqual(ended(why));
  });

  it.each(["row 2a", "row 2b"])("%s, a concurrent write of the allocations: the instance is in error", async (row) => {
    const world = await evacuated();
    world.bench.placementBench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT });
    const lines = await stepsOf(world.bench, row === "row 2a" ? taskOf(world) : forced(world));
    expect(outcome(lines)).toMatchObject({
      instance: { vmState: "error", taskState: null },
      "migration M1": { status: "error" },
      fault: { message: expect.stringMatching(/^Failed to update allocations for consumer I\./) },
    });
  });

  it.each([
    ["row 2a", {}, { vmState: "error" }],
    ["row 2b", { host: "devstack2", forced: true }, {}],
  ])("%s, Placement unreachable: a possible claim is removed", async (_row, more, changed) => {
    const world = await evacuated();
    world.bench.placementBench.inject({ on: "PUT /allocations", does: "lose", times: 2 });
    const lines = await stepsOf(world.bench, taskOf(world, more));
    expect(outcome(lines).instance).toEqual({ taskState: null, taskRequestId: null, ...changed });
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
  });

  it("row 2b, OPT: a full host of a server whose rebuild was interrupted: the instance is in error", async () => {
    const world = await evacuated();
    world.bench.store.instances.save(world.instance.uuid, markInterruptedRebuild(world.instance, REQUEST));
    world.bench.placementBench.inject({ on: "PUT /allocations", does: FULL });
    const { instance } = outcome(await stepsOf(world.bench, forced(world)));
    expect(instance).toMatchObject({ vmState: "error", taskState: null });
  });

  it.each<[string, (world: Evacuated) => unknown]>([
    ["no node on the destination", (world) => forgetNode(world, "devstack2")],
    ["no node on the source", (world) => forgetNode(world, "devstack1")],
    ["no allocations", ({ bench, instance }) => bench.placement.deleteAllocation(instance.uuid, { force: true })],
  ])("row 2b, GAP %s: quirk forget-failed-forced-evacuation leaves accepted and rebuilding", async (_what, spoils) => {
    const world = await evacuated();
    world.bench.quirks.add("forget-failed-forced-evacuation");
    await spoils(world);
    await stepsOf(world.bench, forced(world));
    const { vmState, taskState } = world.bench.instance(world.instance.uuid);
    expect([vmState, taskState]).toEqual(["active", "rebuilding"]);
    expect(world.bench.store.migrations.get(world.evacuation.id)?.status).toBe("accepted");
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("a claim that cannot be removed is left to reconcile_allocations, and the evacuation ends", async () => {
    const world = await evacuated();
    world.bench.placementBench.inject({ on: "PUT /allocations", does: CONSUMER_CONFLICT });
    world.bench.placementBench.inject({ on: "GET /allocations", does: errorResponse(500, "", "oops"), skip: 1 });
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toMatchObject({
      instance: { vmState: "error", taskState: null },
      "migration M1": { status: "error" },
    });
  });

  it("an unexpected error: instance and migration are in error with the fault, and the event fails", async () => {
    const world = await evacuated();
    const does = () => Promise.reject(new TypeError("unforeseen"));
    world.bench.placementBench.inject({ on: "PUT /allocations", does });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(outcome(lines)).toEqual({ ...ended("TypeError", { vmState: "error" }), "rebuild_instance failed": true });
    expect(getExternalCalls(lines).slice(-1)).toEqual(["GET /allocations/I"]);
  });
});

describe("quirk any-accepted-migration-for-evacuation", () => {
  it.each([true, false])("%s", async (isUpstream) => {
    const world = await evacuated();
    const { bench } = world;
    if (isUpstream) {
      bench.quirks.add("any-accepted-migration-for-evacuation");
    }
    const other = await bench.server("devstack2");
    migrationOf({ ...world, instance: other }, "live-migration", "accepted");
    bench.store.migrations.save(world.evacuation.id, { status: "error" });
    const { id } = migrationOf(world, "live-migration", "accepted");
    await stepsOf(bench, taskOf(world));
    expect(bench.casts).toMatchObject([{ params: { migrationId: isUpstream ? id : world.evacuation.id } }]);
  });
});

describe("ownership of the instance", () => {
  it("a missing migration needs nothing", async () => {
    const world = await evacuated();
    expect(await stepsOf(world.bench, taskOf(world, { migrationId: 99 }))).toEqual([]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it.each([
    ["another request", { taskRequestId: "req-2", taskState: "rebuilding" }],
    ["no rebuild", { taskState: "deleting", taskRequestId: REQUEST }],
  ] as const)("%s: the evacuation ends and sends no request", async (_what, changes) => {
    const world = await evacuated();
    world.bench.store.instances.save(world.instance.uuid, changes);
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(outcome(lines)).toMatchObject({ "migration M1": { status: "error" } });
    expect(getExternalCalls(lines).filter((line) => line.startsWith("PUT") || line.startsWith("cast"))).toEqual([]);
  });

  it("an acknowledged delete is carried out with its own request id", async () => {
    const world = await evacuated({ taskState: "deleting", taskRequestId: "req-delete" });
    const { store } = world.bench;
    store.instances.save(world.instance.uuid, { taskState: "rebuilding", taskRequestId: REQUEST });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(lines).toContainEqual(["instance", { taskState: "deleting", taskRequestId: "req-delete" }]);
    expect(lines).toContainEqual(["task delete_local", { requestId: "req-delete" }]);
    expect(lines).toContainEqual(["migration M1", { status: "error" }]);
    expect(getExternalCalls(lines)).toEqual([]);
    expect(store.tasks.pending()).toMatchObject([{ task: { kind: "delete_local", requestId: "req-delete" } }]);
  });

  it("another request during the claim: the claim is removed, the source allocations stay", async () => {
    const world = await evacuated();
    const { bench, instance } = world;
    const does = () =>
      void bench.store.instances.save(instance.uuid, { taskRequestId: "req-2", taskState: "rebuilding" });
    bench.placementBench.inject({ on: "PUT /allocations", does });
    const lines = await stepsOf(bench, taskOf(world));
    expect(getExternalCalls(lines).slice(3)).toEqual([
      "GET /allocations/I",
      "GET /allocations/I",
      "GET /resource_providers",
      "PUT /allocations/I",
    ]);
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED });
    expect(outcome(lines)).toMatchObject({ "migration M1": { status: "error" } });
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("deleted during the claim: all allocations are deleted by force", async () => {
    const world = await evacuated();
    const { bench, instance } = world;
    const does = () => void bench.store.instances.destroy(instance.uuid);
    bench.placementBench.inject({ on: "PUT /allocations", does });
    expect(getExternalCalls(await stepsOf(bench, taskOf(world))).slice(3)).toEqual(["DELETE /allocations/I"]);
  });

  it("an unexpected error of a deleted instance ends only the migration", async () => {
    const world = await evacuated();
    const does = () => {
      world.bench.store.instances.destroy(world.instance.uuid);
      return Promise.reject(new TypeError("unforeseen"));
    };
    world.bench.placementBench.inject({ on: "PUT /allocations", does });
    const left = outcome(await stepsOf(world.bench, taskOf(world)));
    expect(left).toMatchObject({ "migration M1": { status: "error" }, "rebuild_instance failed": true });
    expect(left).not.toHaveProperty("fault");
    expect(left).not.toHaveProperty("rebuild_instance could not be ended after its failure");
  });

  it("a forced evacuation without a host fails", async () => {
    const world = await evacuated();
    const lines = await stepsOf(world.bench, taskOf(world, { forced: true }));
    expect(outcome(lines).fault).toMatchObject({ message: expect.stringMatching(/^compute host null has no/) });
  });

  it("only a restarted conductor searches for the claim of an earlier run; other evacuations' allocations stay", async () => {
    const world = await evacuated({}, ["devstack1", "devstack2", "devstack3", "devstack0"]);
    const { bench, instance } = world;
    migrationOf(world, "evacuation", "done", { sourceCompute: "devstack0", sourceNode: "devstack0" });
    await holds(world, instance.uuid, "devstack0", "devstack1", "devstack3");
    bench.store.services.update(bench.service("devstack3").id, { disabled: true });
    bench.store.services.update(bench.service("devstack0").id, { forcedDown: true });
    const lines = await stepsOf(bench, taskOf(world), () => bench.restart());
    expect(getExternalCalls(lines).slice(0, 4)).toEqual([
      "GET /allocations/I",
      "GET /allocations/I",
      "GET /resource_providers",
      "PUT /allocations/I",
    ]);
    expect(await bench.held(instance.uuid)).toEqual({ devstack0: NEED, devstack1: NEED, devstack2: NEED });
  });
});
