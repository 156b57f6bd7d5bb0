import { describe, expect, it } from "vitest";
import { FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import { disableOthers, SMALL, THREE, taskOf } from "../../../../unit/control-plane/conductor/tasks/cold-move.js";
import {
  forgetNode,
  holds,
  migrationOf,
  operated,
  PIKE,
} from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { CONSUMER_CONFLICT, FULL } from "../../../../unit/placement-client/bench.js";

describe("6.0: the source allocations of a move", () => {
  it("an instance without allocations moves none to the migration", async () => {
    const world = await operated("resize_prep");
    await world.bench.placement.deleteAllocation(world.instance.uuid, { force: true });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(getExternalCalls(lines).filter((line) => line.startsWith("POST"))).toEqual([]);
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack2: NEED }]);
  });

  it("an instance without a node: nothing is moved, and the host is no destination", async () => {
    const world = await operated("resize_prep");
    forgetNode(world, "devstack1");
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(getExternalCalls(lines)).not.toContain("POST /allocations");
    expect(getExternalCalls(lines).filter((line) => line.includes("traits"))).toEqual([]);
    expect(getExternalCalls(lines)).toContain("cast prep_resize of devstack2");
  });

  it("allocations on a dead host before its cleanup (V12) stay with the instance, apart from the claim", async () => {
    const world = await operated("resize_prep", { hosts: ["devstack1", "devstack2", "devstack0"] });
    migrationOf(world, "evacuation", "done", { sourceCompute: "devstack0", sourceNode: "devstack0" });
    await holds(world, world.instance.uuid, "devstack0", "devstack1");
    world.bench.store.services.update(world.bench.service("devstack0").id, { forcedDown: true });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(lines).toContainEqual(["POST /allocations", { I: { devstack0: NEED }, M2: { devstack1: NEED } }]);
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack0: NEED, devstack2: NEED }]);
  });

  it("a resize back to a host that has not cleaned up yet claims the new flavor there (chaos, seed 202)", async () => {
    const world = await operated("resize_prep");
    migrationOf(world, "evacuation", "done", { sourceCompute: "devstack2", sourceNode: "devstack2" });
    await holds(world, world.instance.uuid, "devstack1", "devstack2");
    const lines = await stepsOf(world.bench, taskOf(world, { flavor: SMALL, host: "devstack2" }));
    const need = { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 20 };
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack2: need }]);
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack2: need });
  });

  it("and stay with the instance if the move fails (V15)", async () => {
    const world = await operated("resize_prep", { hosts: ["devstack1", "devstack0"] });
    migrationOf(world, "evacuation", "done", { sourceCompute: "devstack0", sourceNode: "devstack0" });
    await holds(world, world.instance.uuid, "devstack0", "devstack1");
    world.bench.store.services.update(world.bench.service("devstack0").id, { forcedDown: true });
    await stepsOf(world.bench, taskOf(world));
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack0: NEED, devstack1: NEED });
  });

  it("Placement rejects moving the source allocations: NoValidHost with Nova's message, and nothing is scheduled", async () => {
    const world = await operated("resize_prep");
    world.bench.placementBench.inject({ on: "POST /allocations", does: FULL });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(outcome(lines).fault).toMatchObject({
      message:
        "No valid host was found. Unable to replace instance claim on source host devstack1 node devstack1 by one of the migration.",
    });
    expect(getExternalCalls(lines)).not.toContain("GET /allocation_candidates");
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
  });
});

describe("6.0 doubled: the claim of a failed move is subtracted from the instance's allocations", () => {
  const CASES = [
    ["on another host", FLAVOR, ["devstack1", "devstack2"], { devstack1: NEED, devstack2: NEED }],
    ["on its own host", SMALL, ["devstack1"], { devstack1: { VCPU: 2, MEMORY_MB: 2560, DISK_GB: 21 } }],
  ] as const;

  it.each(CASES)("%s", async (_what, flavor, hosts, both) => {
    const world = await operated("resize_prep", { hosts, version: PIKE });
    const { bench, instance } = world;
    const { store } = bench;
    const { changeSpec } = store.requests;
    store.requests.changeSpec = () => {
      store.requests.changeSpec = changeSpec;
      throw new TypeError("unforeseen");
    };
    const lines = await stepsOf(bench, taskOf(world, { flavor }));
    expect(lines).toContainEqual(["PUT /allocations/I", both]);
    expect(await bench.held(instance.uuid)).toEqual({ devstack1: NEED });
    expect(outcome(lines)).toMatchObject({ instance: { taskState: null }, "migration M1": { status: "error" } });
  });
});

