import { describe, expect, it } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { Migration } from "../../../../../src/records/index.js";
import {
  holds,
  migrationOf,
  type Operated,
  operated,
  REQUEST,
} from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { errorResponse } from "../../../../unit/placement-client/bench.js";

/** Creates a server that was resized from devstack2 to devstack1, and that its user deletes before confirming. */
async function resized(status: Migration["status"] = "finished"): Promise<Operated & { readonly move: Migration }> {
  const world = await operated("deleting", { changes: { vmState: "resized" } });
  const move = migrationOf(world, "resize", status, { sourceCompute: "devstack2", sourceNode: "devstack2" });
  await holds(world, move.uuid, "devstack2");
  return { ...world, move };
}

function taskOf({ head, move }: Operated & { readonly move: Migration }) {
  return { kind: "delete_resized", ...head, migrationId: move.id } as const;
}

const CONFIRM = ["call confirm_resize of devstack2", { instanceUuid: "I", migrationId: 1, requestId: REQUEST }];
const TERMINATE = ["cast terminate_instance of devstack1", { instanceUuid: "I", requestId: REQUEST }];

describe("6.2 vm resized, step by step", () => {
  it("the source confirms, then the destination gets the message", async () => {
    const world = await resized();
    world.bench.agentReplies.set("confirm_resize", () => {
      world.bench.store.instances.save(world.instance.uuid, { taskState: null });
      world.bench.store.migrations.save(world.move.id, { status: "confirmed" });
      return null;
    });
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([
      ["migration M1", { status: "confirming" }],
      CONFIRM,
      ["instance", { taskState: null, taskRequestId: null, deleteRequestId: null }],
      ["migration M1", { status: "confirmed" }],
      TERMINATE,
      ["instance", { taskState: "deleting", taskRequestId: REQUEST, deleteRequestId: REQUEST }],
    ]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
  });

  it.each([
    ["does not reply", undefined],
    ["rejects it", new ConductorError("ConductorError", "busy")],
    ["replies without confirming", null],
  ])("a source that %s: its allocations are deleted by force, and the migration is in error", async (_what, reply) => {
    const world = await resized("confirming");
    if (reply !== undefined) {
      world.bench.agentReplies.set("confirm_resize", () => {
        if (reply !== null) {
          throw reply;
        }
      });
    }
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(lines).toEqual([CONFIRM, ["DELETE /allocations/M1"], ["migration M1", { status: "error" }], TERMINATE]);
  });

  it("source allocations that Placement does not delete leak, and the delete continues", async () => {
    const world = await resized();
    world.bench.placementBench.inject({ on: "DELETE /allocations", does: errorResponse(500, "", "oops") });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(lines.slice(-2)).toEqual([["migration M1", { status: "error" }], TERMINATE]);
  });

  it.each(["confirmed", "reverted", "error"] as const)("a move that is %s is not confirmed again", async (status) => {
    const world = await resized(status);
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([TERMINATE]);
  });

  it("the destination is down or missing: a local delete", async () => {
    const world = await resized("confirmed");
    world.bench.store.services.update(world.bench.service("devstack1").id, { forcedDown: true });
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([["task delete_local", { requestId: REQUEST }]]);
    const other = await resized("confirmed");
    other.bench.store.instances.save(other.instance.uuid, { host: null, node: null, computeId: null });
    expect(await stepsOf(other.bench, taskOf(other))).toEqual([["task delete_local", { requestId: REQUEST }]]);
  });

  it("a missing instance needs nothing", async () => {
    const world = await resized("confirmed");
    world.bench.store.instances.destroy(world.instance.uuid);
    expect(await stepsOf(world.bench, taskOf(world))).toEqual([]);
    expect(world.bench.store.tasks.pending()).toEqual([]);
    const failing = await resized();
    failing.bench.agentReplies.set("confirm_resize", () => {
      failing.bench.store.instances.destroy(failing.instance.uuid);
      throw new TypeError("unforeseen");
    });
    const left = outcome(await stepsOf(failing.bench, taskOf(failing)));
    expect(left).toMatchObject({ "delete_resized failed": true });
    expect(left).not.toHaveProperty("delete_resized could not be ended after its failure");
  });

  it.each([
    ["the source's reply", "confirm_resize"],
    ["Placement's reply", "DELETE /allocations"],
  ])(
    "an unexpected error of %s: the row stays in error, so that the user can repeat the delete",
    async (_what, where) => {
      const world = await resized();
      const does = () => Promise.reject(new TypeError("unforeseen"));
      if (where === "confirm_resize") {
        world.bench.agentReplies.set(where, does);
      } else {
        world.bench.placementBench.inject({ on: where, does });
      }
      const lines = await stepsOf(world.bench, taskOf(world));
      expect(getExternalCalls(lines)).not.toContain(TERMINATE[0]);
      expect(outcome(lines)).toMatchObject({
        instance: { vmState: "error", taskState: null },
        fault: { code: 500, message: "TypeError", host: "conductor" },
      });
    },
  );
});
