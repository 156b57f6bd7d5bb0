import { describe, expect, test } from "vitest";
import type { MoveRecovery } from "../../../../src/agent/startup/plan-move-recovery.js";
import { recoverMove } from "../../../../src/agent/startup/recover-move.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { DISK_INFO, type Instance } from "../../../../src/records/index.js";
import { ALLOCATIONS, DISKS, IMAGE, MOVE, REQUEST, type StageOptions, VM } from "../support/flow-stage.js";
import { ALLOCATIONS_DROPPED, ALLOCATIONS_RESTORED, FROM_HERE, TO_HERE } from "../support/staged-move.js";
import { StartStage } from "../support/start-stage.js";

const ID = { requestId: REQUEST };
const CHANGES = { taskState: null };
const GUEST = { network: [], blockDevices: DISKS };

type Planned = Partial<Omit<MoveRecovery, "migration">> & { readonly moves?: boolean };

function staged(options: StageOptions = {}): StartStage {
  return new StartStage({
    ...options,
    instance: { taskState: "resize_migrating", ...options.instance },
    migration: { migrationType: "resize", status: "migrating", ...FROM_HERE, ...options.migration },
  });
}

async function recover(stage: StartStage, { moves = true, ...planned }: Planned): Promise<unknown> {
  const recovery: MoveRecovery = {
    migration: moves ? stage.migration : null,
    driver: "none",
    powerOn: true,
    allocations: "none",
    changes: CHANGES,
    failsMigration: false,
    ...planned,
  };
  return recoverMove(stage.services, stage.instance as Instance, recovery, REQUEST).then(
    () => null,
    (error: unknown) => error,
  );
}

const ofInstance = (changes: object) => ({
  uuid: "vm",
  changes,
  expectedTaskState: ["resize_migrating"],
  expectedHost: "here",
});
const ends = (changes: object, migration?: object) => [
  "save_together",
  { instance: ofInstance(changes), ...(migration ? { migration } : {}) },
  ID,
];
const ofMove = (status: string) => ({ id: 7, changes: { status }, expectedStatus: ["migrating"] });

describe("2.6 a move that died halfway is put right", () => {
  test("hypervisor, allocations, and both records in one write", async () => {
    const stage = staged();
    await recover(stage, { driver: "finish-revert", allocations: "give-back", failsMigration: true });
    expect(stage.did).toEqual([
      ["driver.finishRevertMigration", VM(), { ...GUEST, migration: MOVE(), powerOn: true }],
      ["placement.getAllocationsForConsumer", "move", ID],
      ["placement.moveAllocations", "move", "vm", expect.objectContaining(ID)],
      ends(CHANGES, ofMove("error")),
    ]);
  });

  test("nothing is done where nothing is certain, and that is said", async () => {
    const stage = staged();
    await recover(stage, { driver: "finish-revert", unclear: "nobody knows" });
    expect(stage.did).toEqual([]);
    expect(stage.logged("is left as it is: nobody knows")).toBe(1);
  });

  test("only the instance, where the move is not failed", async () => {
    const stage = staged();
    await recover(stage, {});
    expect(stage.did).toEqual([ends(CHANGES)]);
  });

  test("without a migration there is nothing in Placement, nor a status", async () => {
    const stage = staged();
    await recover(stage, {
      moves: false,
      allocations: "give-back",
      failsMigration: true,
      revives: true,
      destination: "there",
      dropsSetAside: true,
    });
    expect(stage.did).toEqual([ends({ ...CHANGES, taskRequestId: REQUEST })]);
  });

  test("a move that goes on is running again, for this request", async () => {
    const stage = staged();
    await recover(stage, { revives: true });
    expect(stage.did).toEqual([ends({ ...CHANGES, taskRequestId: REQUEST }, ofMove("running"))]);
  });

  test("the source's half is dropped where the guest stays on the destination", async () => {
    const stage = staged();
    await recover(stage, { allocations: "drop-migration" });
    expect(stage.did).toEqual([ALLOCATIONS_DROPPED, ends(CHANGES)]);
  });

  test.each([
    ["the instance gets what the plan says", undefined, CHANGES],
    ["or what it says for that", { vmState: "error" } as const, { vmState: "error" }],
  ])("the hypervisor fails: %s", async (_, changesIfFailed, changes) => {
    const stage = staged();
    stage.replies["driver.finishRevertMigration"] = new Error("broken");
    const failed = changesIfFailed ? { changesIfFailed } : {};
    await recover(stage, { driver: "finish-revert", allocations: "give-back", destination: "there", ...failed });
    expect(stage.calls.slice(1)).toEqual([...ALLOCATIONS_RESTORED, "save_together"]);
    expect(stage.did.at(-1)).toEqual(ends(changes));
    expect(stage.logged("the hypervisor could not revert an interrupted move")).toBe(1);
  });

  test("Placement fails: the records stay, for the next start", async () => {
    const stage = staged();
    stage.replies["placement.moveAllocations"] = new Error("Placement");
    await recover(stage, { allocations: "give-back", destination: "there" });
    expect(stage.calls).toEqual([...ALLOCATIONS_RESTORED]);
    expect(stage.logged("its records stay")).toBe(1);
  });

  test("the instance is somebody else's by now: the move ends alone", async () => {
    const stage = staged();
    stage.replies.save_together = new ConductorError("UnexpectedTaskState", "taken");
    await recover(stage, { failsMigration: true });
    expect(stage.did.at(-1)).toEqual(["migration_save", ofMove("error"), ID]);
  });

  test.each([
    ["no move of this was to be ended", new ConductorError("UnexpectedTaskState", "taken"), false],
    ["the move has ended otherwise", new ConductorError("InvalidMigrationState", "done"), true],
    ["the conductor fails", new Error("conductor"), true],
  ])("%s: that goes up", async (_, error, failsMigration) => {
    const stage = staged();
    stage.replies.save_together = error;
    expect(await recover(stage, { failsMigration })).toBe(error);
    expect(stage.calls).toEqual(["save_together"]);
  });
});

