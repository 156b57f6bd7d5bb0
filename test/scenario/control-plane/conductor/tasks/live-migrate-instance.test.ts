import { describe, expect, it } from "vitest";
import { DOWN_TIME } from "../../../../fixtures/world/conductor-tasks.js";
import { NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import {
  CHECK,
  CREATED,
  EVENT,
  forced,
  getHostCalls,
  guest,
  rejectedOutcome,
  taskOf,
} from "../../../../unit/control-plane/conductor/tasks/live-guest.js";
import { holds, migrationOf, PIKE, REQUEST } from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { CONSUMER_CONFLICT } from "../../../../unit/placement-client/bench.js";

describe("6.5 rows 2-4, step by step", () => {
  it("creates the migration, moves the source allocations to it, claims, checks the destination and casts to the source", async () => {
    const world = await guest();
    expect(await stepsOf(world.bench, taskOf(world, { blockMigration: true, diskOverCommit: true }))).toEqual([
      ["migration M1", CREATED],
      ["GET /allocations/M1"],
      ["GET /allocations/I"],
      ["GET /allocations/I"],
      ["GET /allocations/M1"],
      ["POST /allocations", { I: {}, M1: { devstack1: NEED } }],
      ["GET /allocation_candidates"],
      ["GET /allocations/I"],
      ["PUT /allocations/I", { devstack2: NEED }],
      [
        `call ${CHECK} of devstack2`,
        { instanceUuid: "I", migrationId: 1, blockMigration: true, diskOverCommit: true, requestId: REQUEST },
      ],
      [
        "cast live_migration of devstack1",
        {
          instanceUuid: "I",
          migrationId: 1,
          dest: "devstack2",
          blockMigration: true,
          data: { found: "devstack2" },
          requestId: REQUEST,
        },
      ],
      ["migration M1", { destCompute: "devstack2", destNode: "devstack2", destComputeId: 2 }],
      ["events", [`${EVENT} Success`]],
    ]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("row 4f, a forced host: it is saved first, the amounts are copied from the migration, without candidates", async () => {
    const world = await guest();
    const lines = await stepsOf(world.bench, forced(world));
    expect(lines[0]).toEqual(["migration M1", { ...CREATED, destCompute: "devstack2" }]);
    expect(getExternalCalls(lines).slice(5)).toEqual([
      "GET /allocations/M1",
      "GET /allocations/I",
      "PUT /allocations/I",
      `call ${CHECK} of devstack2`,
      "cast live_migration of devstack1",
    ]);
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack2: NEED }]);
  });

  it("an unfinished move of another server is ignored", async () => {
    const world = await guest();
    const other = await world.bench.server("devstack1");
    migrationOf({ ...world, instance: other }, "live-migration", "accepted");
    expect((await stepsOf(world.bench, taskOf(world)))[0]).toEqual(["migration M1", CREATED]);
  });

  it("a requested host is the only one checked, with candidates", async () => {
    const world = await guest({ hosts: 4 });
    const lines = await stepsOf(world.bench, taskOf(world, { host: "devstack3" }));
    expect(lines[0]).toEqual(["migration M1", CREATED]);
    expect(getHostCalls(lines)).toEqual([`call ${CHECK} of devstack3`]);
    expect(getExternalCalls(lines)).toContain("GET /allocation_candidates");
    expect(outcome(lines)).toMatchObject({ "migration M1": { destCompute: "devstack3" } });
  });

  it("force without a host is ignored", async () => {
    const world = await guest();
    expect(getExternalCalls(await stepsOf(world.bench, taskOf(world, { forced: true })))).toContain(
      "GET /allocation_candidates",
    );
  });

  it("doubled: the forced claim adds a copy to the instance's allocations", async () => {
    const world = await guest({ version: PIKE });
    const lines = await stepsOf(world.bench, forced(world));
    expect(getExternalCalls(lines)).toEqual([
      "GET /allocations/M1",
      "GET /allocations/I",
      "GET /allocations/I",
      "GET /allocations/I",
      "PUT /allocations/I",
      `call ${CHECK} of devstack2`,
      "cast live_migration of devstack1",
    ]);
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack1: NEED, devstack2: NEED }]);
  });

  it.each([
    ["running", 1, true],
    ["paused", 3, true],
    ["shutdown", 4, false],
    ["suspended", 7, false],
  ] as const)("a guest that is %s migrates only if it runs", async (name, powerState, goes) => {
    const world = await guest({ changes: { powerState } });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(world.bench.casts).toHaveLength(goes ? 1 : 0);
    if (!goes) {
      const why = `Instance I in power_state ${name}. Cannot live migrate while the instance is in this state.`;
      expect(outcome(lines)).toEqual(rejectedOutcome(why));
      expect(getExternalCalls(lines)).toEqual(["GET /allocations/M1", "GET /allocations/I", "GET /allocations/I"]);
    }
  });

  it("a source that is down or missing is a fault of the instance", async () => {
    const world = await guest();
    const { bench, instance } = world;
    bench.store.services.update(bench.service("devstack1").id, { forcedDown: true });
    const why = "Compute service of devstack1 is unavailable at this time.";
    expect(outcome(await stepsOf(bench, taskOf(world)))).toEqual(rejectedOutcome(why));
    bench.store.instances.save(instance.uuid, { host: null, node: null, computeId: null, taskState: "migrating" });
    const { fault } = outcome(await stepsOf(bench, taskOf(world)));
    expect(fault).toMatchObject({ message: "Compute service of none is unavailable at this time." });
  });

  it("a source without reports is down after service_down_time", async () => {
    for (const [silence, goes] of [
      [DOWN_TIME, true],
      [DOWN_TIME + 1, false],
    ] as const) {
      const world = await guest();
      await world.bench.placementBench.runtime.advance(silence);
      world.bench.store.services.reportState(world.bench.service("devstack2").id);
      await stepsOf(world.bench, taskOf(world));
      expect(world.bench.casts).toHaveLength(goes ? 1 : 0);
    }
  });
});

