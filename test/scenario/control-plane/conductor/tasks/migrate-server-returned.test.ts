import { describe, expect, it } from "vitest";
import type { DestinationFailure } from "../../../../../src/records/index.js";
import { NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import {
  bothEvents,
  CREATED,
  type MigrateTask,
  SMALL,
  selectionOf,
  THREE,
  taskOf,
} from "../../../../unit/control-plane/conductor/tasks/cold-move.js";
import {
  holds,
  migrationOf,
  type Operated,
  operated,
  REQUEST,
} from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { FULL } from "../../../../unit/placement-client/bench.js";

describe("6.3 row 4: a destination reschedules the move", () => {
  async function rescheduleMigration(
    more: {
      readonly failure?: Partial<DestinationFailure>;
      readonly task?: Partial<MigrateTask>;
      readonly isFirst?: boolean;
    } = {},
  ) {
    const world = await operated("resize_prep", { hosts: THREE });
    const { bench, instance, head } = world;
    const migration = migrationOf(world, "migration", "pre-migrating");
    const eventId = bench.store.actions.startEvent({ ...head, event: "compute_prep_resize", host: "devstack2" });
    const failure: DestinationFailure = {
      host: "devstack2",
      node: "devstack2",
      message: "no room",
      traceback: null,
      rollback: true,
      eventId,
      ...more.failure,
    };
    const alternate = selectionOf(world, "devstack3");
    bench.store.instances.save(instance.uuid, { newFlavor: SMALL });
    const retry = { numAttempts: 1, hosts: [["devstack2", "devstack2"] as const] };
    const task = taskOf(world, {
      migrationId: migration.id,
      alternates: [alternate, { ...alternate, host: "devstack4", node: "devstack4" }],
      ...(more.isFirst ? {} : { retry }),
      failure,
      ...more.task,
    });
    return { world, migration, lines: await stepsOf(bench, task) };
  }

  it("the next host is claimed and gets the message; the failed host's event succeeds and its error is the fault", async () => {
    const { lines } = await rescheduleMigration();
    expect(getExternalCalls(lines)).not.toContain("GET /allocation_candidates");
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack3: NEED }]);
    expect(lines).toContainEqual([
      "cast prep_resize of devstack3",
      {
        instanceUuid: "I",
        migrationId: 1,
        flavor: "m1.tiny",
        node: "devstack3",
        alternates: ["devstack4"],
        retry: {
          numAttempts: 2,
          hosts: [
            ["devstack2", "devstack2"],
            ["devstack3", "devstack3"],
          ],
        },
        requestId: REQUEST,
      },
    ]);
    expect(outcome(lines)).toEqual({
      "migration M1": { destCompute: "devstack3" },
      fault: { code: 500, message: "no room", host: "devstack2" },
      events: ["compute_prep_resize on devstack2: Success", ...bothEvents("Success")],
    });
  });

  it("the last attempt that max_attempts allows is made, and no further one", async () => {
    const last = await rescheduleMigration({ task: { retry: { numAttempts: 2, hosts: [] } } });
    expect(last.world.bench.casts).toMatchObject([{ params: { retry: { numAttempts: 3 } } }]);
    const { lines, world } = await rescheduleMigration({ task: { retry: { numAttempts: 3, hosts: [] } } });
    expect(world.bench.casts).toEqual([]);
    const why =
      "Exceeded maximum number of retries. Exceeded max scheduling attempts 3 for instance I. Last exception: no room";
    expect(outcome(lines)).toEqual({
      instance: { taskState: null, taskRequestId: null, newFlavor: null },
      "migration M1": {
        status: "error",
        destCompute: "devstack2",
        destNode: "devstack2",
        destComputeId: 2,
        destHost: "127.0.0.1",
      },
      fault: { code: 500, message: "no room", host: "devstack2" },
      events: ["compute_prep_resize on devstack2: Error (no room)", ...bothEvents(`Error (${why})`)],
    });
  });

  it("without retry information it was the first attempt", async () => {
    const { world } = await rescheduleMigration({ isFirst: true });
    expect(world.bench.casts).toMatchObject([
      { params: { retry: { numAttempts: 2, hosts: [["devstack3", "devstack3"]] } } },
    ]);
  });

  it("a destination without a node and an event is still recorded", async () => {
    const { lines } = await rescheduleMigration({
      failure: { host: "devstack9", node: "devstack9", eventId: null, rollback: false, message: "m".repeat(300) },
      task: { alternates: [] },
    });
    expect(outcome(lines)).toMatchObject({
      instance: { vmState: "error", taskState: null },
      "migration M1": { status: "error", destCompute: "devstack9", destNode: "devstack9" },
      fault: { code: 500, message: "m".repeat(255), host: "devstack9" },
    });
  });

  it("the first alternate is full and the second is claimed: only later ones remain as alternates", async () => {
    const world = await operated("resize_prep", { hosts: THREE });
    const selections = ["devstack2", "devstack3", "devstack1"].map((host) => selectionOf(world, host));
    world.bench.placementBench.inject({ on: `PUT /allocations/${world.instance.uuid}`, does: FULL });
    await stepsOf(world.bench, taskOf(world, { alternates: selections }));
    expect(world.bench.casts).toMatchObject([{ host: "devstack3", params: { alternates: [{ host: "devstack1" }] } }]);
  });

  it("an instance without a request spec is moved as well", async () => {
    const world = await operated("resize_prep");
    world.bench.store.database.run("DELETE FROM request_specs");
    const lines = await stepsOf(world.bench, taskOf(world, { alternates: [selectionOf(world, "devstack2")] }));
    expect(world.bench.casts).toHaveLength(1);
    expect(outcome(lines)).not.toHaveProperty("request spec");
  });

  it("continues the migration of the task in any status", async () => {
    const world = await operated("resize_prep");
    const { id } = migrationOf(world, "migration", "migrating");
    await stepsOf(world.bench, taskOf(world, { migrationId: id, alternates: [selectionOf(world, "devstack2")] }));
    expect(world.bench.casts).toMatchObject([{ params: { migrationId: id } }]);
  });

  it("does not continue a move of another server or type", async () => {
    const world = await operated("resize_prep");
    const other = await world.bench.server("devstack1");
    migrationOf({ ...world, instance: other }, "migration", "pre-migrating");
    migrationOf(world, "resize", "pre-migrating");
    const lines = await stepsOf(world.bench, taskOf(world, { migrationId: 99 }));
    expect(lines[0]).toEqual(["migration M2", CREATED]);
  });

  it("the instance is deleted or owned by another request: the event fails nevertheless", async () => {
    for (const spoil of [
      ({ bench, instance }: Operated) => void bench.store.instances.destroy(instance.uuid),
      ({ bench, instance }: Operated) =>
        void bench.store.instances.save(instance.uuid, { taskRequestId: "req-2", taskState: "deleting" }),
    ]) {
      const world = await operated("resize_prep");
      const eventId = world.bench.store.actions.startEvent({ ...world.head, event: "compute_prep_resize", host: "d" });
      const failure = { host: "d", node: "d", message: "no room", traceback: null, rollback: false, eventId };
      world.bench.store.instances.save(world.instance.uuid, { newFlavor: SMALL });
      spoil(world);
      const left = outcome(await stepsOf(world.bench, taskOf(world, { alternates: [], failure })));
      expect(left).toEqual({ events: ["compute_prep_resize on d: Error (no room)"] });
      expect(world.bench.instance(world.instance.uuid).newFlavor).toEqual(SMALL);
    }
  });

  it("an ended move is not continued: a new migration is created", async () => {
    const world = await operated("resize_prep");
    const { id } = migrationOf(world, "migration", "error");
    const lines = await stepsOf(world.bench, taskOf(world, { migrationId: id }));
    expect(lines).toContainEqual(["migration M2", CREATED]);
  });

  it("does not change an instance whose evacuation has ended the move", async () => {
    const world = await operated("resize_prep", { hosts: THREE });
    const { bench, instance, head } = world;
    const { id: migrationId } = migrationOf(world, "migration", "error");
    const evacuation = migrationOf(world, "evacuation", "accepted", { destCompute: "devstack3" });
    bench.store.instances.save(instance.uuid, { taskState: "rebuilding", taskRequestId: "req-evacuate" });
    await holds(world, instance.uuid, "devstack1", "devstack3");
    const eventId = bench.store.actions.startEvent({ ...head, event: "compute_prep_resize", host: "d" });
    const failure = { host: "d", node: "d", message: "no room", traceback: "Error: no room", rollback: false, eventId };
    const alternates = [selectionOf(world, "devstack2")];
    expect(await stepsOf(bench, taskOf(world, { migrationId, alternates, failure }))).toEqual([
      ["events", ["compute_prep_resize on d: Error (no room)"]],
    ]);
    expect(bench.store.migrations.get(evacuation.id)?.status).toBe("accepted");
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED, devstack3: NEED });
    const [action] = bench.store.actions.list(instance.uuid);
    expect(bench.store.actions.events(action?.id ?? 0)).toMatchObject([{ traceback: "Error: no room" }]);
  });
});
