import { expect, test } from "vitest";
import { dieBetween, type SplitSave } from "../fixtures/fault-matrix/nova-sides.js";

const isSet = (value: unknown): boolean => value !== null;

const MOVES = ["resize, split", "resize, doubled", "same-host resize, split", "migration, split"];

/** Returns the destination of a move. */
const destinationOf = (move: string) => (move.startsWith("same-host") ? "devstack1" : "devstack2");

const SPLIT_SAVES: readonly SplitSave[] = [
  ...MOVES.flatMap((move): readonly SplitSave[] => [
    {
      name: `a claim: the migration says where it goes, and the instance nothing (${move})`,
      flow: move,
      dies: destinationOf(move),
      object: "Instance",
      saves: { migration_context: isSet },
      at: "prep_resize.claim",
    },
    {
      name: `the source's start: the migration has begun, and the instance has not (${move})`,
      flow: move,
      dies: "devstack1",
      object: "Instance",
      saves: { task_state: "resize_migrating" },
      at: "resize_instance.start",
    },
    {
      name: `the flip: the instance is the destination's, and the migration is migrating (${move})`,
      flow: move,
      dies: "devstack1",
      object: "Migration",
      saves: { status: "post-migrating" },
      at: "resize_instance.cast",
    },
    {
      name: `the finish: the migration is finished, and the instance is not resized (${move})`,
      flow: move,
      dies: destinationOf(move),
      object: "Instance",
      saves: { vm_state: "resized" },
      at: "finish_resize.record",
    },
    {
      name: `the confirmation: the instance is active, and the migration is confirming (${move})`,
      flow: `confirm of ${move}`,
      dies: "devstack1",
      object: "Migration",
      saves: { status: "confirmed" },
      at: "settle_confirmed.clear",
    },
    {
      name: `the revert: the instance has left, and the migration is reverting (${move})`,
      flow: `revert of ${move}`,
      dies: destinationOf(move),
      object: "Migration",
      saves: { status: "reverted" },
      at: "finish_revert_resize.record",
    },
    {
      name: `a failure on the source: the instance is in error, and the migration is migrating (${move})`,
      flow: move,
      dies: "devstack1",
      raises: "devstack1",
      object: "Migration",
      saves: { status: "error" },
      at: "resize_instance.migrate_disk",
    },
  ]),
  {
    name: "an evacuation's claim: the instance has its context, and the migration is accepted",
    flow: "forced evacuate",
    dies: "devstack2",
    object: "Migration",
    saves: { status: "pre-migrating" },
    at: "evacuate_instance.claim",
  },
  {
    name: "an evacuation's end: the instance is the destination's, and the migration is pre-migrating",
    flow: "forced evacuate",
    dies: "devstack2",
    object: "Migration",
    saves: { status: "done" },
    at: "evacuate_instance.record",
    done: true,
  },
  {
    name: "a failure of the finish: the instance is in error, and the migration is post-migrating",
    flow: "resize, split",
    dies: "devstack2",
    raises: "devstack2",
    object: "Migration",
    saves: { status: "error" },
    at: "finish_resize.finish_migration",
  },
  {
    name: "a live migration's end: the instance has arrived, and the migration is running",
    flow: "live migration, split",
    dies: "devstack1",
    object: "Migration",
    saves: { status: "completed" },
    at: "",
  },
  {
    name: "a live migration's arrival: the guest is there, and the instance is not",
    flow: "live migration, split",
    dies: "devstack2",
    object: "Instance",
    saves: { host: "devstack2" },
    at: "",
  },
  {
    name: "a live migration's roll-back: the instance has no task, and the migration is running",
    flow: "live migration that fails, split",
    dies: "devstack1",
    object: "Migration",
    saves: { status: "failed" },
    at: "",
  },
];

for (const splitSave of SPLIT_SAVES) {
  test(`9.4 under a Nova the agent dies within ${splitSave.name}`, async () => {
    expect(await dieBetween(splitSave)).toEqual([]);
  });
}
