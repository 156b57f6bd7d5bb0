import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { MigrationStatus } from "../../../../../src/records/index.js";
import { NotImplemented } from "../../../../../src/virt/errors.js";
import { DISKS, type FlowStage, type StageOptions, VM } from "../../support/flow-stage.js";
import { BACK, migrateLive, moves, stagedLive } from "../../support/staged-live.js";

const POST = "call post_live_migration_at_destination";
const CLEAN = "call rollback_live_migration_at_destination";
const SHARED = [
  "driver.checkInstanceSharedStorageLocal",
  "call check_instance_shared_storage",
  "driver.checkInstanceSharedStorageCleanup",
];
const GUEST_GONE = ["driver.postLiveMigration", "driver.postLiveMigrationAtSource"];
const SETTLED = ["tracker.updateUsage", "placement.deleteAllocation", "migration_save"];
const ABANDON_CALLS = [CLEAN, "placement.deleteAllocation", "migration_save"];
const BOTH_SIDES_CALLS = ABANDON_CALLS.toSpliced(1, 0, "placement.deleteAllocation");

function left(status: MigrationStatus, options: StageOptions = {}): FlowStage {
  const stage = stagedLive({ ...options, migration: { status, ...options.migration } });
  stage.replies["call check_instance_shared_storage"] = false;
  return stage;
}

const recover = (stage: FlowStage) => stage.operations.recoverLiveMigrations();
const thereupon = (stage: FlowStage) => stage.calls.slice(SHARED.length);

describe("2.6 OPT an abandoned live migration", () => {
  test("asks for its own that have not ended, those of deleted instances too", async () => {
    const stage = left("completed");
    await recover(stage);
    expect(stage.argumentsOf("migrations_by_filters")).toEqual([
      [
        {
          filters: {
            sourceCompute: "here",
            migrationTypes: ["live-migration"],
            statuses: ["accepted", "queued", "preparing", "running", "running (post-copy)"],
            readDeleted: true,
          },
        },
      ],
    ]);
    expect(stage.calls).toEqual([]);
  });

  test("leave-interrupted-live-migration-allocations: upstream leaves it", async () => {
    const stage = left("running", { quirks: ["leave-interrupted-live-migration-allocations"] });
    await recover(stage);
    expect(stage.lines).toEqual([]);
  });

  test.each(["queued", "preparing"] as const)("%s: taken back, in error, without stopping anything", async (status) => {
    const stage = left(status);
    await recover(stage);
    expect(thereupon(stage)).toEqual([...BACK, CLEAN, "save_together"]);
    expect(stage.migration?.status).toBe("error");
    expect(stage.instance).toMatchObject({ vmState: "active", taskState: null });
  });

  test.each(["running", "running (post-copy)"] as const)("%s, guest here: stopped, and taken back", async (status) => {
    const stage = left(status);
    await recover(stage);
    expect(thereupon(stage)).toEqual(["driver.liveMigrationAbort", ...BACK, CLEAN, "save_together"]);
    expect(stage.argumentsOf("driver.liveMigrationAbort")).toEqual([[VM()]]);
  });

  test.each([
    [new NotImplemented("no"), 0],
    [new Error("busy"), 1],
  ])("a driver that cannot stop it (%o) is no reason to leave it", async (error, complaints) => {
    const stage = left("running");
    stage.replies["driver.liveMigrationAbort"] = error;
    await recover(stage);
    expect(stage.migration?.status).toBe("error");
    expect(stage.logged("could not stop the live migration")).toBe(complaints);
  });

  test("its guest is gone from here: the destination has it, and is asked once", async () => {
    const stage = left("running");
    stage.replies["driver.powerState"] = 0;
    await recover(stage);
    expect(thereupon(stage)).toEqual(["driver.liveMigrationAbort", ...GUEST_GONE, POST, "driver.cleanup", ...SETTLED]);
    expect(stage.migration?.status).toBe("completed");
  });

  test("it had arrived, and only the source allocations are left: no host is called", async () => {
    const stage = left("running", { instance: { host: "there" } });
    await recover(stage);
    expect(thereupon(stage)).toEqual([...GUEST_GONE, "driver.cleanup", ...SETTLED]);
  });

  test.each<[string, MigrationStatus, StageOptions["instance"], readonly string[]]>([
    ["of a deleted instance", "running", { deleted: 1 }, BOTH_SIDES_CALLS],
    ["that had not begun, and whose instance is elsewhere", "preparing", { host: "there" }, ABANDON_CALLS],
  ])("one %s is given up", async (_, status, instance, done) => {
    const stage = left(status, { instance });
    await recover(stage);
    expect(thereupon(stage)).toEqual(done);
    expect(stage.argumentsOf(CLEAN)[0]?.[1]).toMatchObject({ destroyDisks: true });
    expect(stage.migration?.status).toBe("error");
  });

  test("one without its instance's row is left", async () => {
    const stage = left("running");
    stage.instance = null;
    await recover(stage);
    expect(stage.calls).toEqual([]);
  });

  test("one that names no destination has nothing to ask, or to clean there", async () => {
    const stage = left("preparing", { migration: { destCompute: null } });
    await recover(stage);
    expect(stage.calls).toEqual([...BACK, "save_together"]);
    expect(stage.argumentsOf(BACK[2])[0]?.[1]).toMatchObject({ data: { sharedInstanceFiles: true } });
  });

  test.each<[string, unknown, unknown, boolean]>([
    ["the destination sees them", { token: 1 }, true, false],
    ["the destination does not see them", { token: 1 }, false, true],
    ["the driver knows that they are", () => null, false, false],
    ["the driver shares none", new NotImplemented("no"), false, true],
    ["the driver cannot tell", new Error("broken"), false, false],
    ["the destination cannot tell", { token: 1 }, new Error("away"), false],
  ])("files are shared: %s", async (_, local, remote, destroyDisks) => {
    const stage = left("preparing");
    stage.replies["driver.checkInstanceSharedStorageLocal"] = local;
    stage.replies["call check_instance_shared_storage"] = remote;
    await recover(stage);
    expect(stage.argumentsOf(CLEAN)[0]?.[1]).toMatchObject({ destroyDisks });
    if (stage.calls.includes(SHARED[1] as string)) {
      expect(stage.argumentsOf(SHARED[1] as string)).toEqual([
        ["there", { instanceUuid: "vm", token: { token: 1 } }, { requestId: expect.stringMatching(/^req-/) }],
      ]);
      expect(stage.argumentsOf(SHARED[2] as string)).toEqual([[{ token: 1 }]]);
    }
  });

  test("the driver is told what it would have been", async () => {
    const stage = left("preparing");
    await recover(stage);
    const data = { blockMigration: false, sharedInstanceFiles: false };
    expect(stage.argumentsOf(BACK[2])).toEqual([[VM(), { network: [], blockDevices: DISKS, data }]]);
  });
});

