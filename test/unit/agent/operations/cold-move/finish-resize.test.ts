import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { flavorColumns } from "../../../../../src/records/index.js";
import {
  ALLOCATIONS,
  DISKS,
  type FlowStage,
  IMAGE,
  MOVE,
  NEW,
  NOW,
  REQUEST,
  type StageOptions,
  VM,
} from "../../support/flow-stage.js";
import {
  ALLOCATIONS_DROPPED,
  ERROR_IF_SOFT_DELETED,
  metadata,
  stagedResize,
  TO_HERE,
} from "../../support/staged-move.js";

function staged({ instance, migration, ...options }: StageOptions = {}) {
  const row = { taskState: "resize_migrated", ...instance } as const;
  const stage = stagedResize({ status: "post-migrating", ...TO_HERE, ...migration }, row, options);
  stage.operations.incoming.begin(7, "vm");
  return stage;
}

const finish = (stage: FlowStage) => stage.failure("finish_resize", { diskInfo: "disk-info" });
const columns = flavorColumns(NEW);

describe("6.3 row 7, on the destination", () => {
  test("takes the new flavor, has the driver finish, and is resized", async () => {
    const stage = staged();
    expect(await finish(stage)).toBeNull();
    const begun = VM({ ...columns, taskState: "resize_finish" });
    expect(stage.did).toEqual([
      [
        "tracker.saveMove",
        {
          instance: VM(),
          migration: MOVE(),
          changes: { ...columns, taskState: "resize_finish" },
          expectedTaskState: ["resize_migrated"],
        },
      ],
      ["placement.getAllocationsForConsumer", "vm", { requestId: REQUEST }],
      [
        "driver.finishMigration",
        MOVE(),
        begun,
        "disk-info",
        {
          network: [],
          allocations: ALLOCATIONS,
          image: IMAGE,
          resizeInstance: true,
          blockDevices: DISKS,
          powerOn: true,
        },
      ],
      [
        "tracker.saveMove",
        {
          instance: begun,
          migration: MOVE(),
          changes: { vmState: "resized", taskState: null, powerState: 1, launchedAt: NOW },
          expectedTaskState: ["resize_finish"],
          migrationChanges: { status: "finished" },
        },
      ],
    ]);
    expect(stage.events).toEqual(["compute_finish_resize", "Success"]);
    expect(stage.steps).toEqual(["finish_resize.begin", "finish_resize.finish_migration", "finish_resize.record"]);
    expect(stage.operations.incoming.size).toBe(0);
  });

  test.each([
    ["a cold migration resizes no disk", { migrationType: "migration" } as const, {}, { resizeInstance: false }],
    ["one that was stopped stays so", {}, metadata("stopped"), { powerOn: false }],
  ])("%s", async (_, migration, instance, options) => {
    const stage = staged({ migration, instance });
    await finish(stage);
    expect(stage.argumentsOf("driver.finishMigration")[0]?.[3]).toMatchObject(options);
  });
  test.each([
    [new ConductorError("InstanceNotFound", "gone"), []],
    [new ConductorError("UnexpectedTaskState", "somebody else's"), [ERROR_IF_SOFT_DELETED]],
  ])(
    "%o while it is begun: its half goes, the move ends, and the row is left to who has it",
    async (error, alsoDone) => {
      const stage = staged();
      stage.replies["tracker.saveMove"] = error;
      expect(await finish(stage)).toBeNull();
      expect(stage.did.slice(1)).toEqual([
        ALLOCATIONS_DROPPED,
        ...alsoDone,
        ["migration_save", { id: 7, changes: { status: "error" } }],
      ]);
      expect(stage.events).toEqual(["compute_finish_resize", "Error"]);
    },
  );

  test("a conductor that is silent: what was done is left as after a crash", async () => {
    const stage = staged();
    stage.replies["tracker.saveMove"] = new ConductorError("ConductorUnreachable", "away");
    expect(await finish(stage)).toMatchObject({ code: "ConductorUnreachable" });
    expect(stage.calls).toEqual(["tracker.saveMove"]);
    expect(stage.operations.incoming.size).toBe(0);
  });

  test.each([
    [
      "of another request: its half goes",
      { taskRequestId: "req-theirs" },
      {},
      ["placement.deleteAllocation", "tracker.saveInstance", "migration_save"],
    ],
    ["deleted: its half goes", { deleted: 1 }, {}, ["placement.deleteAllocation", "migration_save"]],
    ["whose move has ended: nothing is done", {}, { status: "error" } as const, []],
    [
      "that a start has taken up, and did not hear what became of that: it is left to who looks for such moves",
      { taskState: "resize_finish", taskRequestId: REQUEST } as const,
      {},
      [],
    ],
  ])("the message of an instance %s", async (_, instance, migration, calls) => {
    const stage = staged({ instance, migration });
    expect(await finish(stage)).toBeNull();
    expect(stage.calls).toEqual(calls);
    expect(stage.operations.incoming.size).toBe(0);
  });

  test("records that cannot be written are logged, and the user still gets the reason of the failure", async () => {
    const stage = staged();
    stage.replies["driver.finishMigration"] = new Error("broken");
    let times = 0;
    stage.replies["tracker.saveMove"] = () => (times++ === 0 ? undefined : new Error("conductor"));
    expect(await finish(stage)).toMatchObject({ message: "broken" });
    expect(stage.calls).not.toContain("migration_save");
    expect(stage.logged("could not set the migration to error")).toBe(1);
    expect(stage.faults).toEqual(["Error"]);
  });

  test("allocations that cannot be dropped do not keep the move from ending", async () => {
    const stage = staged();
    stage.replies["driver.finishMigration"] = new Error("broken");
    stage.replies["placement.deleteAllocation"] = new Error("Placement");
    await finish(stage);
    expect(stage.migration?.status).toBe("error");
    expect(stage.logged("could not remove the source allocations of the move")).toBe(1);
  });
});
