import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { FlowStage, REQUEST } from "../../support/flow-stage.js";
import { TO_HERE } from "../../support/staged-move.js";

const STRIP = [
  "placement.removeProviderTreeFromInstanceAllocation",
  "vm",
  "node-uuid",
  { retry: true, requestId: REQUEST },
];
const BROKEN = { vmState: "error", taskState: null };

describe("6.7 row 4 OPT, the guest of a failed evacuation cannot be removed: it has not ended until that is done", () => {
  async function left() {
    const stage = new FlowStage({
      capabilities: { supportsEvacuate: true },
      instance: { host: "there", node: "far", taskState: "rebuilding" },
      migration: { migrationType: "evacuation", status: "accepted", ...TO_HERE, destNode: null },
    });
    stage.replies["driver.spawn"] = new Error("broken");
    stage.replies["driver.destroy"] = new Error("busy");
    await stage.failure("rebuild_instance", {
      onSharedStorage: null,
      recreate: true,
      node: "node",
      imageRef: "image",
      targetStopped: false,
    });
    expect(stage.did.find(([call]) => call === STRIP[0] || call === "claim.abort")).toBeUndefined();
    expect(stage.migration?.status).toBe("pre-migrating");
    await stage.operations.removeLeftGuests();
    expect(stage.logged("could not remove the leftover guest")).toBe(1);
    stage.replies["driver.destroy"] = undefined;
    stage.lines.length = 0;
    return stage;
  }

  test("then as any that fails, once", async () => {
    const stage = await left();
    await stage.operations.removeLeftGuests();
    await stage.operations.removeLeftGuests();
    expect(stage.calls).toEqual(["driver.destroy", STRIP[0], "claim.abort"]);
    expect(stage.argumentsOf("claim.abort")).toEqual([[{ migrationStatus: "failed", instance: BROKEN }]]);
  });

  test("the instance is another request's by then: only the evacuation ends", async () => {
    const stage = await left();
    Object.assign(stage.instance ?? {}, { taskRequestId: "req-theirs" });
    await stage.operations.removeLeftGuests();
    expect(stage.did.slice(1)).toEqual([STRIP, ["migration_save", { id: 7, changes: { status: "failed" } }]]);
  });

  test("the instance is here by then, and so the guest is its own", async () => {
    const stage = await left();
    Object.assign(stage.instance ?? {}, { host: "here" });
    await stage.operations.removeLeftGuests();
    const expectedStatus = ["accepted", "pre-migrating"];
    expect(stage.did).toEqual([["migration_save", { id: 7, changes: { status: "failed" }, expectedStatus }]]);
    await stage.operations.removeLeftGuests();
    expect(stage.did).toHaveLength(1);
  });

  test("the instance is here by then, and the evacuation has come to its end: that stays", async () => {
    const stage = await left();
    Object.assign(stage.instance ?? {}, { host: "here" });
    stage.replies.migration_save = new ConductorError("InvalidMigrationState", "done");
    await stage.operations.removeLeftGuests();
    expect(stage.logged("could not remove the leftover guest")).toBe(1);
    await stage.operations.removeLeftGuests();
    expect(stage.argumentsOf("migration_save")).toHaveLength(1);
  });

  test("nothing is done without the host's lease", async () => {
    const stage = await left();
    stage.leaseHeld = false;
    await expect(stage.operations.removeLeftGuests()).rejects.toThrow("lease of host here is lost");
    expect(stage.calls).toEqual([]);
  });
});
