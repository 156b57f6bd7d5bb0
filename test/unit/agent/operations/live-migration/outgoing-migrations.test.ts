import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { NotImplemented } from "../../../../../src/virt/errors.js";
import { type FlowStage, VM } from "../../support/flow-stage.js";
import { BACK, migrateLive, moves, recovers, stagedLive } from "../../support/staged-live.js";

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("8.5 the guest runs on the destination while its memory still comes", () => {
  const say = (stage: FlowStage) => stage.operations.outgoing.postCopyStarted("vm");
  const SAVE = ["migration_save", { id: 7, changes: { status: "running (post-copy)" }, expectedStatus: ["running"] }];

  test("the status says so", async () => {
    const stage = stagedLive();
    await migrateLive(stage, async (options) => {
      await say(stage);
      expect(stage.did.at(-1)).toEqual(SAVE);
      await moves(options);
    });
  });

  test("of no live migration, or one that does not run, nothing is said", async () => {
    const stage = stagedLive();
    await say(stage);
    expect(stage.calls).toEqual([]);
    stage.replies["driver.postLiveMigration"] = () => say(stage);
    await migrateLive(stage);
    expect(stage.did).not.toContainEqual(SAVE);
  });

  test("told twice, or too late, does no harm; another failure is one", async () => {
    const stage = stagedLive();
    await migrateLive(stage, async (options) => {
      stage.replies.migration_save = new ConductorError("InvalidMigrationState", "completed");
      await expect(say(stage)).resolves.toBeUndefined();
      stage.replies.migration_save = new ConductorError("ConductorUnreachable", "away");
      await expect(say(stage)).rejects.toThrow("away");
      stage.replies.migration_save = undefined;
      await moves(options);
    });
  });
});

describe("6.2 a delete stops the live migration of its instance, and waits for its end", () => {
  test.each([
    ["a running one is stopped by its driver", undefined, 1, null],
    ["a driver that cannot lets it go on", new NotImplemented("no"), 1, "info"],
    ["a driver that fails lets it go on, and that is a warning", new Error("busy"), 1, "warn"],
  ])("%s", async (_, reply, callCount, level) => {
    const stage = stagedLive();
    stage.replies["driver.liveMigrationAbort"] = reply;
    let deleting: Promise<unknown> | undefined;
    await migrateLive(stage, async (options) => {
      deleting = stage.failure("terminate_instance", {});
      await settled();
      expect(stage.argumentsOf("driver.liveMigrationAbort")).toEqual(Array(callCount).fill([VM()]));
      expect(stage.calls).not.toContain("driver.destroy");
      expect(stage.operations.outgoing.find(7)?.aborted).toBe(true);
      await recovers("cancelled")(options);
    });
    await deleting;
    expect(stage.calls.indexOf("driver.destroy")).toBeGreaterThan(stage.calls.indexOf(BACK[1]));
    const logs = stage.runtime.logs.filter(({ message }) => message.includes("it runs to its end"));
    expect(logs.map((entry) => entry.level)).toEqual(level === null ? [] : [level]);
  });

  test("one whose row is gone is not stopped, only waited for", async () => {
    const stage = stagedLive();
    let deleting: Promise<unknown> | undefined;
    await migrateLive(stage, async (options) => {
      stage.replies.instance_get = new ConductorError("InstanceNotFound", "gone");
      deleting = stage.failure("terminate_instance", {});
      await settled();
      expect(stage.calls).not.toContain("driver.liveMigrationAbort");
      stage.replies.instance_get = undefined;
      await recovers("cancelled")(options);
    });
    await deleting;
    expect(stage.calls).toContain("driver.destroy");
  });

  test("one that is not running yet is only marked", async () => {
    const stage = stagedLive();
    let deleting: Promise<unknown> | undefined;
    stage.replies["call pre_live_migration"] = async () => {
      deleting = stage.failure("soft_delete_instance", {});
      await settled();
      return {};
    };
    await migrateLive(stage);
    await deleting;
    expect(stage.calls).not.toContain("driver.liveMigrationAbort");
    expect(stage.calls).not.toContain("driver.liveMigration");
  });

  test("other operations do not wait for it", async () => {
    const stage = stagedLive();
    await migrateLive(stage, async (options) => {
      await stage.failure("pause_instance", {});
      await moves(options);
    });
    expect(stage.migration?.status).toBe("completed");
  });
});

describe("2.8 shutdown", () => {
  test("one that waits for its turn is taken back as cancelled, and those after that in error", async () => {
    const stage = stagedLive();
    const { outgoing } = stage.operations;
    let free: () => void = () => {};
    const first = outgoing.working("other", 9, (entry) =>
      outgoing.runQueued(entry, () => new Promise((resolve) => (free = resolve))),
    );
    await settled();
    const waiting = migrateLive(stage);
    await settled();
    expect(stage.migration?.status).toBe("queued");
    expect([outgoing.size, outgoing.has("vm"), outgoing.has("nobody")]).toEqual([2, true, false]);
    const entry = outgoing.find(9);
    if (entry) {
      entry.phase = "running";
    }
    await outgoing.cancelQueued();
    expect(await waiting).toBeNull();
    expect(stage.calls.slice(1)).toEqual([...BACK, "save_together"]);
    expect(stage.migration?.status).toBe("cancelled");
    expect([outgoing.closed, entry?.aborted]).toEqual([true, false]);
    stage.migration = stage.migration && { ...stage.migration, status: "accepted" };
    stage.instance = stage.instance && { ...stage.instance, taskState: "migrating" };
    expect(await migrateLive(stage)).toBeNull();
    expect(stage.migration?.status).toBe("error");
    free();
    await first;
    expect(outgoing.size).toBe(0);
  });

  test("one that has its turn goes on", async () => {
    const stage = stagedLive();
    let closing: Promise<void> | undefined;
    stage.replies["call pre_live_migration"] = async () => {
      closing = stage.operations.outgoing.cancelQueued();
      await settled();
      return {};
    };
    expect(await migrateLive(stage)).toBeNull();
    await closing;
    expect(stage.migration?.status).toBe("completed");
  });

  test("an error of one that had its turn is no cancellation", async () => {
    const stage = stagedLive();
    stage.replies["driver.liveMigration"] = undefined;
    await migrateLive(stage, () => {
      stage.operations.outgoing.find(7)?.abort();
      return new Error("qemu died");
    });
    expect(stage.migration?.status).toBe("error");
  });
});