describe("another request owns the instance", () => {
  it.each([
    ["a delete", { taskState: "deleting", taskRequestId: "req-2" }],
    ["another live migration", { taskState: "migrating", taskRequestId: "req-2" }],
    ["no request, and no host", { host: null, node: null, computeId: null }],
  ] as const)(
    "%s, during the check of the destination: the source allocations return, and no message is sent",
    async (_what, changes) => {
      const world = await guest();
      const { bench, instance } = world;
      bench.agentReplies.set(CHECK, () => {
        bench.store.instances.save(instance.uuid, changes);
        return {};
      });
      const lines = await stepsOf(bench, taskOf(world));
      expect(bench.casts).toEqual([]);
      expect(bench.instance(instance.uuid)).toMatchObject(changes);
      expect(outcome(lines)).toMatchObject({ "migration M1": { status: "error" } });
      expect(outcome(lines)).not.toHaveProperty("fault");
      expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED });
      expect(bench.store.tasks.pending()).toEqual([]);
    },
  );

  it("deleted before the task runs: allocations of unfinished live migrations and of the instance are deleted by force", async () => {
    const world = await guest();
    const { bench, instance } = world;
    for (const status of ["accepted", "failed", "running", "completed"] as const) {
      const { uuid } = migrationOf(world, "live-migration", status);
      await holds(world, uuid, "devstack1");
    }
    bench.store.instances.destroy(instance.uuid);
    expect(getExternalCalls(await stepsOf(bench, taskOf(world)))).toEqual([
      "DELETE /allocations/M1",
      "DELETE /allocations/M2",
      "DELETE /allocations/I",
    ]);
  });
});

