import { describe, expect, test } from "vitest";
import type { Migration } from "../../../../../src/records/index.js";
import { type FlowStage, NOW, type StageOptions } from "../../support/flow-stage.js";
import { FROM_HERE, stagedResize, TO_HERE } from "../../support/staged-move.js";

const recover = (stage: FlowStage, confirmed = false) => stage.operations.recoverColdMoves({ before: NOW, confirmed });

describe("2.6 OPT a confirmation that died between its last two writes", () => {
  const confirmed = (
    instance: StageOptions["instance"] = {},
    rest: Omit<StageOptions, "migration" | "instance"> = {},
  ) => stagedResize({ ...FROM_HERE, status: "confirmed" }, { taskState: null, ...instance }, rest);
  const LOOK = "placement.getAllocationsForProvider";
  const done = (stage: FlowStage) => stage.calls.filter((call) => call !== LOOK);

  test("drops the half and forgets the flavors, when it is asked for", async () => {
    const stage = confirmed();
    await recover(stage);
    expect(stage.calls).toEqual([]);
    await recover(stage, true);
    expect(stage.calls).toEqual([LOOK, "placement.deleteAllocation", "tracker.saveMove"]);
    expect(stage.instance).toMatchObject({ oldFlavor: null, newFlavor: null });
    expect(stage.argumentsOf("instances_by_filters").at(-1)).toEqual([{ filters: { uuids: ["vm"], deleted: false } }]);
  });

  test.each([
    ["has no flavors of a move", { oldFlavor: null, newFlavor: null }, {}, 0],
    ["notes its old flavor only", { newFlavor: null }, {}, 2],
    ["notes its new flavor only", { oldFlavor: null }, {}, 2],
    ["moves again", {}, { others: [{ id: 9, migrationType: "resize", status: "finished", ...TO_HERE }] } as const, 0],
    ["is in some task", { taskState: "rebooting" }, {}, 2],
  ])("of an instance that %s: %j", async (_, instance, rest, calls) => {
    const stage = confirmed(instance as never, rest);
    await recover(stage, true);
    expect(done(stage)).toHaveLength(calls);
    expect(stage.logged("continuing an interrupted move")).toBe(calls === 0 ? 0 : 1);
  });

  describe("whose instance moves again, from where it was brought", () => {
    const GONE_ON = {
      id: 9,
      migrationType: "resize",
      status: "finished",
      sourceCompute: "there",
      destCompute: "far",
    } as const;
    const superseded = (holder: string, other: Partial<Migration> = {}, instance: StageOptions["instance"] = {}) => {
      const stage = confirmed({ host: "there", ...instance }, { others: [{ ...GONE_ON, ...other }] });
      stage.replies[LOOK] = { consumers: new Map([[holder, { VCPU: 1 }]]) };
      return stage;
    };

    test("drops what the migration holds here, and leaves the flavors to the later move", async () => {
      const stage = superseded("move");
      await recover(stage, true);
      expect(done(stage)).toEqual(["placement.deleteAllocation"]);
    });

    test("looks at what a doubled record holds, where the migration holds nothing", async () => {
      const stage = superseded("vm");
      stage.replies["placement.deleteAllocation"] = false;
      await recover(stage, true);
      expect(done(stage).slice(0, 2)).toEqual(["placement.deleteAllocation", "placement.getAllocationsForConsumer"]);
      expect(done(stage)).not.toContain("tracker.saveMove");
    });

    test.each([
      ["nothing here", "nobody", {}, {}],
      ["what a later move has brought back", "vm", { destCompute: "here" }, {}],
      ["what a later move that has come back has set aside", "vm", { sourceCompute: "here" }, {}],
      ["what a later move may yet bring back", "vm", { destCompute: null, status: "pre-migrating" }, {}],
      ["what it needs here", "vm", {}, { host: "here" }],
      ["what an unshelve may have claimed", "vm", {}, { host: null }],
    ] as const)("and holds %s: left", async (_, holder, other, instance) => {
      const stage = superseded(holder, other, instance);
      await recover(stage, true);
      expect(done(stage)).toEqual([]);
    });

    test("and Placement cannot say who holds something here: left", async () => {
      const stage = superseded("vm");
      stage.replies[LOOK] = new Error("Placement");
      await recover(stage, true);
      expect(done(stage)).toEqual([]);
    });
  });

  test("the flavors went while recovery waited for its turn: nothing is done", async () => {
    const stage = confirmed();
    let recovering: Promise<void> | undefined;
    await stage.operations.exclusively("vm", async () => {
      recovering = recover(stage, true);
      await new Promise((resolve) => setImmediate(resolve));
      stage.instance = stage.instance && { ...stage.instance, oldFlavor: null, newFlavor: null };
    });
    await recovering;
    expect(done(stage)).toEqual([]);
  });
});
