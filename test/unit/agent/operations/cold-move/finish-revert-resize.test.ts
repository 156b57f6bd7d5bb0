import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { DISK_INFO, flavorColumns, type InstanceChanges } from "../../../../../src/records/index.js";
import {
  ALLOCATIONS,
  DISKS,
  type FlowStage,
  MOVE,
  NEW,
  NOW,
  OLD,
  REQUEST,
  type StageOptions,
  VM,
} from "../../support/flow-stage.js";
import { ALLOCATIONS_RESTORED, FROM_HERE, metadata, stagedResize } from "../../support/staged-move.js";

function staged({ instance, migration, ...options }: StageOptions = {}) {
  const row = {
    host: "there",
    node: "far",
    computeId: 9,
    vmState: "resized",
    taskState: "resize_reverting",
    ...flavorColumns(NEW),
    ...metadata("active", { [DISK_INFO]: "info" }),
    ...instance,
  };
  return stagedResize({ status: "reverted", ...FROM_HERE, ...migration }, row as never, options);
}

const finish = (stage: FlowStage) => stage.failure("finish_revert_resize", {});
const HOME = { ...flavorColumns(OLD), host: "here", node: "node", computeId: 5 };
const atRest = (vmState: "active" | "stopped", powerState: 1 | 4): InstanceChanges => ({
  vmState,
  taskState: null,
  powerState,
  launchedAt: NOW,
  oldFlavor: null,
  newFlavor: null,
  systemMetadata: { retained: "yes" },
});

describe('6.3 "Revert", on the source', () => {
  test.each([
    ["active", 1, true],
    ["stopped", 4, false],
  ] as const)(
    "the instance is here again, with its allocations, then its guest, and %s",
    async (state, power, powerOn) => {
      const stage = staged({ instance: metadata(state, { [DISK_INFO]: "info" }) });
      stage.replies["driver.powerState"] = power;
      expect(await finish(stage)).toBeNull();
      expect(stage.argumentsOf("compute_node_get_by_host_and_node")[0]).toEqual([{ host: "here", node: "node" }]);
      expect(stage.did).toEqual([
        [
          "tracker.saveMove",
          { instance: VM(), migration: MOVE(), changes: HOME, expectedTaskState: ["resize_reverting"] },
        ],
        ["placement.getAllocationsForConsumer", "move", { requestId: REQUEST }],
        [
          "placement.moveAllocations",
          "move",
          "vm",
          { requestId: REQUEST, targetDeleted: expect.any(Function), leave: expect.any(Function) },
        ],
        ["placement.getAllocationsForConsumer", "vm", { requestId: REQUEST }],
        [
          "driver.finishRevertMigration",
          VM(HOME),
          { network: [], allocations: ALLOCATIONS, migration: MOVE(), blockDevices: DISKS, powerOn },
        ],
        [
          "tracker.saveMove",
          {
            instance: VM(HOME),
            migration: MOVE(),
            changes: atRest(state, power),
            expectedTaskState: ["resize_reverting"],
          },
        ],
      ]);
      expect(stage.events).toEqual(["compute_finish_revert_resize", "Success"]);
      expect(stage.steps).toEqual([
        "finish_revert_resize.home",
        "finish_revert_resize.allocations",
        "finish_revert_resize.finish_revert_migration",
        "finish_revert_resize.record",
      ]);
    },
  );

  test("a node that has no row any more is no reason to stay away", async () => {
    const stage = staged({ migration: { sourceNode: null } });
    stage.replies.compute_node_get_by_host_and_node = () => null;
    await finish(stage);
    expect(stage.instance).toMatchObject({ host: "here", node: null });
  });

  test.each(["placement.moveAllocations", "driver.finishRevertMigration"])(
    "%s fails: the instance is here, in error, without the move's flavors",
    async (call) => {
      const stage = staged();
      stage.replies[call] = new Error("broken");
      expect(await finish(stage)).toMatchObject({ message: "broken" });
      expect(stage.did.slice(-3)).toEqual([
        [
          "tracker.saveMove",
          {
            instance: VM(HOME),
            migration: MOVE(),
            changes: { oldFlavor: null, newFlavor: null },
            // Another move's flavors are left.
            expectedTaskState: ["resize_reverting", "deleting", "soft-deleting"],
            expectedHost: "here",
          },
        ],
        [
          "tracker.saveMove",
          expect.objectContaining({
            changes: { vmState: "error", taskState: null, migrationContext: null },
            migrationChanges: { status: "error" },
          }),
        ],
        ["instance_add_fault", expect.objectContaining({ message: "Error" })],
      ]);
      expect(stage.events).toEqual(["compute_finish_revert_resize", "Error"]);
    },
  );
  test("a conductor that is silent: left as after a crash", async () => {
    const stage = staged();
    stage.replies["tracker.saveMove"] = new ConductorError("ConductorUnreachable", "away");
    expect(await finish(stage)).toMatchObject({ code: "ConductorUnreachable" });
    expect(stage.calls).toEqual(["tracker.saveMove"]);
  });

  const DELETE_ALLOCATION = "placement.deleteAllocation";
  test.each<[string, StageOptions["instance"], readonly string[]]>([
    [
      "is another request's, and away: what the migration holds goes",
      { taskRequestId: "req-theirs" },
      [DELETE_ALLOCATION, "tracker.saveInstance", "migration_save"],
    ],
    [
      "is at home already, without the flavors of the move: nothing is done",
      { taskRequestId: "req-theirs", host: "here", oldFlavor: null, newFlavor: null },
      [],
    ],
    [
      "is on its host still, as the resize has stayed on it: what the migration holds goes",
      { taskRequestId: "req-theirs", host: "here" },
      [DELETE_ALLOCATION, "tracker.saveInstance", "migration_save"],
    ],
    ["is deleted: what the migration holds goes", { deleted: 1 }, [DELETE_ALLOCATION, "migration_save"]],
  ])("the message of an instance that %s", async (_, instance, calls) => {
    const stage = staged({ instance });
    expect(await finish(stage)).toBeNull();
    expect(stage.calls).toEqual(calls);
    expect(stage.calls).not.toContain(ALLOCATIONS_RESTORED[1]);
  });
});