describe("2.6 OPT what cannot be ended now is tried again", () => {
  const lost = (postError: Error) => {
    const stage = left("running");
    stage.replies["driver.powerState"] = 0;
    stage.replies[POST] = postError;
    return stage;
  };

  test("soon, while a destination has not been away for longer than its answer may take", async () => {
    const stage = lost(new ConductorError("MessagingTimeout", "away"));
    await recover(stage);
    expect(stage.migration?.status).toBe("running");
    expect(stage.logged("could not end an interrupted live migration")).toBe(1);
    expect(stage.operations.outgoing.recoversSoon).toBe(true);
    expect(stage.argumentsOf(POST)).toHaveLength(1);
    stage.passed = 329_999;
    await recover(stage);
    expect(stage.operations.outgoing.recoversSoon).toBe(true);
    stage.passed = 330_000;
    expect(stage.operations.outgoing.recoversSoon).toBe(false);
  });

  test.each([new ConductorError("ObjectActionError", "no"), new ConductorError("ConductorUnreachable", "away")])(
    "%o: not soon",
    async (error) => {
      const stage = lost(error);
      await recover(stage);
      expect(stage.operations.outgoing.recoversSoon).toBe(false);
    },
  );

  test("one that answers again is not waited for any more", async () => {
    const stage = lost(new ConductorError("MessagingTimeout", "away"));
    await recover(stage);
    stage.replies[POST] = new ConductorError("ObjectActionError", "no");
    await recover(stage);
    expect(stage.operations.outgoing.recoversSoon).toBe(false);
  });

  test("nor one that takes the guest over", async () => {
    const stage = lost(new ConductorError("MessagingTimeout", "away"));
    await recover(stage);
    const replies = stagedLive().replies;
    stage.replies[POST] = replies[POST];
    await recover(stage);
    expect(stage.operations.outgoing.recoversSoon).toBe(false);
  });

  test("nor one whose migration has ended", async () => {
    const stage = lost(new ConductorError("MessagingTimeout", "away"));
    await recover(stage);
    stage.migration = stage.migration && { ...stage.migration, status: "error" };
    await recover(stage);
    expect(stage.operations.outgoing.recoversSoon).toBe(false);
  });
});

describe("2.6 OPT an accepted live migration that no process works on", () => {
  test("is left until the second look, four seconds later: its message may just have come", async () => {
    const stage = left("accepted");
    await recover(stage);
    expect(stage.calls).toEqual([]);
    expect(stage.argumentsOf("instance_in_hand")).toEqual([[{ uuid: "vm", host: "here" }]]);
    expect(stage.operations.outgoing.recoversSoon).toBe(true);
    stage.passed = 3_999;
    await recover(stage);
    expect(stage.calls).toEqual([]);
    stage.passed = 4_000;
    await recover(stage);
    expect(stage.migration?.status).toBe("error");
  });

  test("the conductor has it in hand: left, and looked at from the beginning", async () => {
    const stage = left("accepted");
    await recover(stage);
    stage.passed = 5_000;
    stage.replies.instance_in_hand = true;
    await recover(stage);
    expect(stage.operations.outgoing.recoversSoon).toBe(false);
    stage.replies.instance_in_hand = false;
    await recover(stage);
    expect(stage.calls).toEqual([]);
  });

  test("it has ended meanwhile: forgotten", async () => {
    const stage = left("accepted");
    await recover(stage);
    stage.migration = stage.migration && { ...stage.migration, status: "error" };
    await recover(stage);
    expect(stage.operations.outgoing.recoversSoon).toBe(false);
  });

  test("this process works on it: left", async () => {
    const stage = stagedLive();
    await migrateLive(stage, async (options) => {
      const before = stage.calls.length;
      await recover(stage);
      stage.migration = stage.migration && { ...stage.migration, status: "accepted" };
      await recover(stage);
      expect(stage.calls).toHaveLength(before);
      expect(stage.argumentsOf("instance_in_hand")).toEqual([]);
      await moves(options);
    });
  });
});
