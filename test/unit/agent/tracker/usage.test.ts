import { describe, expect, test } from "vitest";
import {
  countsMigration,
  flavorOfMigration,
  flavorUsage,
  inResizeState,
  isLiveMigrating,
  latestPerInstance,
  reservedUsage,
  sumUsage,
} from "../../../../src/agent/tracker/usage.js";
import { TASK_STATES, VM_STATES } from "../../../../src/records/index.js";
import { aFlavor, aMigration, anInstance } from "../../../fixtures/records.js";

const HERE = { host: "here", node: "node" };
const OLD = aFlavor({ id: 1, vcpus: 1 });
const NEW = aFlavor({ id: 2, vcpus: 2 });
const here = { sourceCompute: "here", sourceNode: "node" };
const toHere = { destCompute: "here", destNode: "node" };
const resize = { migrationType: "resize", oldInstanceTypeId: 1, newInstanceTypeId: 2 } as const;

describe("4.5 amounts", () => {
  test("an instance takes memory, root + ephemeral + swap, vcpus; reserved is where the count starts", () => {
    const flavor = aFlavor({ vcpus: 2, memoryMb: 1024, rootGb: 10, ephemeralGb: 5, swap: 1500 });
    expect(flavorUsage(flavor, false)).toEqual({ vcpus: 2, memoryMb: 1024, localGb: 17 });
    expect(flavorUsage(flavor, true), "volume-backed").toEqual({ vcpus: 2, memoryMb: 1024, localGb: 7 });
    const reserved = reservedUsage({ reservedHostCpus: 1, reservedHostMemoryMb: 512, reservedHostDiskMb: 1025 });
    expect(reserved).toEqual({ vcpus: 1, memoryMb: 512, localGb: 2 });
    expect(sumUsage([reserved, flavorUsage(flavor, true)])).toEqual({ vcpus: 3, memoryMb: 1536, localGb: 9 });
  });
});

describe("4.5 which migrations are counted", () => {
  const counted = (check: (row: { vmState: never; taskState: never }) => boolean) =>
    VM_STATES.flatMap((vmState) =>
      [null, ...TASK_STATES]
        .filter((taskState) => check({ vmState: vmState as never, taskState: taskState as never }))
        .map((taskState) => `${vmState}/${taskState}`),
    );

  test("in a resize state: resized with any task, active or stopped with one of seven tasks", () => {
    const tasks = ["resize_prep", "resize_migrating", "resize_migrated", "resize_finish"];
    tasks.push("rebuilding", "rebuild_block_device_mapping", "rebuild_spawning");
    const expected = [
      ...["active", "stopped"].flatMap((vm) => tasks.map((task) => `${vm}/${task}`)),
      ...[null, ...TASK_STATES].map((task) => `resized/${task}`),
    ];
    expect(counted(inResizeState).sort()).toEqual(expected.sort());
  });

  test("live migrating: task migrating of an active or paused instance", () => {
    expect(counted(isLiveMigrating)).toEqual(["active/migrating", "paused/migrating"]);
  });

  test("evacuations of instances in error are counted, unless quirk ignore-evacuations-in-error", () => {
    const instance = anInstance({ vmState: "error", taskState: "rebuilding" });
    const evacuation = aMigration({ migrationType: "evacuation" });
    expect(countsMigration(instance, evacuation, false)).toBe(true);
    expect(countsMigration(instance, evacuation, true)).toBe(false);
    expect(countsMigration(instance, aMigration({ migrationType: "resize" }), false)).toBe(false);
    expect(countsMigration({ ...instance, taskState: null }, evacuation, false)).toBe(false);
  });

  test("of several migrations of an instance the latest counts, by updatedAt, else createdAt", () => {
    const rows = [
      aMigration({ id: 1, instanceUuid: "a", createdAt: 1, updatedAt: 50 }),
      aMigration({ id: 2, instanceUuid: "a", createdAt: 40, updatedAt: null }),
      aMigration({ id: 3, instanceUuid: "b", createdAt: 2, updatedAt: null }),
    ];
    expect([...latestPerInstance(rows).values()].map(({ id }) => id)).toEqual([1, 3]);
    const simultaneous = rows.map((row) => ({ ...row, instanceUuid: "a", updatedAt: 50 }));
    expect(
      [...latestPerInstance(simultaneous).values()].map(({ id }) => id),
      "of one moment the last",
    ).toEqual([3]);
  });
});

describe("4.5 what a migration adds on this node", () => {
  const on = (migration: Parameters<typeof aMigration>[0], instance = {}, tracked = false) =>
    flavorOfMigration(
      aMigration({ ...resize, ...migration }),
      anInstance({ flavor: OLD, oldFlavor: OLD, newFlavor: NEW, instanceTypeId: 1, ...instance }),
      HERE,
      tracked,
    );

  test("source and dest are this node, still the old type: new flavor (claim phase)", () => {
    expect(on({ ...here, ...toHere }, {}, true)).toBe(NEW);
  });
  test("source and dest are this node, already the new type: old flavor (kept for revert)", () => {
    expect(on({ ...here, ...toHere }, { flavor: NEW, instanceTypeId: 2 }, true)).toBe(OLD);
  });
  test("incoming, instance not tracked: new flavor; of a non-resize the instance's own", () => {
    expect(on(toHere)).toBe(NEW);
    expect(on({ ...toHere, migrationType: "evacuation" }, { flavor: OLD, newFlavor: null })).toBe(OLD);
  });
  test("outgoing, instance not tracked: old flavor; none is left when the confirm is finishing", () => {
    expect(on(here)).toBe(OLD);
    expect(on(here, { oldFlavor: null })).toBeNull();
    expect(on({ ...here, migrationType: "live-migration" }, { oldFlavor: null }), "live: the instance's own").toBe(OLD);
  });
  test("tracked instance, one side only: nothing", () => {
    expect(on(toHere, {}, true)).toBeNull();
    expect(on(here, {}, true)).toBeNull();
  });
  test("neither side is this node: nothing", () => {
    expect(on({ sourceCompute: "here", sourceNode: "another" })).toBeNull();
    expect(on({ sourceCompute: "there", sourceNode: "node" })).toBeNull();
    expect(on({ destCompute: "there", destNode: "node" })).toBeNull();
    expect(on({ destCompute: "here", destNode: "another" })).toBeNull();
  });
});
