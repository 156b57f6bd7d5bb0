import { describe, expect, test } from "vitest";
import { type FlowStage, VM } from "../../support/flow-stage.js";
import { migrateLive, moves, READY, recovers, stagedLive } from "../../support/staged-live.js";
import { TO_HERE } from "../../support/staged-move.js";

describe('6.5 "Abort"', () => {
  const abort = (stage: FlowStage) => stage.failure("live_migration_abort", {});

  test.each([
    ["before it prepares", "migration_save", 2],
    ["while the destination prepares", "call pre_live_migration", 1],
    ["before it runs", "migration_save", 3],
  ])("%s: it is taken back at the next step, and that is no error", async (_, call, time) => {
    const stage = stagedLive();
    const reply = stage.replies[call];
    let times = 0;
    stage.replies[call] = async () => {
      times += 1;
      if (times === time) {
        expect(await abort(stage)).toBeNull();
      }
      return reply;
    };
    expect(await migrateLive(stage)).toBeNull();
    expect(stage.calls).not.toContain("driver.liveMigration");
    expect(stage.calls).not.toContain("driver.liveMigrationAbort");
    expect(stage.migration?.status).toBe("cancelled");
    expect(stage.faults).toEqual([]);
  });

  test("while it runs the driver is asked to stop, and says how it ended", async () => {
    const stage = stagedLive();
    await migrateLive(stage, async (options) => {
      expect(await abort(stage)).toBeNull();
      await recovers("cancelled")(options);
    });
    expect(stage.argumentsOf("driver.liveMigrationAbort")).toEqual([[VM()]]);
    expect(stage.steps.slice(4, 6)).toEqual(["live_migration_abort.check_state", "live_migration_abort.stop"]);
    expect(stage.migration?.status).toBe("cancelled");
    expect(stage.argumentsOf("instance_action_event_start").map(([params]) => params)).toContainEqual(
      expect.objectContaining({ event: "compute_live_migration_abort" }),
    );
  });

  test("asked for before the driver had begun, it is asked again at the first progress, once", async () => {
    const stage = stagedLive();
    const news = {
      memoryTotal: 1,
      memoryProcessed: 1,
      memoryRemaining: 0,
      diskTotal: 0,
      diskProcessed: 0,
      diskRemaining: 0,
    };
    await migrateLive(stage, async (options) => {
      options.onProgress(news);
      expect(stage.calls).not.toContain("driver.liveMigrationAbort");
      stage.operations.outgoing.find(7)?.abort();
      options.onProgress(news);
      options.onProgress(news);
      await recovers("cancelled")(options);
    });
    expect(stage.argumentsOf("driver.liveMigrationAbort")).toEqual([[VM()]]);
    expect(stage.did).toContainEqual([
      "save_together",
      expect.objectContaining({ migration: { id: 7, changes: { ...news, status: "cancelled" } } }),
    ]);
  });

  test.each([
    [
      "one that this process does not work on",
      "running",
      "live migration 7 is running, and not under way on this host",
    ],
    ["one that has ended", "completed", "live migration 7 is completed"],
  ] as const)("%s is refused, with a fault", async (_, at, text) => {
    const stage = stagedLive({ migration: { status: at } });
    expect(await abort(stage)).toMatchObject({ name: "InvalidMigrationState", message: expect.stringContaining(text) });
    expect(stage.faults).toEqual([expect.stringContaining(text)]);
    expect(stage.events).toEqual(["compute_live_migration_abort", "Error"]);
  });

  test.each(["running (post-copy)", "error"] as const)("one under way whose status is %s is refused", async (at) => {
    const stage = stagedLive();
    await migrateLive(stage, async (options) => {
      stage.migration = stage.migration && { ...stage.migration, status: at };
      expect(await abort(stage)).toMatchObject({ name: "InvalidMigrationState" });
      await moves(options);
    });
    expect(stage.calls).not.toContain("driver.liveMigrationAbort");
  });

  test("one that the driver is through with is refused", async () => {
    const stage = stagedLive();
    let rejection: unknown = null;
    stage.replies["driver.postLiveMigration"] = async () => {
      rejection = await abort(stage);
    };
    await migrateLive(stage);
    expect(rejection).toMatchObject({ name: "InvalidMigrationState" });
  });

  test("one of which this host is not the source is refused", async () => {
    const stage = stagedLive({ migration: { ...TO_HERE, status: "running" } });
    expect(await abort(stage)).toMatchObject({ name: "UnexpectedTaskState" });
  });

  test("an instance that is gone by then is not known", async () => {
    const stage = stagedLive();
    let callCount = 0;
    stage.replies.instance_get = () => (callCount++ === 1 ? null : undefined);
    let rejection: unknown = null;
    await migrateLive(stage, async (options) => {
      rejection = await abort(stage);
      await recovers("cancelled")(options);
    });
    expect(rejection).toMatchObject({ code: "InstanceNotFound" });
  });
});

describe('6.5 "Force-complete"', () => {
  const force = (stage: FlowStage) => stage.failure("live_migration_force_complete", {});

  test("the driver of a running migration is called", async () => {
    const stage = stagedLive();
    await migrateLive(stage, async (options) => {
      expect(await force(stage)).toBeNull();
      await moves(options);
    });
    expect(stage.argumentsOf("driver.liveMigrationForceComplete")).toEqual([[VM()]]);
    const steps = ["live_migration_force_complete.check_state", "live_migration_force_complete.force"];
    expect(stage.steps.slice(4, 6)).toEqual(steps);
  });

  test.each(["running", "preparing"] as const)("one that is %s, and not under way here, is refused", async (at) => {
    const stage = stagedLive({ migration: { status: at } });
    expect(await force(stage)).toMatchObject({ name: "InvalidMigrationState" });
    expect(stage.calls).toEqual(["instance_add_fault"]);
    expect(stage.events).toEqual(["compute_live_migration_force_complete", "Error"]);
  });

  test("one whose status is another is refused", async () => {
    const stage = stagedLive();
    await migrateLive(stage, async (options) => {
      stage.migration = stage.migration && { ...stage.migration, status: "running (post-copy)" };
      expect(await force(stage)).toMatchObject({ name: "InvalidMigrationState" });
      await moves(options);
    });
    expect(stage.calls).not.toContain("driver.liveMigrationForceComplete");
  });

  test("one that the driver does not run yet is refused", async () => {
    const stage = stagedLive({ migration: { status: "accepted" } });
    let rejection: unknown = null;
    stage.replies["call pre_live_migration"] = async () => {
      stage.migration = stage.migration && { ...stage.migration, status: "running" };
      rejection = await force(stage);
      return READY;
    };
    await migrateLive(stage);
    expect(rejection).toMatchObject({ name: "InvalidMigrationState" });
  });
});
