import { describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { aMigration } from "../../../fixtures/records.js";
import { TO_HERE } from "../support/staged-move.js";
import { TrackerStage, type TrackerStageOptions } from "../support/tracker-stage.js";

/** Creates a stage without Placement: the updates of providers after a write do not matter here. */
function staged(options: TrackerStageOptions = {}): TrackerStage {
  const stage = new TrackerStage(options);
  stage.replies["placement.getProviderTreeAndEnsureRoot"] = new Error("away");
  stage.replies.save_together = ({ instance }: { instance: { changes: object } }) => ({
    instance: { ...stage.instance, ...instance.changes },
    migration: null,
  });
  return stage;
}
const vm = (stage: TrackerStage) => stage.instance as Instance;
const counted = (stage: TrackerStage) => stage.node().account.hasInstance("vm");
const OWN = { taskState: ["rebuild_spawning"], ofRequest: "req-evacuate" } as const;
const HERE = { host: "here", node: "node", computeId: 5, migrationContext: null };

describe("V20 an instance becomes this host's, and is counted in the same section", () => {
  const THERE = { host: "there", node: "far" } as const;

  test("6.5 row 8 after a live migration: only from its source, and in these tasks", async () => {
    const stage = staged({ instance: THERE });
    const expected = { source: "there", taskState: ["migrating"] } as const;
    const saved = await stage.subject.finishLiveMigration(vm(stage), "node", { powerState: 1 }, expected);
    expect(stage.argumentsOf("save_together")).toEqual([
      [
        {
          instance: {
            uuid: "vm",
            changes: { powerState: 1, ...HERE },
            expectedHost: "there",
            expectedTaskState: ["migrating"],
          },
        },
      ],
    ]);
    expect([saved.host, counted(stage), stage.state.binding.epoch > 0]).toEqual(["here", true, true]);
  });

  test("in any task, where none is named", async () => {
    const stage = staged({ instance: THERE });
    await stage.subject.finishLiveMigration(vm(stage), "node", {}, { source: null });
    expect(stage.argumentsOf("save_together")).toStrictEqual([
      [{ instance: { uuid: "vm", changes: HERE, expectedHost: null } }],
    ]);
  });

  test("V28 after an evacuation, with its status", async () => {
    const stage = staged({ instance: THERE });
    const migration = aMigration({ id: 7, ...TO_HERE });
    stage.node().account.countMigration({ ...migration, instanceUuid: "vm" }, null);
    await stage.subject.finishEvacuation(vm(stage), "node", migration, { taskState: null }, OWN);
    expect(stage.argumentsOf("save_together")).toEqual([
      [
        {
          instance: {
            uuid: "vm",
            changes: { taskState: null, ...HERE },
            expectedTaskState: ["rebuild_spawning"],
            ofRequest: "req-evacuate",
          },
          migration: { id: 7, changes: { status: "done" } },
        },
      ],
    ]);
    expect([counted(stage), stage.node().account.migrations]).toEqual([true, []]);
  });

  test("on a node that is not tracked it has no compute id yet, and counts nowhere", async () => {
    const stage = staged({ instance: THERE });
    await stage.subject.finishEvacuation(vm(stage), "new", aMigration({ id: 7 }), {}, OWN);
    expect(stage.argumentsOf("save_together")[0]?.[0]).toStrictEqual({
      instance: {
        uuid: "vm",
        changes: { ...HERE, node: "new", computeId: null },
        expectedTaskState: ["rebuild_spawning"],
        ofRequest: "req-evacuate",
      },
      migration: { id: 7, changes: { status: "done" } },
    });
    expect(stage.argumentsOf("placement.getProviderTreeAndEnsureRoot")).toEqual([]);
  });
});

describe("V20 an instance that is written is counted anew", () => {
  test("if it still is here, in these tasks", async () => {
    const stage = staged();
    await stage.subject.saveInstance(vm(stage), { vmState: "shelved" }, ["shelving", null]);
    expect(stage.argumentsOf("instance_save")).toStrictEqual([
      [{ uuid: "vm", changes: { vmState: "shelved" }, expectedTaskState: ["shelving", null], expectedHost: "here" }],
    ]);
    expect(counted(stage)).toBe(true);
    await stage.subject.saveInstance(vm(stage), { vmState: "deleted" });
    expect(stage.argumentsOf("instance_save")[1]).toStrictEqual([{ uuid: "vm", changes: { vmState: "deleted" } }]);
    expect(counted(stage)).toBe(false);
  });

  test.each<[string, Partial<Instance>]>([
    ["another host", { host: "there" }],
    ["a node that is not tracked", { node: "new" }],
    ["no node", { node: null }],
  ])("of %s nothing is counted", async (_, instance) => {
    const stage = staged({ instance });
    await stage.subject.saveInstance(vm(stage), {});
    expect(counted(stage)).toBe(false);
    expect(stage.argumentsOf("placement.getProviderTreeAndEnsureRoot")).toEqual([]);
  });

  test("one that leaves counts no more; its migration only while it counts", async () => {
    const stage = staged({ instance: { taskState: "resize_prep" } });
    const migration = aMigration({ id: 7, instanceUuid: "vm", ...TO_HERE });
    await stage.subject.saveInstance(vm(stage), {});
    stage.node().account.countMigration(migration, null);
    await stage.subject.saveInstance(vm(stage), {});
    expect(stage.node().account.migrations).toEqual([migration]);
    await stage.subject.saveInstance(vm(stage), { taskState: null, host: null, node: null });
    expect([counted(stage), stage.node().account.migrations]).toEqual([false, []]);
  });

  test("on request, with the service's status; of a node that is not tracked nothing happens", async () => {
    const stage = staged();
    stage.replies["placement.getProviderTreeAndEnsureRoot"] = new Error("away");
    stage.replies.service_get_by_host = { disabled: true };
    await expect(stage.subject.updateUsage(vm(stage), "node")).rejects.toThrow("away");
    expect([counted(stage), stage.state.binding]).toMatchObject([true, { disabled: true, epoch: 1 }]);
    const other = staged();
    await other.subject.updateUsage(vm(other), "new");
    expect([other.lines, other.state.binding.epoch]).toEqual([[], 0]);
  });
});
