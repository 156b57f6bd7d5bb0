import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../../../../src/control-plane/conductor/task-runner.js";
import {
  migrationOf as columnsOf,
  failMove,
  releaseDeleted,
} from "../../../../../src/control-plane/conductor/tasks/end-move.js";
import type { Move } from "../../../../../src/control-plane/conductor/tasks/source-allocations.js";
import type { TaskDeps } from "../../../../../src/control-plane/conductor/tasks/task-deps.js";
import type { Instance } from "../../../../../src/records/index.js";
import { FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import {
  holds,
  migrationOf,
  type Operated,
  operated,
  REQUEST,
} from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { errorResponse, FULL } from "../../../../unit/placement-client/bench.js";

function depsOf({ bench }: Operated): TaskDeps {
  const { store, placement } = bench;
  const { logger } = bench.placementBench.runtime;
  return { store, placement, logger, config: { upstreamQuirks: bench.quirks } } as unknown as TaskDeps;
}

describe("failMove", () => {
  async function failing(more: Partial<Move> = {}) {
    const world = await operated("resize_prep", { changes: { vmState: "stopped" } });
    const migration = migrationOf(world, "migration", "pre-migrating");
    await holds(world, migration.uuid, "devstack1");
    await holds(world, world.instance.uuid, "devstack2");
    const { instance } = world;
    const move: Move = {
      instance,
      migration,
      flavor: FLAVOR,
      requestId: REQUEST,
      restarted: false,
      held: "replace",
      ...more,
    };
    const notifications: (Instance | null)[] = [];
    let finished = 0;
    const finish = () => {
      finished += 1;
    };
    const context: TaskContext = { requestId: REQUEST, restarted: false, report: () => {}, finish };
    const fail = async (end: Partial<Parameters<typeof failMove>[3]> = {}) => {
      const fault = new Error("why");
      const full = { taskState: "resize_prep", vmState: undefined, fault, ...end } as const;
      await failMove(depsOf(world), move, fault, full, context, (each) => notifications.push(each));
      const { vmState, taskState } = world.bench.instance(instance.uuid);
      const status = world.bench.store.migrations.get(migration.id)?.status;
      return { vmState, taskState, status, fault: world.bench.store.instances.fault(instance.uuid)?.message, finished };
    };
    return { world, notifications: notifications, fail };
  }
  const ENDED = { vmState: "stopped", taskState: null, status: "error", fault: "Error", finished: 1 };

  it("moves the source allocations back, then ends migration, operation and task", async () => {
    const { world, notifications, fail } = await failing();
    expect(await fail()).toEqual(ENDED);
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
    expect(notifications, "the instance as it was before").toMatchObject([{ taskState: "resize_prep" }]);
  });

  it("sets the vm_state of the failure", async () => {
    expect(await (await failing()).fail({ vmState: "error" })).toEqual({ ...ENDED, vmState: "error" });
  });

  it("does not change an instance that another operation owns", async () => {
    const { fail } = await failing();
    expect(await fail({ taskState: "migrating" })).toEqual({ ...ENDED, taskState: "resize_prep", fault: undefined });
  });

  it("changes no instance if it was deleted", async () => {
    const { world, notifications, fail } = await failing();
    world.bench.store.instances.destroy(world.instance.uuid);
    expect(await fail()).toMatchObject({ status: "pre-migrating", fault: undefined, finished: 1 });
    expect(notifications).toEqual([null]);
  });

  it("V27: if Placement rejects moving the source allocations back, the server is in error", async () => {
    const { world, fail } = await failing();
    world.bench.placementBench.inject({ on: "POST /allocations", does: FULL });
    expect(await fail()).toEqual({ ...ENDED, vmState: "error" });
  });

  it.each<[Move["held"], boolean, boolean]>([
    ["replace", false, false],
    ["double", false, false],
    ["sum", true, true],
    [null, false, true],
    [null, true, false],
  ])(
    "V27: Placement fails with the allocations' state %s, restarted %s: the server stays usable %s",
    async (held, restarted, isUsable) => {
      const { world, fail } = await failing({ held, restarted });
      world.bench.placementBench.inject({ on: "GET /allocations", does: errorResponse(500, "", "oops") });
      expect(await fail()).toEqual({ ...ENDED, vmState: isUsable ? "stopped" : "error" });
    },
  );

  it("rethrows errors of other kinds", async () => {
    const { world, fail } = await failing();
    const does = () => Promise.reject(new TypeError("unforeseen"));
    world.bench.placementBench.inject({ on: "GET /allocations", does });
    await expect(fail()).rejects.toThrow("unforeseen");
  });
});

describe("releaseDeleted", () => {
  it("deletes the allocations of a deleted instance and of its migrations with the statuses", async () => {
    const world = await operated("resize_prep");
    const { bench, instance, head } = world;
    const other = await bench.server("devstack2");
    const others = migrationOf({ ...world, instance: other }, "migration", "pre-migrating");
    const moves = (["pre-migrating", "finished"] as const).map((status) => migrationOf(world, "migration", status));
    for (const { uuid } of [...moves, others]) {
      await holds(world, uuid, "devstack1");
    }
    const release = () => releaseDeleted(depsOf(world), head, { statuses: ["pre-migrating"] });
    await release();
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED });
    bench.store.instances.destroy(instance.uuid);
    bench.placementBench.mark();
    await release();
    const consumers = [instance, ...moves, others].map(({ uuid }) => bench.held(uuid));
    expect(await Promise.all(consumers)).toEqual([{}, {}, { devstack1: NEED }, { devstack1: NEED }]);
    const sent = bench.placementBench.sent.filter(({ method }) => method !== "GET");
    expect(sent.map(({ method, headers }) => [method, headers["x-openstack-request-id"]])).toEqual([
      ["DELETE", REQUEST],
      ["DELETE", REQUEST],
    ]);
  });
});

it("a new migration has the instance's location and the requester, or the owner without an action", async () => {
  const world = await operated("resize_prep");
  const there = { sourceCompute: "devstack1", sourceNode: "devstack1", oldInstanceTypeId: 1 };
  const columns = columnsOf(depsOf(world), world.instance, REQUEST);
  expect(columns).toEqual({ ...there, userId: "actor", projectId: "actors" });
  const unknown = columnsOf(depsOf(world), world.instance, "req-2");
  expect(unknown).toEqual({ ...there, userId: "user", projectId: "project" });
});
