import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import {
  DISK_INFO,
  MIGRATION_STATUSES,
  type MigrationStatus,
  type TaskState,
  type VmState,
} from "../../../../../src/records/index.js";
import { HostEpochOutdated } from "../../../../../src/virt/errors.js";
import { FlowStage, MOVE, NOW, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";
import {
  ALLOCATIONS_DROPPED,
  ALLOCATIONS_RESTORED,
  FROM_HERE,
  metadata,
  stagedResize,
  TO_HERE,
} from "../../support/staged-move.js";

const SIDES = { source: FROM_HERE, destination: TO_HERE, both: { ...FROM_HERE, destCompute: "here" } } as const;
type Side = keyof typeof SIDES;

interface Left extends Omit<StageOptions, "migration" | "instance"> {
  readonly side?: Side;
  readonly task?: TaskState | null;
  readonly status?: MigrationStatus;
  readonly migration?: StageOptions["migration"];
  readonly instance?: StageOptions["instance"];
}

function left({ side = "source", task = "resize_prep", status = "pre-migrating", migration, instance, ...rest }: Left) {
  const row = { taskState: task, ...metadata("active", { [DISK_INFO]: "info" }), ...instance } as const;
  const stage = stagedResize({ ...SIDES[side], status, ...migration }, row, rest);
  stage.replies["driver.checkInstanceSharedStorageLocal"] = () => null;
  return stage;
}

const recover = (stage: FlowStage, confirmed = false) => stage.operations.recoverColdMoves({ before: NOW, confirmed });

/** The first call of each flow, which identifies it. */
const FIRST: Readonly<Record<string, string>> = {
  migration_save: "take it",
  "cast finish_resize": "cast finish",
  "cast finish_revert_resize": "cast finish of revert",
  "placement.deleteAllocation": "drop the half",
  "driver.checkInstanceSharedStorageLocal": "revert",
  "driver.destroy": "revert",
  "driver.confirmMigration": "confirm",
  "tracker.saveMove": "go on",
};

/** The reconcile table, for each side; other moves are left. */
const TABLE: Readonly<Record<"source" | "destination", Readonly<Record<string, string>>>> = {
  destination: {
    "resize_prep pre-migrating": "take it",
    "resize_prep error": "take it",
    "resize_migrated migrating": "take it",
    "resize_migrated post-migrating": "go on",
    "resize_finish post-migrating": "drop the half",
    "resize_finish finished": "drop the half",
    "resize_reverting reverting": "revert",
    "resize_reverting reverted": "cast finish of revert",
  },
  source: {
    "resize_prep pre-migrating": "take it",
    "resize_prep migrating": "take it",
    "resize_prep error": "take it",
    "resize_migrated migrating": "take it",
    "resize_migrated post-migrating": "cast finish",
    "resize_reverting reverted": "go on",
    // For any task_state.
    "null confirming": "confirm",
    "resize_prep confirming": "confirm",
    "resize_migrating confirming": "confirm",
    "resize_migrated confirming": "confirm",
    "resize_finish confirming": "confirm",
    "resize_reverting confirming": "confirm",
  },
};
/** On one host the row that continues the move precedes the row that would only send a message. */
const EXPECTED = {
  ...TABLE,
  both: {
    ...TABLE.destination,
    ...TABLE.source,
    "resize_migrated post-migrating": "go on",
  },
};
const STUCK: readonly MigrationStatus[] = [
  "pre-migrating",
  "error",
  "migrating",
  "post-migrating",
  "finished",
  "reverting",
  "reverted",
  "confirming",
];
const TASKS = [
  "resize_prep",
  "resize_migrating",
  "resize_migrated",
  "resize_finish",
  "resize_reverting",
  null,
] as const;

describe("2.6 OPT an abandoned cold move", () => {
  test.each(["source", "destination", "both"] as const)("every task_state and status, here as its %s", async (side) => {
    const found: Record<string, string> = {};
    for (const task of TASKS) {
      for (const status of MIGRATION_STATUSES) {
        const stage = left({ side, task, status });
        await recover(stage);
        const [first] = stage.calls;
        expect(stage.logged("continuing an interrupted move") > 0, `${task} ${status}`).toBe(first !== undefined);
        if (first !== undefined) {
          found[`${task} ${status}`] = FIRST[first] ?? first;
        }
      }
    }
    expect(found).toEqual(EXPECTED[side]);
  });

  test("asks for this host's moves, in one question, and for nobody's instances", async () => {
    const stage = new FlowStage();
    await recover(stage);
    await recover(stage, true);
    const filters = { host: "here", migrationTypes: ["migration", "resize"] };
    expect(stage.argumentsOf("migrations_by_filters")).toEqual([
      [{ filters: { ...filters, statuses: STUCK } }],
      [{ filters: { ...filters, statuses: [...STUCK, "confirmed"] } }],
    ]);
    expect(stage.argumentsOf("instances_by_filters")).toEqual([]);
  });

  test.each<[MigrationStatus, boolean]>([
    ["migrating", false],
    ["finished", true],
    ["error", true],
  ])("of a move that is %s its instance is asked for; in a task alone: %s", async (status, inTask) => {
    const stage = left({ status });
    const listed = stage.migration === null ? [] : [stage.migration];
    await stage.operations.recoverColdMoves({ before: NOW, confirmed: false, listed });
    const filters = { uuids: ["vm"], deleted: false };
    const taskStates = ["resize_prep", "resize_migrated", "resize_finish", "resize_reverting"];
    expect(stage.argumentsOf("instances_by_filters")).toEqual([
      [{ filters: inTask ? { ...filters, taskStates } : filters }],
    ]);
    expect(stage.argumentsOf("migrations_by_filters")[0], "what was listed is not asked for").not.toEqual([
      expect.objectContaining({ filters: expect.objectContaining({ host: "here" }) }),
    ]);
  });

  test.each<[Side, MigrationStatus, VmState, MigrationStatus | null]>([
    ["destination", "post-migrating", "resized", "finished"],
    ["destination", "post-migrating", "error", "error"],
    ["destination", "pre-migrating", "error", "error"],
    ["source", "migrating", "error", "error"],
    ["source", "migrating", "resized", null],
    ["source", "migrating", "active", null],
    ["source", "post-migrating", "resized", null],
  ])("under a Nova its %s died when it is %s, and the instance idle and %s: %s", async (side, status, vmState, end) => {
    const stage = left({ side, task: null, status, instance: { vmState } });
    await recover(stage);
    const changes = { id: 7, changes: { status: end }, expectedStatus: [status] };
    expect(stage.did).toEqual(end === null ? [] : [["migration_save", changes]]);
  });

  test.each([
    ["leave-resize-prep-allocations", "resize_prep", "pre-migrating"],
    ["leave-interrupted-resizes", "resize_migrated", "post-migrating"],
  ] as const)("%s: upstream leaves it", async (quirk, task, status) => {
    const others = {
      "leave-resize-prep-allocations": "leave-interrupted-resizes",
      "leave-interrupted-resizes": "leave-resize-prep-allocations",
    } as const;
    const left1 = left({ task, status, quirks: [quirk] });
    await recover(left1);
    expect(left1.calls).toEqual([]);
    const left2 = left({ task, status, quirks: [others[quirk]] });
    await recover(left2);
    expect(left2.calls).not.toEqual([]);
  });

  test("one that had not begun is given back: status, allocations, row", async () => {
    const stage = left({});
    await recover(stage);
    expect(stage.did[0]).toEqual([
      "migration_save",
      { id: 7, changes: { status: "error" }, expectedStatus: ["pre-migrating"] },
    ]);
    expect(stage.calls.slice(1, 3)).toEqual(ALLOCATIONS_RESTORED);
    expect(stage.argumentsOf("placement.moveAllocations")[0]?.[2]).toMatchObject({ requestId: REQUEST });
    expect(stage.did.slice(3)).toEqual([
      [
        "tracker.saveMove",
        {
          instance: VM(),
          changes: { taskState: null, newFlavor: null, migrationContext: null },
          expectedTaskState: ["resize_prep"],
          migration: MOVE({ status: "error" }),
        },
      ],
    ]);
  });

  test.each([
    ["the status", "migration_save", new ConductorError("InvalidMigrationState", "gone on")],
    ["the task", "tracker.saveMove", new ConductorError("UnexpectedTaskState", "taken")],
  ])("%s has gone on meanwhile: that is no failure", async (_, call, error) => {
    const stage = left({});
    stage.replies[call] = error;
    await recover(stage);
    expect(stage.calls.at(-1)).toBe(call);
    expect(stage.operations.recoversAgain).toBe(false);
    expect(stage.logged("the move has continued meanwhile")).toBe(1);
  });

  test("a finish goes on with what the source's driver has said; none is no text", async () => {
    const stage = left({ side: "destination", task: "resize_migrated", status: "post-migrating" });
    await recover(stage);
    expect(stage.argumentsOf("driver.finishMigration")[0]?.[2]).toBe("info");
    const early = left({
      side: "destination",
      task: "resize_migrated",
      status: "post-migrating",
      instance: metadata("active"),
    });
    await recover(early);
    expect(early.argumentsOf("driver.finishMigration")[0]?.[2]).toBe("");
  });

  const MESSAGE = { instanceUuid: "vm", migrationId: 7, requestId: REQUEST };

  test.each([
    ["source", "resize_migrated", "post-migrating", ["cast finish_resize", "there", { ...MESSAGE, diskInfo: "info" }]],
    ["destination", "resize_reverting", "reverted", ["cast finish_revert_resize", "there", MESSAGE]],
  ] as const)("the %s sends what the other host may not have got: %s %s", async (side, task, status, cast) => {
    const stage = left({ side, task, status });
    await recover(stage);
    expect(stage.did).toEqual([cast]);
  });

  test.each([
    ["source", "cast finish_resize"],
    ["destination", "tracker.saveMove"],
  ] as const)(
    "the %s says of a move whose instance alone was written that it has left, and goes on",
    async (side, next) => {
      const stage = left({ side, task: "resize_migrated", status: "migrating" });
      await recover(stage);
      const save = { id: 7, changes: { status: "post-migrating" }, expectedStatus: ["migrating"] };
      expect(stage.did[0]?.slice(0, 2)).toEqual(["migration_save", save]);
      expect(stage.calls[1]).toBe(next);
    },
  );

  test("a finish that died: the source's half goes, and the instance is in error here", async () => {
    const stage = left({ side: "destination", task: "resize_finish", status: "post-migrating" });
    await recover(stage);
    expect(stage.did[0]).toEqual(ALLOCATIONS_DROPPED);
    expect(stage.instance).toMatchObject({ vmState: "error", taskState: null });
    expect(stage.faults).toEqual(["the agent stopped while it finished the move"]);
  });

  test("goes on for the request that began it, or for a new one where none is known", async () => {
    const [known, unknown] = [left({}), left({ instance: { taskRequestId: null } })];
    await recover(known);
    await recover(unknown);
    const ids = [known, unknown].map((stage) => stage.argumentsOf("placement.moveAllocations")[0]?.[2]);
    expect(ids).toMatchObject([{ requestId: REQUEST }, { requestId: expect.stringMatching(/^req-[0-9a-f-]{36}$/) }]);
  });

  test.each([
    ["the instance was written after that", { instance: { updatedAt: NOW + 1 } }, false],
    ["the migration was written after that", { migration: { updatedAt: NOW + 1 } }, false],
    ["both were written then", { instance: { updatedAt: NOW }, migration: { updatedAt: NOW } }, true],
    ["they were made after that", { migration: { createdAt: NOW + 1 } }, false],
  ])("of those of which nothing was written since: %s", async (_, when, resumed) => {
    const stage = left(when);
    await recover(stage);
    expect(stage.calls.length > 0).toBe(resumed);
  });

  test.each([
    ["its latest move decides", [{ id: 9, migrationType: "resize", status: "error", ...TO_HERE }] as const, "error"],
    [
      "one before it does not",
      [{ id: 5, migrationType: "resize", status: "error", ...TO_HERE }] as const,
      "pre-migrating",
    ],
    [
      "one of another kind does not",
      [{ id: 9, migrationType: "live-migration", status: "error", ...TO_HERE }] as const,
      "pre-migrating",
    ],
  ])("%s", async (_, others, status) => {
    const stage = left({ others });
    await recover(stage);
    expect(stage.argumentsOf("migration_save")[0]?.[0]).toMatchObject({ expectedStatus: [status] });
    const filters = { instanceUuid: "vm", migrationTypes: ["migration", "resize"] };
    expect(stage.argumentsOf("migrations_by_filters")).toContainEqual([{ filters }]);
  });

  test("an instance in a task of moves without a move is left", async () => {
    const stage = new FlowStage({ instance: { taskState: "resize_prep" } });
    await recover(stage);
    expect(stage.calls).toEqual([]);
  });

  test.each([
    ["an operation has ended it", { taskState: null }],
    ["its instance was deleted", { deleted: 1 }],
  ])("%s while recovery waited for its turn: nothing is done", async (_, changes) => {
    const stage = left({});
    let recovering: Promise<void> | undefined;
    await stage.operations.exclusively("vm", async () => {
      recovering = recover(stage);
      await new Promise((resolve) => setImmediate(resolve));
      stage.instance = stage.instance && { ...stage.instance, ...changes };
    });
    await recovering;
    expect(stage.calls).toEqual([]);
  });
});

describe("2.6 OPT a recovery that fails", () => {
  test("is tried again, although it has written since, until it succeeds", async () => {
    const stage = left({});
    stage.replies["placement.moveAllocations"] = new Error("Placement");
    await recover(stage);
    expect(stage.operations.recoversAgain).toBe(true);
    expect(stage.logged("could not recover an interrupted move")).toBe(1);
    stage.migration = stage.migration && { ...stage.migration, updatedAt: NOW + 5 };
    stage.replies["placement.moveAllocations"] = undefined;
    await recover(stage);
    expect(stage.instance?.taskState).toBeNull();
    expect(stage.operations.recoversAgain).toBe(false);
  });

  test("says which move, and for which request", async () => {
    const stage = left({});
    stage.replies["placement.moveAllocations"] = new Error("Placement");
    await recover(stage);
    const fields = { instance: "vm", migration: 7, request_id: REQUEST };
    expect(stage.runtime.logs.filter(({ message }) => message.includes("an interrupted move"))).toMatchObject([
      { level: "info", fields },
      { level: "error", fields },
    ]);
  });

  test("is forgotten when the move was ended by another process", async () => {
    const stage = left({});
    stage.replies["placement.moveAllocations"] = new Error("Placement");
    await recover(stage);
    stage.instance = stage.instance && { ...stage.instance, taskState: null };
    await recover(stage);
    expect(stage.operations.recoversAgain).toBe(false);
  });

  test("and looks from then on at what is confirmed, until it has looked", async () => {
    const stage = left({});
    stage.replies["placement.moveAllocations"] = new Error("Placement");
    await recover(stage);
    stage.replies["placement.moveAllocations"] = undefined;
    const confirmed = () =>
      stage.argumentsOf("migrations_by_filters").filter(([params]) => JSON.stringify(params).includes('"confirmed"'))
        .length;
    await stage.operations.recoverColdMoves({ before: NOW - 1, confirmed: false });
    expect(confirmed()).toBe(1);
    await recover(stage);
    expect(confirmed()).toBe(2);
    await recover(stage);
    expect(confirmed()).toBe(2);
  });

  test("ends where the host's lease is lost", async () => {
    const stage = left({});
    stage.replies["placement.moveAllocations"] = new HostEpochOutdated("another agent");
    await expect(recover(stage)).rejects.toThrow("another agent");
    expect(stage.operations.recoversAgain).toBe(true);
  });
});
