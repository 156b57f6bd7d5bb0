import { expect } from "vitest";
import type { Instance, Migration } from "../../../../src/records/index.js";
import { FlowStage, NEW, OLD, REQUEST, type StageOptions } from "./flow-stage.js";

/** The hosts of a move, as this one is its source or its destination. */
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

/** The task_states in which an instance is a cold move's. */
export const MOVE_TASKS = ["resize_prep", "resize_migrating", "resize_migrated", "resize_finish", "resize_reverting"];

export const metadata = (old_vm_state: string, more: Readonly<Record<string, string>> = {}): Partial<Instance> => ({
  systemMetadata: { retained: "yes", old_vm_state, ...more },
});

/** A resize, at one of its steps. */
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

/** What the half of the source is given up by; split, as all of the stage's moves are. */
export const ALLOCATIONS_DROPPED = [
  "placement.deleteAllocation",
  "move",
  { requestId: REQUEST, force: false },
] as const;

/** In case that it is a soft delete that has the instance now (spec 6.2 OPT). */
export const ERROR_IF_SOFT_DELETED = [
  "tracker.saveInstance",
  expect.anything(),
  expect.objectContaining({ vmState: "error" }),
  ["soft-deleting"],
] as const;

/** What the instance's new half ends, and its old one comes back, by. */
export const ALLOCATIONS_RESTORED = ["placement.getAllocationsForConsumer", "placement.moveAllocations"] as const;
