import { describe, expect, it } from "vitest";
import type { Flavor } from "../../../../../src/records/index.js";
import { FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import {
  bothEvents,
  CREATED,
  disableOthers,
  SMALL,
  THREE,
  taskOf,
} from "../../../../unit/control-plane/conductor/tasks/cold-move.js";
import {
  holds,
  migrationOf,
  operated,
  PIKE,
  providerOf,
  REQUEST,
} from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { CONSUMER_CONFLICT } from "../../../../unit/placement-client/bench.js";

describe("6.3 rows 2, 3, V26, step by step", () => {
  it("a resize creates the migration, moves the source allocations to it, claims, and casts", async () => {
    const world = await operated("resize_prep");
    expect(await stepsOf(world.bench, taskOf(world, { flavor: SMALL }))).toEqual([
      ["migration M1", { ...CREATED, migrationType: "resize", newInstanceTypeId: 2 }],
      ["GET /allocations/M1"],
      ["GET /allocations/I"],
      ["GET /allocations/I"],
      ["GET /allocations/M1"],
      ["POST /allocations", { I: {}, M1: { devstack1: NEED } }],
      ["GET /allocation_candidates"],
      ["GET /allocations/I"],
      ["PUT /allocations/I", { devstack2: { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 20 } }],
      [
        "cast prep_resize of devstack2",
        {
          instanceUuid: "I",
          migrationId: 1,
          flavor: "m1.small",
          node: "devstack2",
          alternates: ["devstack1"],
          retry: { numAttempts: 1, hosts: [["devstack2", "devstack2"]] },
          requestId: REQUEST,
        },
      ],
      ["migration M1", { destCompute: "devstack2" }],
      ["request spec", { flavor: "m1.small" }],
      ["events", bothEvents("Success")],
    ]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("a cold migration with a Pike agent doubles the instance's claim, and the migration has no allocations", async () => {
    const world = await operated("resize_prep", { version: PIKE });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(getExternalCalls(lines)).toEqual([
      "GET /allocations/M1",
      "GET /resource_providers/devstack1/traits",
      "GET /allocation_candidates",
      "GET /allocations/I",
      "GET /allocations/I",
      "PUT /allocations/I",
      "cast prep_resize of devstack2",
    ]);
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack1: NEED, devstack2: NEED }]);
  });

  it("a requested host is the only one, and is not rescheduled", async () => {
    const world = await operated("resize_prep", { hosts: THREE });
    await stepsOf(world.bench, taskOf(world, { host: "devstack2" }));
    expect(world.bench.casts).toMatchObject([{ host: "devstack2", params: { alternates: [] } }]);
    expect(world.bench.casts[0]?.params).not.toHaveProperty("retry");
  });

  it("max_attempts 1: no retry information, so that a failing destination does not reschedule", async () => {
    const world = await operated("resize_prep", { maxAttempts: 1 });
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.casts).toMatchObject([{ host: "devstack2", params: { alternates: [] } }]);
    expect(world.bench.casts[0]?.params).not.toHaveProperty("retry");
  });
});

describe("6.3 row 1: whether the server's own host is a destination", () => {
  it.each([
    ["a resize, as allow_resize_to_same_host says", SMALL, true, [], true],
    ["a resize, as allow_resize_to_same_host denies", SMALL, false, ["COMPUTE_SAME_HOST_COLD_MIGRATE"], false],
    ["a cold migration whose driver can", FLAVOR, false, ["COMPUTE_SAME_HOST_COLD_MIGRATE"], true],
    ["a cold migration whose driver cannot", FLAVOR, true, ["COMPUTE_NODE"], false],
  ] as const)("%s", async (_what, flavor, allowed, traits, isDestination) => {
    const world = await operated("resize_prep", { hosts: ["devstack1"] });
    const { bench } = world;
    bench.settings.allowResizeToSameHost = allowed;
    await bench.restart();
    const provider = providerOf(world, "devstack1");
    const { generation, traits: known } = await bench.placement.getProviderTraits(provider);
    await bench.placement.setTraitsForProvider(provider, { traits: [...known, ...traits], generation });
    await stepsOf(bench, taskOf(world, { flavor }));
    expect(bench.casts.map(({ host }) => host)).toEqual(isDestination ? ["devstack1"] : []);
    expect(bench.store.instances.fault(world.instance.uuid)?.message ?? "").toBe(
      isDestination ? "" : "No valid host was found. There are not enough hosts available.",
    );
  });
});