describe("2.6 on the hypervisor", () => {
  test.each([true, false])("a copy is stopped, where the driver can (%s)", async (able) => {
    const stage = staged({ lacks: able ? [] : ["liveMigrationAbort"] });
    await recover(stage, { driver: "abort" });
    expect(stage.did).toEqual([...(able ? [["driver.liveMigrationAbort", VM()]] : []), ends(CHANGES)]);
  });

  test.each([
    [true, ["driver.instanceExists", "driver.powerOn", "save_together"]],
    [false, ["driver.instanceExists", "save_together"]],
  ])("a guest that the destination had made already is powered on if it ran (%s)", async (powerOn, calls) => {
    const stage = staged({ migration: TO_HERE });
    stage.replies["driver.instanceExists"] = true;
    await recover(stage, { driver: "finish", powerOn });
    expect(stage.calls).toEqual(calls);
  });

  test.each([
    [{ oldInstanceTypeId: 1, newInstanceTypeId: 2 }, { [DISK_INFO]: "info" }, true, "info"],
    [{ oldInstanceTypeId: 1, newInstanceTypeId: 1 }, {}, false, ""],
  ])(
    "one that it had not made is made of what the source has sent: %o",
    async (types, systemMetadata, resizeInstance, info) => {
      const stage = staged({ migration: { ...TO_HERE, ...types }, instance: { systemMetadata } });
      await recover(stage, { driver: "finish", powerOn: false });
      expect(stage.argumentsOf("compute_node_get_by_host_and_node")).toEqual([[{ host: "here", node: "node" }]]);
      expect(stage.did.slice(0, -1)).toEqual([
        ["driver.instanceExists", VM()],
        ["placement.getAllocationsForConsumer", "vm", ID],
        [
          "driver.finishMigration",
          MOVE(),
          VM(),
          info,
          { ...GUEST, allocations: ALLOCATIONS, image: { ...IMAGE, properties: {} }, resizeInstance, powerOn: false },
        ],
      ]);
    },
  );

  test("nothing is made without a migration", async () => {
    const stage = staged();
    await recover(stage, { driver: "finish", moves: false });
    expect(stage.calls).toEqual(["driver.instanceExists", "save_together"]);
  });
});

