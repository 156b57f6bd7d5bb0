import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { LiveMigrationOptions } from "../../../../../src/virt/move-methods.js";
import { type FlowStage, REQUEST, VM } from "../../support/flow-stage.js";
import { BACK, MESSAGE, migrateLive, moves, OPTIONS, READY, recovers, stagedLive } from "../../support/staged-live.js";
import { ALLOCATIONS_RESTORED } from "../../support/staged-move.js";

const status = (to: string, ...from: string[]) => [
  "migration_save",
  { id: 7, changes: { status: to }, expectedStatus: from },
];
const since = (stage: FlowStage, call: string) => stage.did.slice(stage.calls.lastIndexOf(call) + 1);
const CLEAN = (destroyDisks: boolean) => [
  "call rollback_live_migration_at_destination",
  "there",
  { ...MESSAGE, destroyDisks, data: READY },
  { requestId: REQUEST, timeout: 630_000 },
];
const ends = (to: string, changes: object = {}) => [
  "save_together",
  {
    instance: { uuid: "vm", changes: { taskState: null, ...changes }, expectedTaskState: ["migrating"] },
    migration: { id: 7, changes: { status: to } },
  },
];
const FAULT = (message: unknown) => ["instance_add_fault", expect.objectContaining({ message })];

describe("6.5 rows 5 to 9, on the source", () => {
  test("in its turn it prepares the destination, copies, hands over, cleans up, and is completed", async () => {
    const stage = stagedLive();
    expect(await migrateLive(stage)).toBeNull();
    const gone = VM({ host: "there", node: "far", taskState: null });
    expect(stage.did).toEqual([
      status("queued", "accepted"),
      status("preparing", "queued"),
      [
        "call pre_live_migration",
        "there",
        {
          ...MESSAGE,
          blockMigration: true,
          data: { blockMigration: true, sharedInstanceFiles: false, destinationHost: "there" },
        },
        { requestId: REQUEST, timeout: 1_800_000 },
      ],
      status("running", "preparing"),
      [
        "driver.liveMigration",
        VM(),
        "there",
        {
          blockMigration: true,
          data: READY,
          onProgress: expect.any(Function),
          postMethod: expect.any(Function),
          recoverMethod: expect.any(Function),
        },
      ],
      ["driver.postLiveMigration", VM(), OPTIONS],
      ["driver.postLiveMigrationAtSource", VM(), OPTIONS],
      ["call post_live_migration_at_destination", "there", MESSAGE, { requestId: REQUEST, timeout: 330_000 }],
      ["driver.cleanup", gone, { network: [], blockDevices: OPTIONS.blockDevices, destroyDisks: true }],
      ["tracker.updateUsage", VM({ host: "there", node: "far", taskState: null }), "node"],
      ["placement.deleteAllocation", "move", { requestId: REQUEST, force: false }],
      ["migration_save", { id: 7, changes: { status: "completed" } }],
    ]);
    expect(stage.events).toEqual(["compute_live_migration", "Success"]);
    expect(stage.steps).toEqual([
      "live_migration.mark_preparing",
      "live_migration.prepare_destination",
      "live_migration.mark_running",
      "live_migration.copy",
      "post_live_migration.let_go",
      "post_live_migration.unplug",
      "post_live_migration.finish_destination",
      "post_live_migration.clean_source",
      "post_live_migration.recount",
      "post_live_migration.release_allocations",
      "post_live_migration.record_completed",
    ]);
    expect(stage.operations.outgoing.size).toBe(0);
  });

  test.each([
    [true, true],
    [false, false],
    [null, true],
  ])("the request's wish of a block migration (%s) is worth more than the checks'", async (blockMigration, copied) => {
    const stage = stagedLive();
    stage.replies["call pre_live_migration"] = (_: string, { data }: { data: object }) => data;
    stage.replies["driver.liveMigration"] = (_: unknown, _dest: string, options: LiveMigrationOptions) =>
      moves(options);
    await stage.run("live_migration", { dest: "there", blockMigration, data: { blockMigration: true } });
    expect(stage.argumentsOf("driver.liveMigration")[0]?.[2]).toMatchObject({
      blockMigration: copied,
      data: { sharedInstanceFiles: true },
    });
  });

  test("what the driver throws after it has said that the guest moved is of no matter", async () => {
    const stage = stagedLive();
    stage.replies["driver.liveMigration"] = async (_: unknown, _dest: string, options: LiveMigrationOptions) => {
      await moves(options);
      return new Error("late");
    };
    expect(await stage.failure("live_migration", { dest: "there", blockMigration: null, data: {} })).toBeNull();
    expect(stage.migration?.status).toBe("completed");
  });

  test("files that both hosts see stay", async () => {
    const stage = stagedLive();
    stage.replies["call pre_live_migration"] = { ...READY, sharedInstanceFiles: true };
    await migrateLive(stage);
    expect(stage.argumentsOf("driver.cleanup")[0]?.[1]).toMatchObject({ destroyDisks: false });
  });

  test("is not begun when its status is another by now", async () => {
    const stage = stagedLive();
    stage.replies.migration_save = new ConductorError("InvalidMigrationState", "gone on");
    expect(await migrateLive(stage)).toMatchObject({ code: "InvalidMigrationState" });
    expect(stage.calls).toEqual(["migration_save", "instance_add_fault"]);
  });

  test.each([
    [
      "another request's: what it holds comes back",
      { taskRequestId: "req-theirs" },
      {},
      [...ALLOCATIONS_RESTORED, "migration_save"],
    ],
    ["ended: nothing is done", {}, { status: "error" } as const, []],
  ])("the message of one that is %s", async (_, instance, migration, calls) => {
    const stage = stagedLive({ instance, migration });
    expect(await migrateLive(stage)).toMatchObject({ code: "UnexpectedTaskState" });
    expect(stage.calls).toEqual([...calls, "instance_add_fault"]);
    for (const [, , options] of stage.argumentsOf("placement.moveAllocations")) {
      expect(options).toMatchObject({ requestId: REQUEST });
    }
    expect(stage.argumentsOf("migration_save")).toEqual(
      calls.length > 0 ? [[{ id: 7, changes: { status: "error" }, expectedStatus: ["accepted"] }]] : [],
    );
    expect(stage.events).toEqual(["compute_live_migration", "Error"]);
  });

  test("the message of one that never was gives nothing back", async () => {
    const stage = stagedLive();
    stage.instance = null;
    expect(await migrateLive(stage)).toMatchObject({ code: "InstanceNotFound" });
    expect(stage.calls).toEqual([]);
  });

  test("a second message for it is refused while it is under way", async () => {
    const stage = stagedLive();
    let second: unknown = null;
    await migrateLive(stage, async (options) => {
      second = await stage.failure("live_migration", { dest: "there", blockMigration: null, data: {} });
      await moves(options);
    });
    expect(second).toMatchObject({ code: "InvalidMigrationState" });
    expect(stage.migration?.status).toBe("completed");
  });
});

