import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { DISK_INFO, type Migration } from "../../../../../src/records/index.js";
import { HostEpochOutdated } from "../../../../../src/virt/errors.js";
import { type FlowStage, MOVE, NOW, type StageOptions, VM } from "../../support/flow-stage.js";
import { ALLOCATIONS_DROPPED, FROM_HERE, metadata, stagedResize } from "../../support/staged-move.js";

function staged({ instance, migration, ...options }: StageOptions = {}) {
  const row = {
    host: "there",
    node: "far",
    vmState: "resized",
    ...metadata("active", { [DISK_INFO]: "info" }),
    ...instance,
  };
  return stagedResize({ status: "confirming", ...FROM_HERE, ...migration }, row as never, options);
}

const confirm = (stage: FlowStage) => stage.failure("confirm_resize", {});
const CONFIRM = ["driver.confirmMigration", MOVE(), VM(), { network: [] }];
const dropped = (vmState: "active" | "stopped") => [
  "tracker.dropMoveClaimAtSource",
  { instance: VM(), migration: MOVE() },
  { vmState },
  [null, "deleting", "soft-deleting"],
];
const cleared = { oldFlavor: null, newFlavor: null, systemMetadata: { retained: "yes" } };
const ERROR = { vmState: "error", oldFlavor: null, newFlavor: null, migrationContext: null };

describe('6.3 "Confirm", on the source', () => {
  test.each([
    [1, "active"],
    [4, "stopped"],
  ] as const)(
    "a guest with power state %s is %s; files, claim, allocations, and last the flavors",
    async (power, vmState) => {
      const stage = staged({ instance: { powerState: power } });
      expect(await confirm(stage)).toBeNull();
      expect(stage.did).toEqual([
        CONFIRM,
        dropped(vmState),
        ALLOCATIONS_DROPPED,
        [
          "tracker.saveMove",
          {
            instance: VM({ vmState }),
            migration: MOVE({ status: "confirmed" }),
            changes: cleared,
            expectedTaskState: [null],
          },
        ],
      ]);
      expect(stage.events).toEqual(["compute_confirm_resize", "Success"]);
      expect(stage.steps).toEqual([
        "confirm_resize.confirm_migration",
        "confirm_resize.drop_claim",
        "settle_confirmed.release",
        "settle_confirmed.clear",
      ]);
    },
  );

  test.each([
    ["the driver", "driver.confirmMigration"],
    ["the claim", "tracker.dropMoveClaimAtSource"],
  ])("%s fails: allocations and flavors go all the same, and the instance is in error", async (_, call) => {
    const stage = staged();
    stage.replies[call] = new Error("broken");
    expect(await confirm(stage)).toMatchObject({ message: "broken" });
    expect(stage.did.slice(-4)).toEqual([
      ALLOCATIONS_DROPPED,
      ["tracker.saveMove", { instance: VM(), migration: MOVE(), changes: cleared, expectedTaskState: [null] }],
      [
        "tracker.saveMove",
        {
          instance: VM(),
          migration: MOVE(),
          changes: ERROR,
          expectedHost: "there",
          expectedTaskState: [null],
          expectedVmState: ["resized"],
          migrationChanges: { status: "error" },
        },
      ],
      ["instance_add_fault", expect.objectContaining({ message: "Error" })],
    ]);
    expect(stage.events).toEqual(["compute_confirm_resize", "Error"]);
    await stage.operations.recoverColdMoves({ before: NOW, confirmed: false });
    expect(JSON.stringify(stage.argumentsOf("migrations_by_filters")), "it is over").not.toContain('"confirmed"');
  });

  test("the release fails: the instance is in error, with the first of two errors", async () => {
    const stage = staged();
    stage.replies["placement.deleteAllocation"] = new Error("Placement");
    expect(await confirm(stage)).toMatchObject({ message: "Placement" });
    expect(stage.instance).toMatchObject({ vmState: "error", oldFlavor: null });
    const both = staged();
    both.replies["driver.confirmMigration"] = new Error("broken");
    both.replies["placement.deleteAllocation"] = new Error("Placement");
    expect(await confirm(both)).toMatchObject({ message: "broken" });
    expect(both.faults).toEqual(["Error"]);
    expect(both.argumentsOf("instance_add_fault")).toMatchObject([
      [{ details: expect.stringContaining("Error: broken") }],
    ]);
  });

  describe("the user uses the server before the flavors are cleared", () => {
    function meanwhile(changes: object) {
      const stage = staged();
      stage.replies["placement.deleteAllocation"] = () => {
        stage.instance = stage.instance && { ...stage.instance, ...changes };
        return true;
      };
      return stage;
    }

    test.each([
      ["begins", { taskState: "resize_prep" }],
      ["waits for its confirmation", { vmState: "resized" }],
    ])("a next move %s: the flavors are its own", async (_, changes) => {
      const stage = meanwhile(changes);
      expect(await confirm(stage)).toBeNull();
      expect(stage.calls).not.toContain("tracker.saveMove");
    });
    test("its task changes again: it is looked at anew, four times at most", async () => {
      const stage = meanwhile({});
      const errors = [1, 2, 3].map(() => new ConductorError("UnexpectedTaskState", "taken"));
      stage.replies["tracker.saveMove"] = () => errors.shift();
      expect(await confirm(stage)).toBeNull();
      expect(stage.argumentsOf("tracker.saveMove")).toHaveLength(4);
      const never = meanwhile({});
      never.replies["tracker.saveMove"] = new ConductorError("UnexpectedTaskState", "taken");
      expect(await confirm(never)).toMatchObject({ code: "UnexpectedTaskState" });
    });
  });

  test("its instance is deleted meanwhile: what the source holds goes, and nothing is an error", async () => {
    const stage = staged();
    stage.replies["tracker.dropMoveClaimAtSource"] = new ConductorError("InstanceNotFound", "gone");
    stage.replies["tracker.saveMove"] = new ConductorError("InstanceNotFound", "gone");
    expect(await confirm(stage)).toBeNull();
    expect(stage.did).toContainEqual(ALLOCATIONS_DROPPED);
    expect(stage.faults).toEqual([]);
    expect(stage.calls).not.toContain("migration_save");
  });

  test("another request owns the row: only the migration ends", async () => {
    const stage = staged();
    stage.replies["driver.confirmMigration"] = new Error("broken");
    stage.replies["tracker.saveMove"] = new ConductorError("UnexpectedTaskState", "taken");
    await confirm(stage);
    expect(stage.did).toContainEqual(["migration_save", { id: 7, changes: { status: "error" } }]);
  });

  test.each([
    [
      "before the claim is dropped",
      "tracker.dropMoveClaimAtSource",
      new ConductorError("ConductorUnreachable", "away"),
    ],
    ["before the claim is dropped", "tracker.dropMoveClaimAtSource", new HostEpochOutdated("another agent")],
    ["at the release", "placement.deleteAllocation", new HostEpochOutdated("another agent")],
  ])("left as after a crash %s (%o), and looked at again", async (_, call, error) => {
    const stage = staged();
    stage.replies[call] = error;
    expect(await confirm(stage)).toBe(error);
    expect(stage.calls.at(-1)).toBe(call);
    stage.replies[call] = undefined;
    await stage.operations.recoverColdMoves({ before: NOW - 1, confirmed: false });
    expect(
      stage.argumentsOf("migrations_by_filters").map(([params]) => params),
      "2.6 what was confirmed is asked for, too",
    ).toContainEqual({
      filters: {
        host: "here",
        migrationTypes: ["migration", "resize"],
        statuses: expect.arrayContaining(["confirming", "confirmed"]),
      },
    });
  });

  test("a silence at the release is no reason to leave it", async () => {
    const stage = staged();
    stage.replies["tracker.saveMove"] = new ConductorError("ConductorUnreachable", "away");
    expect(await confirm(stage)).toMatchObject({ code: "ConductorUnreachable" });
    expect(stage.calls.filter((call) => call === "tracker.saveMove")).toHaveLength(2);
  });
});

