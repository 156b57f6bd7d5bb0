import { expect } from "vitest";
import type { Instance, Migration } from "../../../../src/records/index.js";
import { FlowStage, NEW, OLD, REQUEST, type StageOptions } from "./flow-stage.js";

/** The hosts of a move, if this host is its source or its destination. */
export const FROM_HERE = {
  sourceCompute: "here",
  sourceNode: "node",
  destCompute: "there",
  destNode: "far",
  destComputeId: 9,
} as const satisfies Partial<Migration>;
export const TO_HERE = {
  sourceCompute: "there",
  sourceNode: "far",
  destCompute: "here",
  destNode: "node",
  destComputeId: 1,
} as const satisfies Partial<Migration>;

/** The task_states in which an instance belongs to a cold move. */
export const MOVE_TASKS = ["resize_prep", "resize_migrating", "resize_migrated", "resize_finish", "resize_reverting"];

export const metadata = (old_vm_state: string, more: Readonly<Record<string, string>> = {}): Partial<Instance> => ({
  systemMetadata: { retained: "yes", old_vm_state, ...more },
});

/** Creates a resize, at one of its steps. */
export function stagedResize(
  migration: Partial<Migration>,
  instance: Partial<Instance>,
  options: Omit<StageOptions, "instance" | "migration"> = {},
): FlowStage {
  const flavors = { oldFlavor: OLD, newFlavor: NEW, ...metadata("active") };
  return new FlowStage({
    instance: { ...flavors, ...instance },
    migration: { migrationType: "resize", ...migration },
    ...options,
  });
}

/** The call that removes the source allocations; split, as in all of the stage's moves. */
export const ALLOCATIONS_DROPPED = [
  "placement.deleteAllocation",
  "move",
  { requestId: REQUEST, force: false },
] as const;

/** The write for the case that a soft delete owns the instance now (spec 6.2 OPT). */
export const ERROR_IF_SOFT_DELETED = [
  "tracker.saveInstance",
  expect.anything(),
  expect.objectContaining({ vmState: "error" }),
  ["soft-deleting"],
] as const;

/** The calls that return the source allocations to the instance. */
export const ALLOCATIONS_RESTORED = ["placement.getAllocationsForConsumer", "placement.moveAllocations"] as const;
