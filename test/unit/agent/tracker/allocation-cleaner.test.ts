import { describe, expect, test } from "vitest";
import { removeDeletedInstancesAllocations } from "../../../../src/agent/tracker/allocation-cleanup.js";
import { createAllocationError } from "../../../../src/placement-client/errors.js";
import { type Instance, MIGRATION_STATUSES, type MigrationStatus } from "../../../../src/records/index.js";
import { TrackerStage, type TrackerStageOptions } from "../support/tracker-stage.js";

const REQUEST = { requestId: "req-pass" };
const PASS = { pass: "of this time" } as never;

/** Creates a node on which these consumers have allocations. */
function holding(options: TrackerStageOptions = {}, consumers: readonly string[] = ["vm"]): TrackerStage {
  const stage = new TrackerStage(options);
  stage.replies["placement.getAllocationsForProvider"] = { consumers: new Map(consumers.map((uuid) => [uuid, {}])) };
  return stage;
}

async function clean(stage: TrackerStage, migrations: readonly string[] = [], pass?: never) {
  const where = { host: "here", node: "node" };
  await removeDeletedInstancesAllocations(stage.state, stage.node(), where, new Set(migrations), { ...REQUEST, pass });
}

const STRIPPED = ["placement.removeProviderTreeFromInstanceAllocation", "vm", "node-uuid", { retry: true, ...REQUEST }];
const changed = (stage: TrackerStage) => stage.did.filter(([call]) => call !== "placement.getAllocationsForProvider");

describe("4.6 who holds something on a node", () => {
  test("is read from the pass, if there is one; those that are not counted here are looked up, deleted ones too", async () => {
    const stage = holding({}, ["counted", "move", "vm"]);
    stage.node().account.countInstance({ ...(stage.instance as Instance), uuid: "counted" });
    await clean(stage, ["move"], PASS);
    expect(stage.argumentsOf("placement.getAllocationsForProvider")).toEqual([
      ["node-uuid", { ...REQUEST, pass: PASS }],
    ]);
    expect(stage.argumentsOf("instances_by_filters")).toEqual([[{ filters: { uuids: ["vm"] } }]]);
    expect(changed(stage)).toEqual([]);
  });

  test("nobody is looked up when all are counted; without a pass none is named", async () => {
    const stage = holding({}, ["vm"]);
    stage.node().account.countInstance(stage.instance as Instance);
    await clean(stage);
    expect(stage.lines).toEqual([["placement.getAllocationsForProvider", "node-uuid", REQUEST]]);
  });

  test("a node without a provider has nothing to clean, and gets one; what cannot be read is an error", async () => {
    const missing = holding();
    missing.replies["placement.getAllocationsForProvider"] = createAllocationError(
      "ResourceProviderAllocationRetrievalFailed",
      "node-uuid",
      "x",
      { status: 404, describe: () => "404" },
    );
    await clean(missing);
    expect(missing.logged("the node has no provider in Placement: this pass creates one")).toBe(1);
    const broken = holding();
    broken.replies["placement.getAllocationsForProvider"] = new Error("Placement");
    await clean(broken);
    expect(broken.logged("allocations of the node could not be read")).toBe(1);
    expect(changed(missing)).toEqual([["placement.invalidateResourceProvider", "node-uuid"]]);
    expect(changed(broken)).toEqual([]);
  });
  test.each<[string, TrackerStageOptions["instance"], string | null]>([
    ["row 5 on no host", { host: null }, null],
    ["row 6 on this node", {}, "instance is on this node and not counted by the tracker"],
    ["row 8 on another node of this host", { node: "second" }, null],
  ])("4.6 %s: kept", async (_, instance, expectedMessage) => {
    const stage = holding({ instance });
    await clean(stage);
    expect(changed(stage)).toEqual([]);
    expect(stage.runtime.logs.map(({ message }) => message)).toEqual(
      expectedMessage === null ? [] : [expect.stringContaining(expectedMessage)],
    );
  });
});

describe("4.6 row 7 an instance on another host", () => {
  const moved = (options: TrackerStageOptions = {}) =>
    holding({ ...options, instance: { host: "there", node: "far", ...options.instance } });
  const HEALS = { healMovedAllocations: true };
  const ENDED: readonly MigrationStatus[] = ["confirmed", "reverted", "failed", "completed", "cancelled", "done"];

  test.each(MIGRATION_STATUSES)("heal_moved_allocations: with a migration that is %s", async (status) => {
    const stage = moved({ options: HEALS, others: [{ status }] });
    await clean(stage);
    expect(changed(stage)).toEqual(ENDED.includes(status) ? [STRIPPED] : []);
  });
});