describe("6.3 row 3 fails", () => {
  const NONE = "No valid host was found. There are not enough hosts available.";

  it("no host: the source allocations return, then the instance and its request spec are restored", async () => {
    const world = await operated("resize_prep");
    disableOthers(world);
    const { bench, instance } = world;
    const spec = bench.store.requests.spec(instance.uuid);
    bench.store.requests.saveSpec({ ...(spec ?? expect.fail("no spec")), flavor: SMALL });
    const lines = await stepsOf(bench, taskOf(world));
    expect(getExternalCalls(lines).slice(-5)).toEqual([
      "DELETE /allocations/I -> 404",
      "GET /allocations/M1",
      "GET /allocations/M1",
      "GET /allocations/I",
      "POST /allocations",
    ]);
    expect(lines).toContainEqual(["POST /allocations", { M1: {}, I: { devstack1: NEED } }]);
    expect(outcome(lines)).toMatchObject({
      instance: { taskState: null, taskRequestId: null },
      "migration M1": { status: "error" },
      "request spec": { flavor: "m1.tiny" },
      fault: { code: 500, host: "conductor" },
    });
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("the reason is the fault and the failure of both events, and the vm_state does not change", async () => {
    const world = await operated("resize_prep", { changes: { vmState: "stopped" } });
    disableOthers(world);
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toEqual({
      instance: { taskState: null, taskRequestId: null },
      "migration M1": { ...CREATED, status: "error" },
      fault: { code: 500, message: NONE.replace(/1 is disabled, 1 is ignored/, reasons), host: "conductor" },
      events: bothEvents(`Error (${NONE.replace(/1 is disabled, 1 is ignored/, reasons)})`),
    });
  });

  const reasons = "1 is ignored, 1 is disabled";

  it("without a request spec nothing is scheduled", async () => {
    const world = await operated("resize_prep");
    const { bench, instance } = world;
    bench.store.database.run("DELETE FROM request_specs");
    const lines = await stepsOf(bench, taskOf(world));
    const message = "the request spec of instance I is gone";
    expect(outcome(lines)).toMatchObject({
      instance: { taskState: null },
      "migration M1": { status: "error" },
      events: bothEvents(`Error (${message})`),
    });
    expect(getExternalCalls(lines)).not.toContain("GET /allocation_candidates");
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED });
  });

  it("a conflict of the claim returns the source allocations", async () => {
    const world = await operated("resize_prep");
    world.bench.placementBench.inject({ on: `PUT /allocations/${world.instance.uuid}`, does: CONSUMER_CONFLICT });
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toMatchObject({
      instance: { taskState: null },
      "migration M1": { status: "error" },
    });
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
  });
});

describe("another request owns the instance", () => {
  it("before the move began: only the migration of an earlier run is ended", async () => {
    const world = await operated("resize_prep", { changes: { taskRequestId: "req-2" } });
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([]);
    migrationOf(world, "migration", "pre-migrating");
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(outcome(lines)).toEqual({ "migration M1": { status: "error" } });
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it("during the claim: the source allocations return, and the instance is not changed", async () => {
    const world = await operated("resize_prep");
    const { bench, instance } = world;
    const does = () =>
      void bench.store.instances.save(instance.uuid, { taskRequestId: "req-2", taskState: "deleting" });
    bench.placementBench.inject({ on: `PUT /allocations/${instance.uuid}`, does });
    const lines = await stepsOf(bench, taskOf(world));
    expect(outcome(lines)).toMatchObject({
      instance: { taskState: "deleting", taskRequestId: "req-2" },
      "migration M1": { status: "error" },
    });
    expect(outcome(lines)).not.toHaveProperty("fault");
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED });
    expect(bench.casts).toEqual([]);
  });

  it("deleted: the allocations of the migration and the instance are deleted by force", async () => {
    const world = await operated("resize_prep");
    const { bench, instance } = world;
    const migration = migrationOf(world, "migration", "pre-migrating");
    await holds(world, migration.uuid, "devstack1");
    bench.store.instances.destroy(instance.uuid);
    expect(getExternalCalls(await stepsOf(bench, taskOf(world)))).toEqual([
      "DELETE /allocations/M1",
      "DELETE /allocations/I",
    ]);
  });

  it("deleted during the claim: no allocations of the instance and the migration remain", async () => {
    const world = await operated("resize_prep");
    const { bench, instance } = world;
    const does = () => {
      bench.store.instances.save(instance.uuid, { vmState: "deleted", taskState: null });
      bench.store.instances.destroy(instance.uuid);
    };
    bench.placementBench.inject({ on: `PUT /allocations/${instance.uuid}`, does });
    await stepsOf(bench, taskOf(world));
    const [migration] = bench.store.migrations.byFilters({ instanceUuid: instance.uuid, readDeleted: true });
    expect(await bench.held(instance.uuid)).toEqual({});
    expect(await bench.held(migration?.uuid ?? "")).toEqual({});
    expect(bench.casts).toEqual([]);
  });

  it.each([
    [false, {}],
    [true, { devstack1: NEED }],
  ])(
    "bug 1848343, deleted while its allocations return, quirk resurrect-deleted-allocations %s",
    async (quirk, left) => {
      const world = await operated("resize_prep");
      const { bench, instance } = world;
      disableOthers(world);
      if (quirk) {
        bench.quirks.add("resurrect-deleted-allocations");
      }
      const does = () => void bench.store.instances.save(instance.uuid, { vmState: "deleted", taskState: null });
      bench.placementBench.inject({ on: "POST /allocations", does, skip: 1 });
      await stepsOf(bench, taskOf(world));
      expect(await bench.held(instance.uuid)).toEqual(left);
    },
  );
});

