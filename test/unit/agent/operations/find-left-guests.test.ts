import { describe, expect, test } from "vitest";
import type { Instance, Migration } from "../../../../src/records/index.js";
import { InstanceExists } from "../../../../src/virt/errors.js";
import { FlowStage, VM } from "../support/flow-stage.js";
import { FROM_HERE, TO_HERE } from "../support/staged-move.js";

type Other = Partial<Migration>;

function left(migration: Other, instance: Partial<Instance> = {}, others: readonly Other[] = []) {
  const stage = new FlowStage({
    capabilities: { supportsEvacuate: true },
    instance: { host: "there", node: "far", ...instance },
    migration: { migrationType: "live-migration", ...migration },
    others,
  });
  stage.replies["driver.checkInstanceSharedStorageLocal"] = { token: 1 };
  stage.replies["call check_instance_shared_storage"] = () => false;
  return stage;
}

async function find({ operations, instance }: FlowStage): Promise<void> {
  await operations.findLeftGuests(instance === null ? [] : [instance]);
}

async function removed(stage: FlowStage): Promise<number> {
  await find(stage);
  await stage.operations.removeLeftGuests();
  return stage.argumentsOf("driver.rollbackLiveMigrationAtDestination").length;
}

describe("6.5 OPT what live migrations left here for an agent that has died", () => {
  test.each<[string, Other]>([
    ["came here, and failed", { ...TO_HERE, status: "failed" }],
    ["came here, and was cancelled", { ...TO_HERE, status: "cancelled" }],
    ["went from here", { ...FROM_HERE, status: "completed" }],
  ])("of one that %s it is removed, with the disks that only this host sees", async (_, migration) => {
    const stage = left(migration);
    expect(await removed(stage)).toBe(1);
    const options = expect.objectContaining({ destroyDisks: true });
    expect(stage.argumentsOf("driver.rollbackLiveMigrationAtDestination")).toEqual([[VM(), options]]);
    await stage.operations.removeLeftGuests();
    expect(stage.argumentsOf("driver.rollbackLiveMigrationAtDestination"), "once").toHaveLength(1);
  });

  test("disks that the other host sees, too, stay", async () => {
    const stage = left({ ...TO_HERE, status: "failed" });
    stage.replies["call check_instance_shared_storage"] = () => true;
    await removed(stage);
    const options = expect.objectContaining({ destroyDisks: false });
    expect(stage.argumentsOf("driver.rollbackLiveMigrationAtDestination")).toEqual([[VM(), options]]);
  });

  test.each<[string, Other, Partial<Instance>, readonly Other[]]>([
    ["is here", { ...TO_HERE, status: "failed" }, { host: "here" }, []],
    ["is deleted", { ...TO_HERE, status: "failed" }, { deleted: 1 }, []],
    ["moves still", { ...TO_HERE, status: "running" }, {}, []],
    ["was evacuated", { ...FROM_HERE, migrationType: "evacuation", status: "done" }, {}, []],
    [
      "has gone in another way since",
      { ...TO_HERE, status: "failed" },
      {},
      [{ ...FROM_HERE, migrationType: "migration", status: "confirmed" }],
    ],
    [
      "comes again",
      { ...TO_HERE, status: "failed" },
      {},
      [{ ...TO_HERE, migrationType: "live-migration", status: "preparing" }],
    ],
  ])("that of an instance that %s is left alone", async (_, migration, instance, others) => {
    expect(await removed(left(migration, instance, others))).toBe(0);
  });

  test("a driver that migrates nothing live has left nothing", async () => {
    const stage = new FlowStage({ lacks: ["rollbackLiveMigrationAtDestination"] });
    await find(stage);
    expect(stage.lines).toEqual([]);
  });

  test("one that comes back before its turn keeps its guest", async () => {
    const stage = left({ ...FROM_HERE, status: "completed" });
    await find(stage);
    stage.instance = stage.instance && { ...stage.instance, host: "here" };
    await stage.operations.removeLeftGuests();
    expect(stage.argumentsOf("driver.rollbackLiveMigrationAtDestination")).toEqual([]);
  });

  test("a guest that runs is left alone; what a driver fails at is tried again", async () => {
    const running = left({ ...TO_HERE, status: "failed" });
    running.replies["driver.rollbackLiveMigrationAtDestination"] = new InstanceExists("it runs");
    expect(await removed(running)).toBe(1);
    await running.operations.removeLeftGuests();
    expect(running.argumentsOf("driver.rollbackLiveMigrationAtDestination")).toHaveLength(1);
    const broken = left({ ...TO_HERE, status: "failed" });
    broken.replies["driver.rollbackLiveMigrationAtDestination"] = new Error("broken");
    expect(await removed(broken)).toBe(1);
    await broken.operations.removeLeftGuests();
    expect(broken.argumentsOf("driver.rollbackLiveMigrationAtDestination")).toHaveLength(2);
  });
});

describe("6.7 OPT the guest that an evacuation left here which its source has ended, and whose agent here has died", () => {
  const lost: Other = { ...TO_HERE, migrationType: "evacuation", status: "completed" };

  async function destroyed(stage: FlowStage): Promise<readonly (readonly unknown[])[]> {
    stage.replies["driver.instanceExists"] ??= true;
    await find(stage);
    await stage.operations.removeLeftGuests();
    return stage.argumentsOf("driver.destroy");
  }

  test.each([true, false])("goes; its disks only where the other host does not see them (%s)", async (isShared) => {
    const stage = left(lost);
    stage.replies["call check_instance_shared_storage"] = () => isShared;
    expect(await destroyed(stage)).toEqual([[VM(), expect.objectContaining({ destroyDisks: !isShared })]]);
  });

  test("goes before the next evacuation to here makes its guest", async () => {
    const stage = left(lost, {}, [{ ...lost, id: 8, status: "accepted" }]);
    expect(await destroyed(stage)).toHaveLength(1);
  });

  test.each<[string, Other, Partial<Instance>, readonly Other[]]>([
    ["the instance is here", lost, { host: "here" }, []],
    ["the instance is deleted", lost, { deleted: 1 }, []],
    ["it ended here by itself", { ...lost, status: "failed" }, {}, []],
    ["the instance went from here since", lost, {}, [{ ...FROM_HERE, id: 8, status: "completed" }]],
    [
      "a live migration came here since",
      lost,
      {},
      [{ ...TO_HERE, id: 8, migrationType: "live-migration", status: "error" }],
    ],
    ["another move is bringing it", lost, {}, [{ ...TO_HERE, id: 8, migrationType: "resize", status: "migrating" }]],
  ])("stays: %s", async (_, migration, instance, others) => {
    expect(await destroyed(left(migration, instance, others))).toEqual([]);
  });

  test("is not there any more", async () => {
    const stage = left(lost);
    stage.replies["driver.instanceExists"] = false;
    expect(await destroyed(stage)).toEqual([]);
  });
});