describe("a conductor that was killed, or got an unexpected error", () => {
  it("continues the migration of the earlier run, and removes its claim", async () => {
    const world = await guest({ hosts: 3 });
    const { bench, instance } = world;
    const { uuid } = migrationOf(world, "live-migration", "accepted");
    await holds(world, uuid, "devstack1");
    await holds(world, instance.uuid, "devstack3");
    bench.store.services.update(bench.service("devstack3").id, { disabled: true });
    const lines = await stepsOf(bench, taskOf(world), () => bench.restart());
    expect(outcome(lines)).toMatchObject({ "migration M1": { destCompute: "devstack2" } });
    expect(await bench.held(instance.uuid)).toEqual({ devstack2: NEED });
    expect(bench.store.migrations.byFilters({ instanceUuid: instance.uuid })).toHaveLength(1);
  });

  it.each(["live-migration", "migration"] as const)(
    "continues only an accepted live migration, and no other %s",
    async (type) => {
      const world = await guest();
      migrationOf(world, type, type === "migration" ? "accepted" : "running");
      expect(outcome(await stepsOf(world.bench, taskOf(world)))).toMatchObject({
        "migration M2": { status: "accepted" },
      });
    },
  );

  it("doubled: the claim of the earlier run is removed", async () => {
    const world = await guest({ hosts: 3, version: PIKE });
    const { bench, instance } = world;
    migrationOf(world, "live-migration", "accepted");
    await holds(world, instance.uuid, "devstack1", "devstack3");
    bench.store.services.update(bench.service("devstack3").id, { disabled: true });
    await stepsOf(bench, taskOf(world), () => bench.restart());
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED, devstack2: NEED });
  });

  it("an unexpected error ends migration and operation with a fault", async () => {
    const world = await guest();
    const does = () => Promise.reject(new TypeError("unforeseen"));
    world.bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toEqual({
      instance: { vmState: "error", taskState: null, taskRequestId: null },
      "migration M1": { ...CREATED, status: "error" },
      fault: { code: 500, message: "TypeError", host: "conductor" },
      events: [`${EVENT} Error (TypeError)`],
      "live_migrate_instance failed": true,
    });
  });

  it.each([
    ["6.5 row 3: while the source allocations move", "POST /allocations", {}],
    ["6.5 row 4: in the claim", "PUT /allocations", {}],
    ["6.5 row 4f: in the claim on a forced host", "PUT /allocations", { host: "devstack2", forced: true }],
  ])("%s a concurrent write of the allocations: the instance is in error on its source", async (_what, on, more) => {
    const world = await guest();
    world.bench.placementBench.inject({ on, does: CONSUMER_CONFLICT });
    expect(outcome(await stepsOf(world.bench, taskOf(world, more)))).toMatchObject({
      instance: { vmState: "error", taskState: null },
      "migration M1": { status: "error" },
    });
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
  });

  it("6.0 doubled: a failure removes the destination's allocations from the instance's", async () => {
    const world = await guest({ version: PIKE });
    world.bench.agentReplies.delete(CHECK);
    await stepsOf(world.bench, forced(world));
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
  });

  it("an unexpected error does not change an instance that another request owns", async () => {
    const world = await guest();
    const taken = { taskState: "deleting", taskRequestId: "req-2" } as const;
    const does = () => {
      world.bench.store.instances.save(world.instance.uuid, taken);
      return Promise.reject(new TypeError("unforeseen"));
    };
    world.bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
    const left = outcome(await stepsOf(world.bench, taskOf(world)));
    expect(left).toMatchObject({ "migration M1": { status: "error" } });
    expect(world.bench.instance(world.instance.uuid)).toMatchObject({ vmState: "active", ...taken });
  });

  it("an unexpected error of a deleted instance leaves nothing to end", async () => {
    const world = await guest();
    const does = () => {
      world.bench.store.instances.destroy(world.instance.uuid);
      return Promise.reject(new TypeError("unforeseen"));
    };
    world.bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
    const left = outcome(await stepsOf(world.bench, taskOf(world)));
    expect(left).not.toHaveProperty("fault");
    expect(left).not.toHaveProperty("live_migrate_instance could not be ended after its failure");
  });

  it("deleted during the check of the destination: no allocations remain", async () => {
    const world = await guest();
    world.bench.agentReplies.set(CHECK, () => {
      world.bench.store.instances.save(world.instance.uuid, { vmState: "deleted", taskState: null });
      world.bench.store.instances.destroy(world.instance.uuid);
      return {};
    });
    expect(getExternalCalls(await stepsOf(world.bench, taskOf(world)))).toContain("DELETE /allocations/I");
    expect(await world.bench.held(world.instance.uuid)).toEqual({});
  });

  it("an unexpected error of the destination ends the operation", async () => {
    const world = await guest();
    world.bench.agentReplies.set(CHECK, () => {
      throw new TypeError("unforeseen");
    });
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toMatchObject({
      instance: { vmState: "error", taskState: null },
      fault: { message: "TypeError" },
    });
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
  });
});