describe("a conductor that was killed", () => {
  it("split: removes the claim of the earlier run and claims again", async () => {
    const world = await operated("resize_prep", { hosts: THREE });
    const { bench, instance } = world;
    const migration = migrationOf(world, "migration", "pre-migrating", { sourceCompute: "devstack1" });
    await holds(world, migration.uuid, "devstack1");
    await holds(world, instance.uuid, "devstack3");
    bench.store.services.update(bench.service("devstack3").id, { disabled: true });
    const lines = await stepsOf(bench, taskOf(world), () => bench.restart());
    expect(getExternalCalls(lines)).not.toContain("POST /allocations");
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack2: NEED }]);
    expect(await bench.held(instance.uuid)).toEqual({ devstack2: NEED });
    expect(await bench.held(migration.uuid)).toEqual({ devstack1: NEED });
    expect(outcome(lines)).toMatchObject({ "migration M1": { destCompute: "devstack2" } });
  });

  it("split: the claim of the earlier run is replaced in one write", async () => {
    const world = await operated("resize_prep", { hosts: THREE });
    const { bench, instance } = world;
    const migration = migrationOf(world, "migration", "pre-migrating", { sourceCompute: "devstack1" });
    await holds(world, migration.uuid, "devstack1");
    await holds(world, instance.uuid, "devstack3");
    const lines = await stepsOf(bench, taskOf(world), () => bench.restart());
    const writes = getExternalCalls(lines).filter((line) => /^(PUT|POST|DELETE) \/allocations/.test(line));
    expect(writes).toEqual(["PUT /allocations/I"]);
  });

  it("doubled: the destination of the earlier run is removed before another is claimed", async () => {
    const world = await operated("resize_prep", { hosts: THREE, version: PIKE });
    const { bench, instance } = world;
    migrationOf(world, "migration", "pre-migrating");
    await holds(world, instance.uuid, "devstack1", "devstack3");
    bench.store.services.update(bench.service("devstack3").id, { disabled: true });
    const lines = await stepsOf(bench, taskOf(world), () => bench.restart());
    expect(lines.filter(([what]) => what === "PUT /allocations/I")).toEqual([
      ["PUT /allocations/I", { devstack1: NEED }],
      ["PUT /allocations/I", { devstack1: NEED, devstack2: NEED }],
    ]);
  });

  it("split, after an evacuation: the dead host's allocations stay, the earlier run's claim does not", async () => {
    const world = await operated("resize_prep", { hosts: [...THREE, "devstack0"] });
    const { bench, instance } = world;
    migrationOf(world, "evacuation", "done", { sourceCompute: "devstack0", sourceNode: "devstack0" });
    const migration = migrationOf(world, "migration", "pre-migrating");
    await holds(world, migration.uuid, "devstack1");
    await holds(world, instance.uuid, "devstack0", "devstack3");
    for (const host of ["devstack0", "devstack3"]) {
      bench.store.services.update(bench.service(host).id, { disabled: true });
    }
    const lines = await stepsOf(bench, taskOf(world), () => bench.restart());
    expect(lines.filter(([what]) => what === "PUT /allocations/I")).toEqual([
      ["PUT /allocations/I", { devstack0: NEED }],
      ["PUT /allocations/I", { devstack0: NEED, devstack2: NEED }],
    ]);
  });

  it.each([CONSUMER_CONFLICT])(
    "V27: if the allocations cannot be moved back, the server is in error, with the reason as the fault",
    async (does) => {
      const world = await operated("resize_prep");
      disableOthers(world);
      world.bench.placementBench.inject({ on: "POST /allocations", does, skip: 1 });
      expect(outcome(await stepsOf(world.bench, taskOf(world)))).toMatchObject({
        instance: { vmState: "error", taskState: null },
        fault: { message: expect.stringContaining("No valid host was found.") },
      });
    },
  );
});
