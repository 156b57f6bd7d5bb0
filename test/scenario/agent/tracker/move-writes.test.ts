import { describe, expect, test } from "vitest";
import type { Instance, Migration, NewInstance } from "../../../../src/records/index.js";
import { addItem, counts, migrated, on, resize, row, type Setting, twoNodes } from "../support/two-nodes.js";

type End = readonly [host: string, node: string];

/** Creates a resize from one vCPU to three whose instance is on `at` by now; h1 has counted it. */
async function resized(setting: Setting, ends: { from: End; to: End; at: End }, values: Partial<NewInstance> = {}) {
  const { world, agent } = setting;
  const [oldFlavor, newFlavor] = [world.flavor({ vcpus: 1 }), world.flavor({ vcpus: 3 })];
  const arrived = ends.at === ends.to;
  const flavor = arrived ? newFlavor : oldFlavor;
  const instance = on(setting, ...ends.at, {
    flavor,
    instanceTypeId: flavor.id,
    oldFlavor,
    newFlavor,
    ...(arrived ? { vmState: "resized" } : { taskState: "resize_migrating" }),
    ...values,
  });
  const migration = migrated(setting, instance, {
    migrationType: "resize",
    status: arrived ? "finished" : "migrating",
    sourceCompute: ends.from[0],
    sourceNode: ends.from[1],
    destCompute: ends.to[0],
    destNode: ends.to[1],
    destComputeId: row(setting, ends.to[1], ends.to[0]).id,
    oldInstanceTypeId: oldFlavor.id,
    newInstanceTypeId: newFlavor.id,
  });
  const migrationContext = { ...EMPTY, instanceUuid: instance.uuid, migrationId: migration.id };
  const saved = world.store.instances.save(instance.uuid, { migrationContext });
  await agent.tracker.updateAvailableResource({ startup: false });
  return { instance: saved, migration };
}

const EMPTY = {
  oldNumaTopology: null,
  newNumaTopology: null,
  oldPciDevices: [],
  newPciDevices: [],
  oldResources: [],
  newResources: [],
};
const N0: End = ["h0", "n0"];
const N1: End = ["h1", "n1"];
const N2: End = ["h1", "n2"];

const used = (setting: Setting) => [counts(setting, "n1").vcpusUsed, counts(setting, "n2").vcpusUsed];

const statusOf = ({ world }: Setting, { id }: Migration) => world.store.migrations.get(id)?.status;

/** Asserts that the tracker counted it immediately: the next pass, which reads everything again, changes nothing. */
async function expectUsed(setting: Setting, expected: readonly number[]): Promise<void> {
  expect(used(setting)).toEqual(expected);
  await setting.agent.tracker.updateAvailableResource({ startup: false });
  expect(used(setting), "as the next pass counts").toEqual(expected);
}

describe("4.2 drop_move_claim_at_source", () => {
  test("status confirmed, the context and the old flavor's usage gone, with what the caller changes", async () => {
    const setting = await twoNodes();
    const move = await resized(setting, { from: N1, to: N0, at: N0 });
    expect(used(setting)).toEqual([1, 0]);
    const changes = { vmState: "active", oldFlavor: null, newFlavor: null } as const;
    const moved = await setting.agent.tracker.dropMoveClaimAtSource(move, changes, [null]);
    expect(moved.instance).toMatchObject({ ...changes, migrationContext: null });
    expect(moved.instance).toEqual(setting.world.stored(move.instance.uuid));
    expect(moved.migration.status).toBe("confirmed");
    expect(statusOf(setting, move.migration)).toBe("confirmed");
    await expectUsed(setting, [0, 0]);
  });

  test("an instance in another task than the caller expects: nothing is written", async () => {
    const setting = await twoNodes();
    const move = await resized(setting, { from: N1, to: N0, at: N0 });
    const drop = setting.agent.tracker.dropMoveClaimAtSource(move, {}, ["deleting"]);
    await expect(drop).rejects.toMatchObject({ name: "UnexpectedTaskState" });
    expect(statusOf(setting, move.migration)).toBe("finished");
    await expectUsed(setting, [1, 0]);
  });
});

describe("4.2 drop_move_claim_at_dest", () => {
  const REVERTING = { taskState: "resize_reverting" } as const;

  test.each<[string, End, End, readonly number[]]>([
    ["another host: the usage is gone, although the row still names this one", N0, N2, [0, 0]],
    ["this host and node: the instance goes on counting", N2, N2, [0, 3]],
  ])("back to %s", async (_, from, to, left) => {
    const setting = await twoNodes();
    const move = await resized(setting, { from, to, at: to }, REVERTING);
    const moved = await setting.agent.tracker.dropMoveClaimAtDestination(move, { displayName: "renamed" });
    expect(moved.instance).toMatchObject({ host: "h1", migrationContext: null, displayName: "renamed" });
    expect(statusOf(setting, move.migration)).toBe("reverted");
    expect(used(setting)).toEqual(left);
  });

  test("back to another node of this host: the destination's is gone", async () => {
    const setting = await twoNodes();
    const move = await resized(setting, { from: N1, to: N2, at: N2 }, REVERTING);
    await setting.agent.tracker.dropMoveClaimAtDestination(move, {});
    expect(used(setting)[1]).toBe(0);
  });

  test("an instance that is not being reverted: nothing is written", async () => {
    const setting = await twoNodes();
    const move = await resized(setting, { from: N0, to: N2, at: N2 }, { taskState: "deleting" });
    const drop = setting.agent.tracker.dropMoveClaimAtDestination(move, {});
    await expect(drop).rejects.toMatchObject({ name: "UnexpectedDeletingTaskState" });
    expect(statusOf(setting, move.migration)).toBe("finished");
  });
});