describe("an unexpected error", () => {
  it.each([true, false])(
    "ends the events of the failed destination, although another request may own the instance: still own %s",
    async (own) => {
      const world = await operated("resize_prep");
      const { bench, instance } = world;
      const eventId = bench.store.actions.startEvent({ ...world.head, event: "compute_prep_resize", host: "d" });
      const failure = { host: "d", node: "d", message: "no room", traceback: null, rollback: true, eventId };
      bench.store.instances.save(instance.uuid, { newFlavor: SMALL });
      const does = () => {
        if (!own) {
          bench.store.instances.save(instance.uuid, { taskState: "deleting", taskRequestId: "req-2" });
        }
        return Promise.reject(new TypeError("unforeseen"));
      };
      bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
      const left = outcome(await stepsOf(bench, taskOf(world, { alternates: [], failure })));
      expect(left).toMatchObject({
        "migration M1": { status: "error" },
        fault: { message: own ? "no room" : "TypeError" },
        events: ["compute_prep_resize on d: Error (no room)", ...bothEvents("Error (TypeError)")],
      });
      expect(bench.instance(instance.uuid).newFlavor).toEqual(own ? null : SMALL);
    },
  );

  it("leaves nothing to end if the instance is gone", async () => {
    const world = await operated("resize_prep");
    const does = () => {
      world.bench.store.instances.destroy(world.instance.uuid);
      return Promise.reject(new TypeError("unforeseen"));
    };
    world.bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
    const left = outcome(await stepsOf(world.bench, taskOf(world)));
    expect(left).not.toHaveProperty("migrate_server could not be ended after its failure");
    expect(left).not.toHaveProperty("fault");
  });

  it("ends the migration and the operation, with the error as the fault", async () => {
    const world = await operated("resize_prep", { changes: { vmState: "stopped" } });
    const does = () => Promise.reject(new TypeError("unforeseen"));
    world.bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toEqual({
      instance: { taskState: null, taskRequestId: null },
      "migration M1": { ...CREATED, status: "error" },
      fault: { code: 500, message: "TypeError", host: "conductor" },
      events: bothEvents("Error (TypeError)"),
      "migrate_server failed": true,
    });
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });
});

describe("6.4: a resize on one host whose sum exceeds max_unit", () => {
  const SIX: Flavor = { ...FLAVOR, id: 6, flavorid: "6", name: "six", vcpus: 6 };
  const EIGHT: Flavor = { ...FLAVOR, id: 8, flavorid: "8", name: "eight", vcpus: 8 };
  const need = (vcpus: number) => ({ devstack1: { ...NEED, VCPU: vcpus } });

  it.each([
    ["fails with doubled: one record of 14", PIKE, "error", need(6)],
    ["works with split: records of 6 and of 8", 30, "pre-migrating", need(8)],
  ] as const)("%s", async (_what, version, status, held) => {
    const world = await operated("resize_prep", {
      hosts: ["devstack1"],
      version,
      cpus: { vcpus: 10, cpuRatio: 16 },
      changes: { flavor: SIX, instanceTypeId: 6, vcpus: 6 },
    });
    const { bench, instance } = world;
    const { projectId, userId } = instance;
    const request = { allocations: { [providerOf(world, "devstack1")]: { resources: { ...NEED, VCPU: 6 } } } };
    const claim = { consumer: instance.uuid, projectId, userId, version: "1.36", held: "replace" } as const;
    expect(await bench.placement.claimResources({ ...claim, request })).toBe(true);
    expect(outcome(await stepsOf(bench, taskOf(world, { flavor: EIGHT })))).toMatchObject({
      "migration M1": { status },
    });
    expect(await bench.held(instance.uuid)).toEqual(held);
  });
});

describe("a conductor killed at any request", () => {
  it.each([
    { on: "POST /allocations", does: "hang" },
    { on: "POST /allocations", does: "hang-after" },
    { on: "PUT /allocations/", does: "hang" },
    { on: "PUT /allocations/", does: "hang-after" },
  ] as const)("starts over: $on $does", async ({ on, does }) => {
    for (const version of [PIKE, 73]) {
      const world = await operated("resize_prep", { version });
      const { bench, instance } = world;
      bench.placementBench.inject({ on, does });
      void bench.run(taskOf(world));
      for (let tick = 0; tick < 200; tick += 1) {
        await Promise.resolve();
      }
      bench.placementBench.heal();
      if (bench.casts.length === 0) {
        await bench.restart();
      }
      expect(bench.casts.map(({ method }) => method)).toEqual(["prep_resize"]);
      const migrations = bench.store.migrations.byFilters({ instanceUuid: instance.uuid });
      expect(migrations).toHaveLength(1);
      const held = [await bench.held(instance.uuid), await bench.held(migrations[0]?.uuid ?? "")];
      expect(held).toEqual(
        version === PIKE ? [{ devstack1: NEED, devstack2: NEED }, {}] : [{ devstack2: NEED }, { devstack1: NEED }],
      );
    }
  });
});
