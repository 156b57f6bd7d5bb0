import { expect, test } from "vitest";
import {
  LiveMigrationAborted,
  OutgoingMigration,
  type OutgoingPhase,
} from "../../../../../src/agent/operations/flow/outgoing-migrations.js";

test("6.5 Abort: one that waits for its turn gives it up at once", () => {
  const entry = new OutgoingMigration("vm", 7);
  expect(entry.abort()).toBe(true);
  expect(entry.queueSignal.aborted).toBe(true);
  expect(entry.queueSignal.reason).toBeInstanceOf(LiveMigrationAborted);
});

test.each(["preparing", "running", "ending"] satisfies OutgoingPhase[])(
  "6.5 Abort: one that is %s is only marked",
  (phase) => {
    const entry = new OutgoingMigration("vm", 7);
    entry.phase = phase;
    expect(entry.abort()).toBe(false);
    expect([entry.aborted, entry.queueSignal.aborted]).toEqual([true, false]);
  },
);
