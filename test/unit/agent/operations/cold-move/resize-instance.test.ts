import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { DISK_INFO, flavorColumns, type Instance, SET_ASIDE_BY } from "../../../../../src/records/index.js";
import { NotImplemented } from "../../../../../src/virt/errors.js";
import { DISKS, type FlowStage, MOVE, NEW, OLD, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";
import {
  ALLOCATIONS_DROPPED,
  ALLOCATIONS_RESTORED,
  FROM_HERE,
  MOVE_TASKS,
  stagedResize,
} from "../../support/staged-move.js";

function staged({ instance, migration, ...options }: StageOptions = {}) {
  const row = { taskState: "resize_prep", oldFlavor: null, ...instance } as const;
  return stagedResize({ status: "pre-migrating", destHost: "10.0.0.2", ...FROM_HERE, ...migration }, row, options);
}

const resize = (stage: FlowStage) => stage.failure("resize_instance", {});
const flipped = {
  host: "there",
  node: "far",
  computeId: 9,
  oldFlavor: OLD,
  systemMetadata: { retained: "yes", old_vm_state: "active", [DISK_INFO]: "disk-info" },
  taskState: "resize_migrated",
} as const;

/** The final write after a failed move: the instance's row and the migration. */
function ended(instance: object, changes: object, migration: object = {}) {
  return [
    "tracker.saveMove",
    {
      instance,
      migration: MOVE(migration),
      changes: { ...changes, migrationContext: null },
      expectedTaskState: MOVE_TASKS,
      migrationChanges: { status: "error" },
    },
  ];
}

describe("6.3 rows 5 and 6, on the source", () => {
  test("powers off and migrates the disk, gives the instance to the destination, and sends it there", async () => {
    const stage = staged();
    expect(await resize(stage)).toBeNull();
    const migrating = VM({ taskState: "resize_migrating" });
    expect(stage.did).toEqual([
      ["migration_save", { id: 7, changes: { status: "migrating" }, expectedStatus: ["pre-migrating"] }],
      ["instance_save", { uuid: "vm", changes: { taskState: "resize_migrating" }, expectedTaskState: ["resize_prep"] }],
      [
        "driver.migrateDiskAndPowerOff",
        migrating,
        { destIp: "10.0.0.2", flavor: NEW, network: [], blockDevices: DISKS },
      ],
      [
        "tracker.saveMove",
        {
          instance: migrating,
          changes: flipped,
          expectedTaskState: ["resize_migrating"],
          migration: MOVE({ status: "migrating" }),
          migrationChanges: { status: "post-migrating" },
        },
      ],
      [
        "cast finish_resize",
        "there",
        { instanceUuid: "vm", migrationId: 7, diskInfo: "disk-info", requestId: REQUEST },
        { requestId: REQUEST },
      ],
    ]);
    expect(stage.events).toEqual(["compute_resize_instance", "Success"]);
    expect(stage.steps).toEqual([
      "resize_instance.start",
      "resize_instance.migrate_disk",
      "resize_instance.release_volumes",
      "resize_instance.flip",
      "resize_instance.cast",
    ]);
  });
  const error = { vmState: "error", taskState: null, newFlavor: null };
  test("V27 nothing happened, but the allocations do not come back: error", async () => {
    const stage = staged();
    stage.replies["driver.migrateDiskAndPowerOff"] = new NotImplemented("cannot");
    stage.replies["placement.moveAllocations"] = new Error("Placement");
    await resize(stage);
    expect(stage.instance).toMatchObject(error);
    expect(stage.logged("could not return the allocations to the instance")).toBe(1);
  });

  test("V27 its task_state cannot be written: the migration that had begun ends", async () => {
    const stage = staged();
    stage.replies.instance_save = new Error("broken");
    expect(await resize(stage)).toMatchObject({ message: "broken" });
    expect(stage.did.at(-2)).toEqual(ended(VM(), error, { status: "migrating" }));
  });

  test("its task_state is somebody else's by now: what the move holds goes back, and the row is left", async () => {
    const stage = staged();
    stage.replies.instance_save = new ConductorError("UnexpectedTaskState", "taken");
    expect(await resize(stage)).toBeNull();
    expect(stage.did.slice(2).map(([call]) => call)).toEqual([...ALLOCATIONS_RESTORED, "migration_save"]);
    expect(stage.did.at(-1)).toEqual(["migration_save", { id: 7, changes: { status: "error" } }]);
    expect(stage.faults).toEqual([]);
  });

  test.each<[string, Partial<Instance>, boolean]>([
    ["is soft-deleted", { taskState: "soft-deleting" }, true],
    ["has been given another state", { taskState: null }, true],
    ["is deleted: that destroys it from where it is", { taskState: "deleting" }, false],
    ["is evacuated: that decides what comes of it", { taskState: "rebuilding" }, false],
    ["is elsewhere", { taskState: null, host: "there" }, false],
    ["is left by an evacuation", { taskState: null, systemMetadata: { [SET_ASIDE_BY]: "7" } }, false],
  ])("the guest was set aside, and the instance %s: brought back %#", async (_, changes, comesBack) => {
    const stage = staged();
    stage.replies["tracker.saveMove"] = () => {
      Object.assign(stage.instance ?? {}, changes);
      return new ConductorError("UnexpectedTaskState", "taken");
    };
    expect(await resize(stage)).toBeNull();
    expect(stage.argumentsOf("driver.finishRevertMigration")).toEqual(
      comesBack ? [[expect.anything(), expect.objectContaining({ powerOn: true })]] : [],
    );
    expect(stage.migration?.status).toBe("error");
  });
  test("the status is not what it was: nothing of the guest is touched", async () => {
    const stage = staged();
    stage.replies.migration_save = new ConductorError("InvalidMigrationState", "gone on");
    expect(await resize(stage)).toMatchObject({ code: "InvalidMigrationState" });
    expect(stage.calls).not.toContain("driver.migrateDiskAndPowerOff");
  });

  test.each([
    ["dropped", [], ALLOCATIONS_DROPPED, flavorColumns(NEW)],
    [
      "given back",
      ["undo-resize-after-host-flip"] as const,
      ["placement.moveAllocations", "move", "vm", expect.anything()],
      {},
    ],
  ])(
    "after the flip the source's half is %s (quirks: %j), and the instance stays there in error",
    async (_, quirks, allocationCall, flavor) => {
      const stage = staged({ quirks });
      stage.replies["cast finish_resize"] = new Error("broken");
      expect(await resize(stage)).toMatchObject({ message: "broken" });
      expect(stage.did.slice(-3)).toEqual([
        allocationCall,
        ended(VM(flipped), { ...flavor, vmState: "error", taskState: null }, { status: "post-migrating" }),
        ["instance_add_fault", expect.objectContaining({ message: "Error" })],
      ]);
    },
  );

  test("after the flip it was deleted: the migration ends alone", async () => {
    const stage = staged();
    stage.replies["cast finish_resize"] = new ConductorError("InstanceNotFound", "gone");
    await resize(stage);
    expect(stage.did.slice(-2)).toEqual([
      ALLOCATIONS_DROPPED,
      ["migration_save", { id: 7, changes: { status: "error" } }],
    ]);
  });

  test("after the flip Placement fails, too: the instance is in error all the same", async () => {
    const stage = staged();
    stage.replies["cast finish_resize"] = new Error("broken");
    stage.replies["placement.deleteAllocation"] = new Error("Placement");
    expect(await resize(stage)).toMatchObject({ message: "broken" });
    expect(stage.instance?.vmState).toBe("error");
    expect(stage.logged("could not remove the source allocations of the move")).toBe(1);
  });

  test("a conductor that is silent: what was done is left as after a crash", async () => {
    const stage = staged();
    stage.replies["tracker.saveMove"] = new ConductorError("ConductorUnreachable", "away");
    expect(await resize(stage)).toMatchObject({ code: "ConductorUnreachable" });
    expect(stage.calls.at(-1)).toBe("tracker.saveMove");
  });

  test.each([
    [
      "of another request: its half comes back",
      { taskRequestId: "req-theirs" },
      {},
      [...ALLOCATIONS_RESTORED, "migration_save"],
    ],
    ["whose move has ended: nothing is done", {}, { status: "error" } as const, []],
  ])("the message of an instance %s", async (_, instance, migration, calls) => {
    const stage = staged({ instance, migration });
    expect(await resize(stage)).toBeNull();
    expect(stage.calls).toEqual(calls);
    expect(stage.faults).toEqual([]);
  });
});
