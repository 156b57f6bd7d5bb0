import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { NotImplemented } from "../../../../../src/virt/errors.js";
import { DISKS, type FlowStage, MOVE, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";
import { ALLOCATIONS_DROPPED, ERROR_IF_SOFT_DELETED, stagedResize, TO_HERE } from "../../support/staged-move.js";

function staged({ instance, migration, ...options }: StageOptions = {}) {
  const row = { vmState: "resized", taskState: "resize_reverting", ...instance } as const;
  const stage = stagedResize({ status: "reverting", ...TO_HERE, ...migration }, row, options);
  stage.replies["call check_instance_shared_storage"] = false;
  return stage;
}

const revert = (stage: FlowStage) => stage.failure("revert_resize", {});
const CAST = [
  "cast finish_revert_resize",
  "there",
  { instanceUuid: "vm", migrationId: 7, requestId: REQUEST },
  { requestId: REQUEST },
];
const MIGRATION_ENDS = ["migration_save", { id: 7, changes: { status: "error" } }];

describe('6.3 "Revert", on the destination', () => {
  test("asks the source whether it sees the disks, destroys the guest, drops the claim, and tells the source", async () => {
    const stage = staged();
    expect(await revert(stage)).toBeNull();
    expect(stage.did).toEqual([
      ["driver.checkInstanceSharedStorageLocal", VM()],
      [
        "call check_instance_shared_storage",
        "there",
        { instanceUuid: "vm", token: { token: 1 } },
        { requestId: REQUEST },
      ],
      ["driver.checkInstanceSharedStorageCleanup", { token: 1 }],
      ["driver.destroy", VM(), { network: [], blockDevices: DISKS, destroyDisks: true }],
      ["tracker.dropMoveClaimAtDestination", { instance: VM(), migration: MOVE() }, {}],
      CAST,
    ]);
    expect(stage.events).toEqual(["compute_revert_resize", "Success"]);
    expect(stage.steps).toEqual([
      "revert_resize.destroy",
      "revert_resize.release_volumes",
      "revert_resize.drop_claim",
      "revert_resize.cast",
    ]);
  });

  const destroysDisks = (stage: FlowStage) =>
    (stage.argumentsOf("driver.destroy")[0]?.[1] as { destroyDisks: boolean } | undefined)?.destroyDisks;

  test("V5 disks that the source sees, too, stay", async () => {
    const stage = staged();
    stage.replies["call check_instance_shared_storage"] = true;
    await revert(stage);
    expect(destroysDisks(stage)).toBe(false);
  });

  test("V5 on one host the disks are the source's: no host is called", async () => {
    const stage = staged({ migration: { sourceCompute: "here" } });
    await revert(stage);
    expect(destroysDisks(stage)).toBe(false);
    expect(stage.calls).not.toContain("driver.checkInstanceSharedStorageLocal");
  });

  test.each([
    ["can not share disks: they go", new NotImplemented("no"), true],
    ["fails when it is asked: they stay", new Error("no"), false],
  ])("V5 a driver that %s", async (_, error, destroyed) => {
    const stage = staged();
    stage.replies["driver.checkInstanceSharedStorageLocal"] = error;
    await revert(stage);
    expect(destroysDisks(stage)).toBe(destroyed);
  });
  test("taken, and Placement fails: the migration ends all the same", async () => {
    const stage = staged();
    stage.replies["driver.destroy"] = new ConductorError("UnexpectedTaskState", "deleting");
    stage.replies["placement.deleteAllocation"] = new Error("Placement");
    expect(await revert(stage)).toBeNull();
    expect(stage.did.at(-1)).toEqual(MIGRATION_ENDS);
    expect(stage.logged("could not remove the allocations of the migration")).toBe(1);
  });

  test("a conductor that is silent: left as after a crash", async () => {
    const stage = staged();
    stage.replies["tracker.dropMoveClaimAtDestination"] = new ConductorError("ConductorUnreachable", "away");
    expect(await revert(stage)).toMatchObject({ code: "ConductorUnreachable" });
    expect(stage.calls.at(-1)).toBe("tracker.dropMoveClaimAtDestination");
  });

  const ended = [ALLOCATIONS_DROPPED, MIGRATION_ENDS];
  test.each<[string, StageOptions["instance"], StageOptions["migration"], readonly unknown[]]>([
    ["is deleted: the source's half goes", { deleted: 1 }, {}, ended],
    [
      "is another request's: the source's half goes",
      { taskRequestId: "req-theirs" },
      {},
      [ALLOCATIONS_DROPPED, ERROR_IF_SOFT_DELETED, MIGRATION_ENDS],
    ],
    [
      "has been reverted already: nothing is done",
      { host: "there", taskRequestId: "req-theirs" },
      { status: "reverted" },
      [],
    ],
    ["has no such move any more: nothing is done", {}, { status: "error" }, []],
    ["is elsewhere: nothing is done", { host: "third" }, {}, []],
  ])("the message of an instance that %s", async (_, instance, migration, did) => {
    const stage = staged({ instance, migration });
    expect(await revert(stage)).toBeNull();
    expect(stage.did).toEqual(did);
  });
});