describe("2.6 on the move's other host", () => {
  const CLEANS = "cast rollback_live_migration_at_destination";

  test.each([
    [true, {}],
    [false, { guestGoes: true }],
  ])("what a live migration made there goes; files that it shares (%s) stay", async (shared, more) => {
    const stage = staged({ migration: { migrationType: "live-migration" } });
    stage.replies["call check_instance_shared_storage"] = shared;
    await recover(stage, { destination: "there", ...more });
    expect(stage.argumentsOf("call check_instance_shared_storage")).toEqual([
      ["there", { instanceUuid: "vm", token: { token: 1 } }, ID],
    ]);
    expect(stage.did.slice(-2)).toEqual([
      [
        CLEANS,
        "there",
        {
          instanceUuid: "vm",
          migrationId: 7,
          destroyDisks: !shared,
          data: { sharedInstanceFiles: shared },
          requestId: REQUEST,
          ...more,
        },
      ],
      ends(CHANGES),
    ]);
  });

  test("what a cold one set aside goes", async () => {
    const stage = staged({ migration: TO_HERE });
    await recover(stage, { dropsSetAside: true });
    expect(stage.did).toEqual([
      ["cast confirm_resize", "there", { instanceUuid: "vm", migrationId: 7, requestId: REQUEST }],
      ends(CHANGES),
    ]);
  });

  test("nobody is told of a move that set nothing aside", async () => {
    const stage = staged({ migration: TO_HERE });
    await recover(stage, { dropsSetAside: false, destination: null });
    expect(stage.calls).toEqual(["save_together"]);
  });
});

describe("2.6 row 15' the guest is on the destination: so must be what it holds", () => {
  const HELD = { allocations: ALLOCATIONS, consumerGeneration: 3 };

  function claiming(options: StageOptions = {}): StartStage {
    const stage = staged(options);
    stage.replies["placement.getAllocationsForConsumer"] = HELD;
    stage.replies.compute_node_get_by_host_and_node = { uuid: "far-uuid" };
    stage.replies["placement.putAllocations"] = true;
    return stage;
  }

  test("its flavor's amounts are added there, at the generation that was read", async () => {
    const stage = claiming();
    await recover(stage, { allocations: "claim-destination" });
    expect(stage.argumentsOf("compute_node_get_by_host_and_node")).toEqual([[{ host: "there", node: "far" }]]);
    const resources = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
    expect(stage.did).toEqual([
      ["placement.getAllocationsForConsumer", "vm", ID],
      [
        "placement.putAllocations",
        "vm",
        {
          allocations: { ...ALLOCATIONS, "far-uuid": { resources } },
          projectId: "project",
          userId: "user",
          read: HELD,
        },
        ID,
      ],
      ends(CHANGES),
    ]);
  });

  test("V23 one that was deleted meanwhile holds nothing in the end", async () => {
    const stage = claiming();
    stage.replies["placement.putAllocations"] = () => {
      stage.instance = null;
      return true;
    };
    await recover(stage, { allocations: "claim-destination" });
    expect(stage.argumentsOf("placement.deleteAllocation")).toContainEqual(["vm", { force: true, ...ID }]);
  });

  const NEED = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };

  test("nothing is written if its allocations there are those of its flavor", async () => {
    const stage = claiming();
    stage.replies["placement.getAllocationsForConsumer"] = {
      ...HELD,
      allocations: { "far-uuid": { resources: NEED } },
    };
    await recover(stage, { allocations: "claim-destination" });
    expect(stage.calls).toEqual(["placement.getAllocationsForConsumer", "save_together"]);
  });

  test("allocations left there by an evacuation, of another flavor, are replaced", async () => {
    const stage = claiming();
    const allocations = { "far-uuid": { resources: { ...NEED, VCPU: 2 } } };
    stage.replies["placement.getAllocationsForConsumer"] = { ...HELD, allocations };
    await recover(stage, { allocations: "claim-destination" });
    expect(stage.argumentsOf("placement.putAllocations")[0]?.[1]).toMatchObject({
      allocations: { "far-uuid": { resources: NEED } },
    });
  });

  test.each<[string, StageOptions["migration"], (stage: StartStage) => void]>([
    ["no room", {}, (stage) => Object.assign(stage.replies, { "placement.putAllocations": false })],
    [
      "no node of it",
      { destCompute: null, destNode: null },
      (stage) => Object.assign(stage.replies, { compute_node_get_by_host_and_node: () => null }),
    ],
  ])("there is %s: the records stay", async (_, migration, happens) => {
    const stage = claiming({ migration });
    happens(stage);
    await recover(stage, { allocations: "claim-destination" });
    expect(stage.calls).not.toContain("save_together");
    if (migration?.destNode === null) {
      expect(stage.argumentsOf("compute_node_get_by_host_and_node")).toEqual([[{ host: "", node: "" }]]);
    }
  });
});