describe("6.5 rows 6 and 7, an end without the guest's leaving", () => {
  test("before the destination was asked it has nothing to clean", async () => {
    const stage = stagedLive();
    let times = 0;
    stage.replies.migration_save = () => (times++ === 1 ? new Error("broken") : undefined);
    expect(await migrateLive(stage)).toMatchObject({ message: "broken" });
    expect(stage.calls.slice(2)).toEqual([...BACK, "save_together", "instance_add_fault"]);
  });

  test.each([
    ["its records", new ConductorError("ConductorUnreachable", "away"), "ConductorUnreachable"],
    ["its status", new ConductorError("InvalidMigrationState", "gone on"), "InvalidMigrationState"],
  ])("%s may be somebody else's by now: left as it is", async (_, error, name) => {
    const stage = stagedLive();
    let times = 0;
    stage.replies.migration_save = () => (times++ === 1 ? error : undefined);
    expect(await migrateLive(stage)).toMatchObject({ name });
    expect(stage.calls.slice(2)).toEqual(["instance_add_fault"]);
  });

  test("a driver that cannot take it back is no reason to leave the rest", async () => {
    const stage = stagedLive();
    stage.replies["driver.rollbackLiveMigrationAtSource"] = new Error("busy");
    await migrateLive(stage, recovers("failed"));
    expect(since(stage, BACK[2])).toEqual([CLEAN(true), ends("failed")]);
  });

  test("a destination that is away gets the clean-up as a message; one that refuses does not", async () => {
    const away = stagedLive();
    away.replies["call rollback_live_migration_at_destination"] = new ConductorError("MessagingTimeout", "away");
    await migrateLive(away, recovers("failed"));
    const message = { ...MESSAGE, destroyDisks: true, data: READY };
    expect(since(away, CLEAN(true)[0] as string)).toEqual([
      ["cast rollback_live_migration_at_destination", "there", message],
      ends("failed"),
    ]);
    const rejecting = stagedLive();
    rejecting.replies["call rollback_live_migration_at_destination"] = new ConductorError("ObjectActionError", "no");
    await migrateLive(rejecting, recovers("failed"));
    expect(since(rejecting, CLEAN(true)[0] as string)).toEqual([ends("failed")]);
  });

  test("the own conductor's silence there leaves it to recovery", async () => {
    const stage = stagedLive();
    stage.replies["call rollback_live_migration_at_destination"] = new ConductorError("ConductorUnreachable", "away");
    expect(await migrateLive(stage, recovers("failed"))).toMatchObject({ code: "ConductorUnreachable" });
    expect(stage.calls).not.toContain("save_together");
  });

  test.each([new ConductorError("UnexpectedTaskState", "deleting"), new ConductorError("InstanceNotFound", "gone")])(
    "%o: the migration ends alone",
    async (error) => {
      const stage = stagedLive();
      stage.replies.save_together = error;
      expect(await migrateLive(stage, recovers("failed"))).toBeNull();
      expect(stage.did.at(-1)).toEqual(["migration_save", { id: 7, changes: { status: "failed" } }]);
    },
  );

  test("another error of that write is one", async () => {
    const stage = stagedLive();
    stage.replies.save_together = new Error("broken");
    expect(await migrateLive(stage, recovers("failed"))).toMatchObject({ message: "broken" });
    expect(stage.migration?.status).toBe("running");
  });
});

