import { describe, expect, test } from "vitest";
import { removeDeletedInstancesAllocations } from "../../../../src/agent/tracker/allocation-cleanup.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import type { Instance, Migration } from "../../../../src/records/index.js";
import { TrackerStage, type TrackerStageOptions } from "../support/tracker-stage.js";

const REQUEST = { requestId: "req-pass" };
const MINUTE = 60_000;

interface Case {
  readonly migration?: Partial<Migration>;
  readonly instance?: Partial<Instance>;
  readonly options?: TrackerStageOptions["options"];
}

/**
 * Creates a migration with allocations on the node, last written two minutes ago; its instance was deleted at the same
 * time.
 */
function left({ migration = {}, instance = {}, options = {} }: Case = {}): TrackerStage {
  const stage = new TrackerStage({ options });
  const now = stage.runtime.clock.now();
  const ago = now - 2 * MINUTE;
  const move = { status: "pre-migrating", migrationType: "resize", createdAt: ago, updatedAt: ago } as const;
  stage.replies["placement.getAllocationsForProvider"] = { consumers: new Map([["move", {}]]) };
  const rows = new TrackerStage({ migration: { ...move, ...migration } });
  const deleted = { ...rows.instance, deleted: 3, deletedAt: ago, ...instance } as Instance;
  stage.replies.migrations_by_filters = () => (rows.migration ? [rows.migration] : []);
  stage.replies.instances_by_filters = ({ filters }: { filters: { uuids: readonly string[] } }) =>
    [deleted].filter(({ uuid }) => filters.uuids.includes(uuid));
  return stage;
}

function clean(stage: TrackerStage): Promise<void> {
  const where = { host: "here", node: "node" };
  return removeDeletedInstancesAllocations(stage.state, stage.node(), where, new Set(), {
    ...REQUEST,
    pass: undefined,
  });
}
const FREED = [["move", { force: false, ...REQUEST }]];
const freed = (stage: TrackerStage) => stage.argumentsOf("placement.deleteAllocation");

describe("4.6 row 3 what the migration of a deleted instance holds", () => {
  test("goes, and the status says before that the move is over", async () => {
    const stage = left();
    await clean(stage);
    const end = [{ id: 7, changes: { status: "error" }, expectedStatus: ["pre-migrating"] }];
    expect(stage.argumentsOf("migration_save")).toEqual([end]);
    expect(freed(stage)).toEqual(FREED);
    expect(stage.lines.findIndex(([what]) => what === "migration_save")).toBeLessThan(
      stage.lines.findIndex(([what]) => what === "placement.deleteAllocation"),
    );
    expect(stage.logged("resize 7 was left pre-migrating, and its instance is deleted")).toBe(1);
  });

  test("goes, too, of one that is over", async () => {
    const stage = left({ migration: { status: "error" } });
    await clean(stage);
    expect([stage.argumentsOf("migration_save"), freed(stage)]).toEqual([[], FREED]);
  });

  test("stays when somebody moves it on meanwhile", async () => {
    const stage = left();
    stage.replies.migration_save = new ConductorError("InvalidMigrationState", "migration 7 is migrating");
    await clean(stage);
    expect(freed(stage)).toEqual([]);
  });

  test.each<[string, Case]>([
    ["while the instance is there", { instance: { deleted: 0, deletedAt: null } }],
    ["of an instance that is in another cell", { instance: { hidden: true } }],
    ["where there is no such instance", { instance: { uuid: "another" } }],
    [
      "as long as whoever works on the move may wait for an answer",
      { migration: { updatedAt: Number.MAX_SAFE_INTEGER } },
    ],
    ["as long as whoever deletes it may", { instance: { deletedAt: Number.MAX_SAFE_INTEGER } }],
    ["keep-moves-of-deleted: for ever", { options: { keepLeftMoves: true } }],
  ])("stays %s", async (_, options) => {
    const stage = left(options);
    await clean(stage);
    expect([stage.argumentsOf("migration_save"), freed(stage)]).toEqual([[], []]);
  });
});