/** As counted by the tracker. */
function running({ agent }: Setting, name: string): number | undefined {
  return agent.tracker.nodes().get(name)?.runningVms;
}

describe("6.3 row 6 the write with which an instance changes hosts", () => {
  const arrive = (setting: Setting, instance: Instance, [host, node]: End) => {
    const computeId = setting.world.store.computeNodes.getByHostAndNode(host, node)?.id ?? null;
    return { host, node, computeId, launchedOn: instance.launchedOn, taskState: "resize_migrated" } as const;
  };

  test("to another host: the source goes on counting the old flavor, for the migration", async () => {
    const setting = await twoNodes();
    const { instance, migration } = await resized(setting, { from: N1, to: N0, at: N1 });
    expect(used(setting)).toEqual([1, 0]);
    const moved = await setting.agent.tracker.saveMove({
      instance,
      changes: arrive(setting, instance, N0),
      expectedHost: "h1",
      expectedTaskState: ["resize_migrating"],
      migration,
      migrationChanges: { status: "post-migrating" },
    });
    expect(moved.instance.host).toBe("h0");
    expect(moved.migration.status).toBe("post-migrating");
    expect(running(setting, "n1")).toBe(0);
    expect(counts(setting, "n1").runningVms, "statistics alone are not worth a save").toBe(1);
    await setting.agent.tracker.updateAvailableResource({ startup: false });
    expect(counts(setting, "n1").runningVms, "the next pass saves them").toBe(0);
    await expectUsed(setting, [1, 0]);
  });

  test("to another node of the same host: both are counted anew", async () => {
    const setting = await twoNodes();
    const { instance, migration } = await resized(setting, { from: N1, to: N2, at: N1 });
    expect(used(setting)).toEqual([1, 3]);
    await setting.agent.tracker.saveMove({ instance, changes: arrive(setting, instance, N2), migration });
    expect([running(setting, "n1"), running(setting, "n2")]).toEqual([0, 1]);
    const after = used(setting);
    expect(statusOf(setting, migration), "without changes of its own the migration stays").toBe("migrating");
    await expectUsed(setting, after);
  });

  test("back from another host: this one counts the instance again", async () => {
    const setting = await twoNodes();
    const { instance, migration } = await resized(setting, { from: N1, to: N0, at: N0 });
    const { oldFlavor } = instance;
    const back = { flavor: oldFlavor ?? instance.flavor, vmState: "active", oldFlavor: null, newFlavor: null } as const;
    await setting.agent.tracker.saveMove({
      instance,
      changes: { ...arrive(setting, instance, N1), ...back, taskState: null },
      migration,
      migrationChanges: { status: "reverted" },
    });
    expect(running(setting, "n1")).toBe(1);
    await expectUsed(setting, [1, 0]);
  });

  test.each(["error", "completed"] as const)("a migration that ends in %s counts nowhere any more", async (status) => {
    const setting = await twoNodes();
    const { instance, migration } = await resized(setting, { from: N0, to: N2, at: N0 });
    expect(used(setting)).toEqual([0, 3]);
    // In error it counts as long as the instance has the move's task_state (spec 4.5).
    const changes = status === "error" ? ({ taskState: null } as const) : {};
    await setting.agent.tracker.saveMove({ instance, changes, migration, migrationChanges: { status } });
    await expectUsed(setting, [0, 0]);
  });

  test("an instance that is in no move's state any more is not counted for one", async () => {
    const setting = await twoNodes();
    const { instance, migration } = await resized(setting, { from: N0, to: N2, at: N0 });
    await setting.agent.tracker.saveMove({ instance, changes: { taskState: null }, migration });
    expect(used(setting)).toEqual([0, 0]);
  });

  test("a row on another host by now, or in another task: nothing is written", async () => {
    const setting = await twoNodes();
    const { instance, migration } = await resized(setting, { from: N1, to: N0, at: N1 });
    const write = { instance, changes: { displayName: "renamed" }, migration };
    const { saveMove } = setting.agent.tracker;
    await expect(saveMove({ ...write, expectedHost: "h0" })).rejects.toMatchObject({ name: "ObjectActionError" });
    const otherTask = saveMove({ ...write, expectedTaskState: ["resize_finish"] });
    await expect(otherTask).rejects.toMatchObject({ name: "UnexpectedTaskState" });
    expect(setting.world.stored(instance.uuid).displayName).not.toBe("renamed");
    await saveMove({ ...write, expectedHost: "h1", expectedTaskState: [null, "resize_migrating"] });
    expect(setting.world.stored(instance.uuid).displayName).toBe("renamed");
  });

  test("the items that the claim took stay taken while the move goes on, and are free when it has failed", async () => {
    const setting = await twoNodes();
    const { world, agent } = setting;
    const item = await addItem(setting);
    const { vm, migration: created } = await resize(setting);
    const claim = await agent.tracker.resizeClaim(vm, "n2", created, world.flavor(), item);
    const { instance } = claim;
    const migration = claim.migration ?? created;
    const changes = { taskState: "resize_migrating" } as const;
    const moved = await agent.tracker.saveMove({ instance, changes, migration });
    await expect(agent.tracker.instanceClaim(world.instance(), "n2", item)).rejects.toThrow("0 of 1 CUSTOM_ITEM free");
    await agent.tracker.saveMove({ ...moved, changes: { taskState: null }, migrationChanges: { status: "error" } });
    await agent.tracker.instanceClaim(world.instance(), "n2", item);
  });
});