describe("6.5 the outcome of the copy is unknown", () => {
  const breaks = () => new Error("qemu died");
  test("one that neither has is lost: the instance is in error here", async () => {
    const stage = stagedLive();
    stage.replies["driver.powerState"] = 0;
    stage.replies["call post_live_migration_at_destination"] = new ConductorError("ObjectActionError", "x", {
      reason: "no guest",
    });
    await migrateLive(stage, breaks);
    expect(since(stage, "call post_live_migration_at_destination")).toEqual([
      ...BACK.map((call) => expect.arrayContaining([call])),
      CLEAN(true),
      ends("error", { vmState: "error" }),
      FAULT("Error"),
    ]);
  });

  test.each([
    new ConductorError("MessagingTimeout", "away"),
    new ConductorError("ObjectActionError", "x", { reason: "another" }),
  ])("a destination that does not say (%o): nothing is decided, recovery asks again", async (error) => {
    const stage = stagedLive();
    stage.replies["driver.powerState"] = 0;
    stage.replies["call post_live_migration_at_destination"] = error;
    expect(await migrateLive(stage, breaks)).toMatchObject({ name: "DestinationFailed" });
    expect(stage.argumentsOf("call post_live_migration_at_destination")).toHaveLength(1);
    expect(since(stage, "call post_live_migration_at_destination").map(([call]) => call)).toEqual([
      "instance_add_fault",
    ]);
    expect(stage.migration?.status).toBe("running");
  });
});

describe("6.5 the instance is gone meanwhile", () => {
  test("what the destination has, the allocations, and the migration go", async () => {
    const stage = stagedLive();
    stage.replies["placement.moveAllocations"] = new ConductorError("InstanceNotFound", "gone");
    expect(await migrateLive(stage, recovers("failed"))).toBeNull();
    expect(since(stage, "placement.moveAllocations")).toEqual([
      CLEAN(true),
      ["placement.deleteAllocation", "move", { requestId: REQUEST, force: false }],
      ["migration_save", { id: 7, changes: { status: "error" } }],
    ]);
  });

  test("one whose destination was never asked has nothing there", async () => {
    const stage = stagedLive();
    let times = 0;
    stage.replies.migration_save = () => (times++ === 1 ? new Error("broken") : undefined);
    stage.replies["placement.moveAllocations"] = new ConductorError("InstanceNotFound", "gone");
    await migrateLive(stage);
    expect(since(stage, "placement.moveAllocations").map(([call]) => call)).toEqual([
      "placement.deleteAllocation",
      "migration_save",
      "instance_add_fault",
    ]);
  });
});
