import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { type FlowStage, MOVE, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";
import { MESSAGE, migrateLive, stagedLive, takenOver } from "../../support/staged-live.js";

const POST = "call post_live_migration_at_destination";
const since = (stage: FlowStage, call: string) => stage.did.slice(stage.calls.lastIndexOf(call) + 1);
const CLEANUP = "driver.cleanup";
const RECOUNT = "tracker.updateUsage";
const RELEASE = ["placement.deleteAllocation", "move", { requestId: REQUEST, force: false }];
const FAULT = ["instance_add_fault", expect.objectContaining({ code: 500 })];
const error = (name: string) => ({ name });

/** Creates a migration whose destination replies to the post step with `reply`. */
function failing(reply: unknown, options: StageOptions = {}): FlowStage {
  const stage = stagedLive(options);
  stage.replies[POST] = reply;
  return stage;
}

describe("6.5 row 8, the source releases the guest", () => {
  test.each(["driver.postLiveMigration", "driver.postLiveMigrationAtSource", CLEANUP, RECOUNT])(
    "%s fails: the guest is gone all the same, and the move is completed",
    async (call) => {
      const stage = stagedLive();
      stage.replies[call] = new Error("busy");
      expect(await migrateLive(stage)).toBeNull();
      expect(stage.calls.slice(5)).toEqual([
        "driver.postLiveMigration",
        "driver.postLiveMigrationAtSource",
        POST,
        CLEANUP,
        RECOUNT,
        "placement.deleteAllocation",
        "migration_save",
      ]);
      expect(stage.logged("could not")).toBe(1);
    },
  );

  test("a migration that notes no node has none to count", async () => {
    const stage = stagedLive({ migration: { sourceNode: null } });
    await migrateLive(stage);
    expect(stage.argumentsOf(RECOUNT)).toEqual([[VM({ host: "there", node: "far", taskState: null }), ""]]);
  });
});

describe("6.5 row 8, the destination does not answer", () => {
  test("it is asked again while an answer may come back, and then the source writes what it should have", async () => {
    const stage = failing(new ConductorError("MessagingTimeout", "away"));
    expect(await migrateLive(stage)).toMatchObject(error("DestinationFailed"));
    expect(stage.argumentsOf(POST)).toHaveLength(66);
    expect(stage.passed).toBe(325_000);
    expect(since(stage, POST)).toEqual([
      [
        "tracker.saveMove",
        {
          instance: VM(),
          migration: MOVE({ status: "running" }),
          migrationChanges: { status: "error" },
          expectedHost: "here",
          changes: { host: "there", node: "far", computeId: 9, vmState: "error", taskState: null },
          expectedTaskState: ["migrating"],
        },
      ],
      FAULT,
    ]);
    expect(stage.events).toEqual(["compute_live_migration", "Error"]);
  });

  test("one that comes back in time has the guest", async () => {
    let times = 0;
    const stage: FlowStage = failing(() =>
      times++ < 2 ? new ConductorError("MessagingTimeout", "away") : takenOver(stage),
    );
    expect(await migrateLive(stage)).toBeNull();
    expect(stage.passed).toBe(10_000);
    expect(stage.migration?.status).toBe("completed");
  });

  test("one that refuses is asked once", async () => {
    const stage = failing(new ConductorError("ObjectActionError", "no"));
    expect(await migrateLive(stage)).toMatchObject(error("DestinationFailed"));
    expect(stage.argumentsOf(POST)).toHaveLength(1);
    expect(stage.instance).toMatchObject({ host: "there", vmState: "error" });
  });

  test("the own conductor's silence is no answer of its", async () => {
    const stage = failing(new ConductorError("ConductorUnreachable", "away"));
    expect(await migrateLive(stage)).toMatchObject({ code: "ConductorUnreachable" });
    expect(since(stage, POST)).toEqual([FAULT]);
  });
  test("the instance was deleted: the migration is abandoned", async () => {
    const stage: FlowStage = failing(() => {
      stage.instance = stage.instance && { ...stage.instance, deleted: 1 };
      return new ConductorError("ObjectActionError", "gone");
    });
    expect(await migrateLive(stage)).toBeNull();
    expect(since(stage, POST)).toEqual([
      [
        "call rollback_live_migration_at_destination",
        "there",
        expect.objectContaining({ destroyDisks: true }),
        expect.anything(),
      ],
      RELEASE,
      ["placement.deleteAllocation", "vm", { requestId: REQUEST, force: true }],
      ["migration_save", { id: 7, changes: { status: "error" } }],
    ]);
  });

  test.each<[string, StageOptions["others"], boolean]>([
    ["an evacuation after it", [{ id: 8, migrationType: "evacuation", sourceCompute: "here" }], true],
    ["a later move from elsewhere", [{ id: 8, migrationType: "live-migration", sourceCompute: "there" }], true],
    ["a later move from here", [{ id: 8, migrationType: "live-migration", sourceCompute: "here" }], false],
    ["an earlier evacuation", [{ id: 6, migrationType: "evacuation", sourceCompute: "here" }], false],
    ["an earlier move from elsewhere", [{ id: 6, migrationType: "resize", sourceCompute: "there" }], false],
  ])("%s: it is over %#", async (_, others, over) => {
    const stage = failing(new ConductorError("ObjectActionError", "no"), { others });
    await migrateLive(stage);
    expect(stage.argumentsOf("migrations_by_filters")[0]).toEqual([{ filters: { instanceUuid: "vm" } }]);
    expect(stage.calls.includes("tracker.saveMove")).toBe(!over);
  });

  test.each([
    [
      new ConductorError("UnexpectedDeletingTaskState", "x", { actual: "deleting" }),
      { host: "there", node: "far", computeId: 9 },
      "deleting",
    ],
    [
      new ConductorError("UnexpectedTaskState", "x", { actual: null }),
      { host: "there", node: "far", computeId: 9, vmState: "error" },
      null,
    ],
  ])("V20 %o: the records follow the guest all the same", async (rejection, changes, task) => {
    const stage = failing(new ConductorError("ObjectActionError", "no"));
    let times = 0;
    stage.replies["tracker.saveMove"] = () => (times++ === 0 ? rejection : undefined);
    await migrateLive(stage);
    expect(stage.argumentsOf("tracker.saveMove")[1]).toEqual([
      {
        instance: VM(),
        migration: MOVE({ status: "running" }),
        migrationChanges: { status: "error" },
        expectedHost: "here",
        changes,
        expectedTaskState: [task],
      },
    ]);
  });

  test("another error of that write is one", async () => {
    const stage = failing(new ConductorError("ObjectActionError", "no"));
    stage.replies["tracker.saveMove"] = new Error("broken");
    expect(await migrateLive(stage)).toMatchObject({ message: "broken" });
    expect(stage.argumentsOf("tracker.saveMove")).toHaveLength(1);
  });
});

describe("6.5 row 8, what is left on the source", () => {
  test.each<[string, StageOptions["others"], boolean]>([
    ["nobody wants it: it goes", [], true],
    ["it is to come back: kept", [{ id: 8, destCompute: "here", status: "migrating" }], false],
    ["it leaves from here again: kept", [{ id: 8, sourceCompute: "here", status: "running" }], false],
    [
      "an evacuation to here has made nothing yet: it goes",
      [{ id: 8, migrationType: "evacuation", destCompute: "here", status: "accepted" }],
      true,
    ],
    [
      "an evacuation to here has begun: kept",
      [{ id: 8, migrationType: "evacuation", destCompute: "here", status: "pre-migrating" }],
      false,
    ],
    [
      "an evacuation from here is accepted: kept",
      [{ id: 8, migrationType: "evacuation", sourceCompute: "here", status: "accepted" }],
      false,
    ],
    [
      "a move to here is accepted: kept",
      [{ id: 8, migrationType: "live-migration", destCompute: "here", status: "accepted" }],
      false,
    ],
    ["a move of others: it goes", [{ id: 8, sourceCompute: "there", destCompute: "third", status: "running" }], true],
  ])("%s", async (_, others, goes) => {
    const stage = stagedLive({ others });
    await migrateLive(stage);
    expect(stage.calls.includes(CLEANUP)).toBe(goes);
    expect(stage.argumentsOf("migrations_by_filters")[0]).toEqual([
      { filters: { instanceUuid: "vm", statuses: expect.not.arrayContaining(["completed"]) } },
    ]);
    expect(stage.migration?.status).toBe("completed");
  });

  test.each([
    ["it is here again: kept", () => ({ host: "here" }), false],
    ["it is deleted: it goes", () => ({ deleted: 1 }), true],
  ])("%s", async (_, changes, goes) => {
    const stage = stagedLive();
    stage.replies[POST] = () => {
      takenOver(stage);
      stage.instance = stage.instance && { ...stage.instance, ...changes() };
      return null;
    };
    await migrateLive(stage);
    expect(stage.calls.includes(CLEANUP)).toBe(goes);
    expect(stage.did).toContainEqual(RELEASE);
  });

  test("waits for an operation on the instance", async () => {
    const stage = stagedLive();
    let moving: Promise<unknown> | undefined;
    await stage.operations.exclusively("vm", async () => {
      moving = migrateLive(stage);
      await new Promise((resolve) => setImmediate(resolve));
      expect(stage.calls).not.toContain(CLEANUP);
    });
    await moving;
    expect(stage.calls).toContain(CLEANUP);
  });
});

describe("6.5 row 9, what the source's half is goes", () => {
  test("the error state cannot be written either: the user still gets the fault", async () => {
    const stage = stagedLive();
    stage.replies["placement.deleteAllocation"] = new Error("Placement");
    stage.replies.save_together = new Error("conductor");
    expect(await migrateLive(stage)).toMatchObject({ message: "Placement" });
  });

  test("a conductor that is silent then: left to recovery", async () => {
    const stage = stagedLive();
    stage.replies["placement.deleteAllocation"] = new ConductorError("ConductorUnreachable", "away");
    expect(await migrateLive(stage)).toMatchObject({ code: "ConductorUnreachable" });
    expect(stage.calls).not.toContain("save_together");
    expect(stage.migration?.status).toBe("running");
  });

  test("doubled: the source's tree of it goes", async () => {
    const stage = stagedLive();
    stage.replies["placement.deleteAllocation"] = false;
    await migrateLive(stage);
    expect(stage.argumentsOf("placement.getAllocationsForConsumer")).toEqual([["vm", { requestId: REQUEST }]]);
  });

  test("of an instance that is here again what the migration holds goes, and what it may need stays", async () => {
    const stage = stagedLive();
    stage.replies[POST] = null;
    stage.replies["placement.deleteAllocation"] = false;
    await migrateLive(stage);
    expect(stage.did).toContainEqual(RELEASE);
    expect(stage.did.filter(([name]) => /^placement\.(remove|put|move)/.test(String(name)))).toEqual([]);
    expect(MESSAGE.migrationId).toBe(7);
  });
});
