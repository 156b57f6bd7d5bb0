import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import {
  BuildAbortException,
  ComputeResourcesUnavailable,
  InstanceFaultRollback,
} from "../../../../../src/virt/errors.js";
import { ALLOCATIONS, type FlowStage, MOVE, NEW, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";
import { ALLOCATIONS_RESTORED, MOVE_TASKS, stagedResize, TO_HERE } from "../../support/staged-move.js";

const RETRY = { numAttempts: 1, hosts: [] } as never;
const ALTERNATES = [{ host: "third" }] as never;

function staged({ instance, migration, ...options }: StageOptions = {}) {
  const row = {
    taskState: "resize_prep",
    host: "there",
    newFlavor: null,
    systemMetadata: { retained: "yes" },
    ...instance,
  };
  const ends = { ...TO_HERE, destNode: null };
  return stagedResize({ status: "pre-migrating", ...ends, ...migration }, row as never, options);
}

const message = { flavor: NEW, node: "node", alternates: ALTERNATES };

function prepare(stage: FlowStage, retry?: never) {
  return stage.failure("prep_resize", { ...message, ...(retry ? { retry } : {}) });
}

const BROKEN = { vmState: "error", taskState: null, newFlavor: null };

describe("6.3 row 4, on the destination", () => {
  test("claims, and sends the message to the source", async () => {
    const stage = staged();
    expect(await prepare(stage)).toBeNull();
    expect(stage.did).toEqual([
      ["placement.getAllocationsForConsumer", "vm", { requestId: REQUEST }],
      ["tracker.resizeClaim", VM(), "node", MOVE(), NEW, ALLOCATIONS, REQUEST],
      [
        "cast resize_instance",
        "there",
        { instanceUuid: "vm", migrationId: 7, requestId: REQUEST },
        { requestId: REQUEST },
      ],
    ]);
    expect(stage.events).toEqual(["compute_prep_resize", "Success"]);
    expect(stage.steps).toEqual(["prep_resize.accept", "prep_resize.claim", "prep_resize.cast"]);
    expect(stage.operations.incoming.migrations, "2.8 it is on its way to here").toEqual([7]);
  });
  test("no claim: the allocations come back, and then the move ends", async () => {
    const stage = staged();
    stage.replies["tracker.resizeClaim"] = new ComputeResourcesUnavailable("full");
    expect(await prepare(stage)).toMatchObject({ message: "full" });
    expect(stage.calls.slice(2, 4)).toEqual(ALLOCATIONS_RESTORED);
    expect(stage.argumentsOf("placement.moveAllocations")[0]?.[2]).toMatchObject({ requestId: REQUEST });
    expect(stage.did.slice(4)).toEqual([
      [
        "tracker.saveMove",
        {
          instance: VM(),
          migration: MOVE(),
          changes: { ...BROKEN, migrationContext: null },
          expectedTaskState: MOVE_TASKS,
          migrationChanges: { status: "error" },
        },
      ],
      ["instance_add_fault", expect.objectContaining({ message: "full" })],
    ]);
    expect(stage.events).toEqual(["compute_prep_resize", "Error"]);
    expect(stage.operations.incoming.size).toBe(0);
  });

  test("a claim whose message cannot be sent is dropped with what the row gets", async () => {
    const stage = staged();
    stage.replies["cast resize_instance"] = new Error("broken");
    expect(await prepare(stage)).toMatchObject({ message: "broken" });
    expect(stage.did.slice(-2)).toEqual([
      ["claim.abort", { instance: BROKEN, migrationStatus: "error" }],
      ["instance_add_fault", expect.objectContaining({ message: "Error" })],
    ]);
    expect(stage.calls).not.toContain("migration_save");
  });
  const rollback = new InstanceFaultRollback("x", { cause: new Error("inner") });

  test("the claim says that nothing happened: the instance keeps its state, and users see the inner error", async () => {
    const stage = staged();
    stage.replies["tracker.resizeClaim"] = rollback;
    expect(await prepare(stage)).toMatchObject({ message: "inner" });
    expect(stage.instance).toMatchObject({ vmState: "active", taskState: null, newFlavor: null });
    expect(stage.faults).toEqual(["Error"]);
  });

  test("nothing happened, but the allocations do not come back: error, and no other host", async () => {
    const stage = staged();
    stage.replies["tracker.resizeClaim"] = rollback;
    stage.replies["placement.moveAllocations"] = new Error("Placement");
    await prepare(stage, RETRY);
    expect(stage.instance?.vmState).toBe("error");
    expect(stage.calls).not.toContain("migrate_server");
    expect(stage.logged("could not return the allocations to the instance")).toBe(1);
  });

  test.each([
    ["before the claim", "tracker.resizeClaim", []],
    ["after it", "cast resize_instance", [["claim.abort"]]],
  ])("taken by somebody else %s: the claim goes, the migration ends, and the row is left", async (_, call, claim) => {
    const stage = staged();
    stage.replies[call] = new ConductorError("UnexpectedTaskState", "taken");
    expect(await prepare(stage)).toBeNull();
    const at = stage.calls.indexOf("placement.moveAllocations");
    expect(stage.did.slice(at + 1)).toEqual([...claim, ["migration_save", { id: 7, changes: { status: "error" } }]]);
    expect(stage.faults).toEqual([]);
    expect(stage.logged("could not")).toBe(0);
    expect(stage.operations.incoming.size).toBe(0);
  });

  test("a conductor that is silent: the move may have begun, and is on its way still", async () => {
    const stage = staged();
    stage.replies["cast resize_instance"] = new ConductorError("ConductorUnreachable", "away");
    expect(await prepare(stage)).toMatchObject({ code: "ConductorUnreachable" });
    expect(stage.calls.at(-1)).toBe("cast resize_instance");
    expect(stage.operations.incoming.migrations).toEqual([7]);
  });
});

describe("6.3 row 4, another host is requested", () => {
  test.each([
    ["the error is hopeless", new BuildAbortException("no"), null],
    ["the conductor does not take it", new Error("full"), new Error("refused")],
  ])("%s: the move ends here", async (_, error, reply) => {
    const stage = staged();
    stage.replies["tracker.resizeClaim"] = error;
    stage.replies.migrate_server = reply ?? undefined;
    expect(await prepare(stage, RETRY)).toBe(error);
    expect(stage.calls.includes("migrate_server")).toBe(reply !== null);
    expect(stage.instance).toMatchObject(BROKEN);
    expect(stage.events).toEqual(["compute_prep_resize", "Error"]);
  });
});

describe("6.3 row 4, the message is not carried out", () => {
  test.each([
    [
      "another request has it: its half comes back",
      { taskRequestId: "req-theirs" },
      {},
      [...ALLOCATIONS_RESTORED, "migration_save"],
    ],
    ["the move has failed meanwhile: its half comes back", {}, { status: "error" } as const, [...ALLOCATIONS_RESTORED]],
    ["the move has gone on: nothing is done", {}, { status: "migrating" } as const, []],
  ])("%s", async (_, instance, migration, calls) => {
    const stage = staged({ instance, migration });
    expect(await prepare(stage)).toBeNull();
    expect(stage.calls).toEqual(calls);
    for (const [, , options] of stage.argumentsOf("placement.moveAllocations")) {
      expect(options).toMatchObject({ requestId: REQUEST });
    }
    expect(stage.operations.incoming.size).toBe(0);
  });

  test("another request has it, and Placement fails: the migration ends all the same", async () => {
    const stage = staged({ instance: { taskRequestId: "req-theirs" } });
    stage.replies["placement.moveAllocations"] = new Error("Placement");
    await prepare(stage);
    expect(stage.did.at(-1)).toEqual(["migration_save", { id: 7, changes: { status: "error" } }]);
    expect(stage.logged("could not return the allocations to the instance")).toBe(1);
  });
});
