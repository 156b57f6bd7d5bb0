import { describe, expect, it } from "vitest";
import { validateCaller } from "../../../../fixtures/callers.js";
import { testBlockStorage } from "../../../../fixtures/test-block-storage.js";
import { DOWN_TIME } from "../../../../fixtures/world/conductor-tasks.js";
import {
  holds,
  migrationOf,
  type Operated,
  operated,
  REQUEST,
} from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { errorResponse } from "../../../../unit/placement-client/bench.js";

const OOPS = errorResponse(500, "", "oops");
const nowhere = { host: null, node: null, computeId: null } as const;
const taskOf = ({ head }: Operated) => ({ kind: "delete_local", ...head }) as const;

async function onDeadHost(): Promise<Operated> {
  const world = await operated("deleting");
  world.bench.store.services.update(world.bench.service("devstack1").id, { forcedDown: true });
  return world;
}

describe("6.2 local delete, step by step", () => {
  it("deletes the allocations of unfinished and failed moves and of the instance by force, then its records in one transaction", async () => {
    const world = await onDeadHost();
    const other = await world.bench.server("devstack2");
    migrationOf({ ...world, instance: other }, "migration", "pre-migrating");
    for (const status of ["pre-migrating", "error", "confirmed", "finished"] as const) {
      const { uuid } = migrationOf(world, "migration", status);
      await holds(world, uuid, "devstack2");
    }
    const lines = await stepsOf(world.bench, taskOf(world));
    const { terminatedAt } = world.bench.instance(world.instance.uuid);
    expect(lines).toEqual([
      ["DELETE /allocations/M1"],
      ["DELETE /allocations/M2"],
      ["DELETE /allocations/M4"],
      ["DELETE /allocations/I"],
      [
        "instance",
        {
          vmState: "deleted",
          taskState: null,
          taskRequestId: null,
          deleteRequestId: null,
          deleted: true,
          terminatedAt,
        },
      ],
      ["migration M1", { status: "error", deleted: true }],
      ["migration M2", { deleted: true }],
      ["migration M3", { deleted: true }],
      ["migration M4", { status: "error", deleted: true }],
      ["request spec gone"],
      ["mapping", { queuedForDelete: true }],
    ]);
    expect(world.bench.store.migrations.byFilters({ instanceUuid: other.uuid })).toMatchObject([
      { status: "pre-migrating" },
    ]);
    expect(world.bench.placementBench.logs.filter(({ message }) => message.includes("leaks"))).toEqual([]);
    expect(terminatedAt).toBe(world.bench.placementBench.runtime.clock.now());
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("frees the volumes in the transaction that deletes the records, and deletes those that go with the server", async () => {
    const world = await onDeadHost();
    const { bench, instance } = world;
    const { volumes, createVolume } = testBlockStorage(bench.store, bench.placementBench.runtime);
    const [root, data] = [await createVolume(), await createVolume()];
    for (const volumeId of [root, data]) {
      const attachmentId = volumes.reserve(volumeId, instance.uuid);
      const device = { instanceUuid: instance.uuid, sourceType: "volume", destinationType: "volume" } as const;
      bench.store.blockDevices.create({ ...device, volumeId, attachmentId, deleteOnTermination: volumeId === root });
    }
    await stepsOf(bench, taskOf(world));
    await bench.run();
    expect(bench.store.blockDevices.ofInstance(instance.uuid)).toEqual([]);
    expect(bench.store.database.strings("SELECT id FROM block_storage_attachments")).toEqual([]);
    const admin = validateCaller("admin") ?? expect.fail();
    expect(volumes.volume(root, admin)).toBeUndefined();
    expect(volumes.volume(data, admin)).toMatchObject({ id: data });
  });

  it("the host is up or has come back: its agent gets the message, and nothing else happens", async () => {
    const world = await operated("deleting");
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([
      ["cast terminate_instance of devstack1", { instanceUuid: "I", requestId: REQUEST }],
    ]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("a host is up until service_down_time has passed; one without a service is down", async () => {
    const world = await operated("deleting");
    await world.bench.placementBench.runtime.advance(DOWN_TIME);
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.casts).toHaveLength(1);
    await world.bench.placementBench.runtime.advance(1);
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.casts).toHaveLength(1);
    expect(world.bench.store.instances.get(world.instance.uuid)).toBeNull();
    const other = await operated("deleting");
    other.bench.store.services.destroy(other.bench.service("devstack1").id);
    await stepsOf(other.bench, taskOf(other));
    expect(other.bench.casts).toEqual([]);
    expect(other.bench.store.instances.get(other.instance.uuid)).toBeNull();
  });

  it("bug 1914777: an agent that claims it meanwhile deletes it; if the host only comes back afterwards, the record is deleted here", async () => {
    const claimed = await operated("deleting");
    const { host, node, computeId } = claimed.instance;
    claimed.bench.store.instances.save(claimed.instance.uuid, nowhere);
    const claims = () => void claimed.bench.store.instances.save(claimed.instance.uuid, { host, node, computeId });
    claimed.bench.placementBench.inject({ on: "DELETE /allocations", does: claims });
    expect(getExternalCalls(await stepsOf(claimed.bench, taskOf(claimed)))).toEqual([
      "DELETE /allocations/I",
      "cast terminate_instance of devstack1",
    ]);
    expect(claimed.bench.store.instances.get(claimed.instance.uuid)).not.toBeNull();
    const back = await onDeadHost();
    const { id } = back.bench.service("devstack1");
    const returns = () => void back.bench.store.services.update(id, { forcedDown: false });
    back.bench.placementBench.inject({ on: "DELETE /allocations", does: returns });
    expect(getExternalCalls(await stepsOf(back.bench, taskOf(back)))).toEqual(["DELETE /allocations/I"]);
    expect(back.bench.store.instances.get(back.instance.uuid)).toBeNull();
  });

  it("an agent claims it and dies: the record is deleted with its host", async () => {
    const world = await onDeadHost();
    const { host, node, computeId } = world.instance;
    world.bench.store.instances.save(world.instance.uuid, nowhere);
    const claims = () => void world.bench.store.instances.save(world.instance.uuid, { host, node, computeId });
    world.bench.placementBench.inject({ on: "DELETE /allocations", does: claims });
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.instance(world.instance.uuid)).toMatchObject({ vmState: "deleted", host: "devstack1" });
  });

  it("Placement unreachable: each consumer is tried, and the rows are deleted", async () => {
    const world = await onDeadHost();
    await holds(world, migrationOf(world, "migration", "error").uuid, "devstack2");
    world.bench.placementBench.inject({ on: "DELETE /allocations", does: "lose", times: 2 });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(getExternalCalls(lines)).toEqual(["DELETE /allocations/M1", "DELETE /allocations/I"]);
    expect(world.bench.store.instances.get(world.instance.uuid)).toBeNull();
    const leaks = world.bench.placementBench.logs.filter(({ message }) => message.includes("leaks"));
    expect(leaks).toHaveLength(2);
  });

  it("an instance without a mapping is deleted, and a missing one needs nothing", async () => {
    const world = await onDeadHost();
    world.bench.store.database.run("DELETE FROM instance_mappings");
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).not.toHaveProperty("mapping");
    expect(world.bench.store.instances.get(world.instance.uuid)).toBeNull();
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([["DELETE /allocations/I -> 404"]]);
  });

  it("an instance without a host: its allocations and its row are deleted", async () => {
    const world = await onDeadHost();
    world.bench.store.instances.save(world.instance.uuid, nowhere);
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.store.instances.get(world.instance.uuid)).toBeNull();
    expect(await world.bench.held(world.instance.uuid)).toEqual({});
  });

  it("a server that was never built: its build request is deleted, and a second run does nothing", async () => {
    const { bench } = await onDeadHost();
    const instanceUuid = bench.request();
    bench.store.tasks.finish(bench.store.tasks.pending()[0]?.id ?? 0);
    for (let run = 0; run < 2; run += 1) {
      await bench.run({ kind: "delete_local", instanceUuid, requestId: REQUEST });
      expect(bench.store.requests.buildRequest(instanceUuid)).toBeNull();
      expect(bench.store.tasks.pending()).toEqual([]);
    }
  });

  it("Placement rejects the deletion and the row is gone: no error is recorded", async () => {
    const world = await onDeadHost();
    const does = () => {
      world.bench.store.instances.destroy(world.instance.uuid);
      return Promise.reject(new TypeError("unforeseen"));
    };
    world.bench.placementBench.inject({ on: "DELETE /allocations", does });
    const left = outcome(await stepsOf(world.bench, taskOf(world)));
    expect(left).toMatchObject({ "delete_local failed": true });
    expect(left).not.toHaveProperty("delete_local could not be ended after its failure");
  });

  it("Placement rejects the deletion: the row stays in error with the reason, unless another request owns it", async () => {
    const world = await onDeadHost();
    world.bench.placementBench.inject({ on: "DELETE /allocations", does: OOPS });
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toMatchObject({
      instance: { vmState: "error", taskState: null },
      fault: { code: 500, message: expect.stringContaining("oops"), host: "conductor" },
    });
    world.bench.store.instances.save(world.instance.uuid, {
      taskState: "deleting",
      taskRequestId: "req-2",
      vmState: "active",
    });
    world.bench.placementBench.inject({ on: "DELETE /allocations", does: OOPS });
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.instance(world.instance.uuid)).toMatchObject({ vmState: "active", taskState: "deleting" });
  });
});