describe("6.3 what a move in error left on its source", () => {
  const left = (others: readonly Partial<Migration>[] = [], instance: StageOptions["instance"] = {}) =>
    staged({ migration: { status: "error" }, others, instance });

  test("goes, and the node is counted anew", async () => {
    const stage = left();
    expect(await confirm(stage)).toBeNull();
    expect(stage.argumentsOf("migrations_by_filters")).toEqual([[{ filters: { instanceUuid: "vm" } }]]);
    expect(stage.did).toEqual([CONFIRM, ["tracker.updateAvailableResourceForNode", "node"]]);
    expect(stage.steps).toEqual([
      "clean_up_source.accept",
      "clean_up_source.confirm_migration",
      "clean_up_source.recount",
    ]);
    expect(stage.instance, "the instance is as it was").toMatchObject({ vmState: "resized" });
  });

  test.each<[string, Partial<Migration>[], StageOptions["instance"], boolean]>([
    ["the instance is here", [], { host: "here" }, true],
    ["it is on its way to here", [{ destCompute: "here", status: "migrating" }], {}, true],
    ["it did not come here", [{ destCompute: "here", status: "error" }], {}, false],
    ["it goes elsewhere", [{ destCompute: "third", status: "migrating" }], {}, false],
    ["it was resized from here once more", [{ id: 8, sourceCompute: "here", migrationType: "resize" }], {}, true],
    ["it was migrated from here once more", [{ id: 8, sourceCompute: "here", migrationType: "migration" }], {}, true],
    ["it was evacuated from here", [{ id: 8, sourceCompute: "here", migrationType: "evacuation" }], {}, false],
    ["it was resized from here before", [{ id: 6, sourceCompute: "here", migrationType: "resize" }], {}, false],
    ["it was resized from elsewhere", [{ id: 8, sourceCompute: "third", migrationType: "resize" }], {}, false],
  ])("%s: kept %#", async (_, others, instance, isRetained) => {
    const stage = left(others, instance);
    expect(await confirm(stage)).toBeNull();
    expect(stage.calls).toHaveLength(isRetained ? 0 : 2);
  });
});
