import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import {
  MigrationPreCheckError as DriverPreCheckError,
  InstanceExists,
  NotImplemented,
} from "../../../../../src/virt/errors.js";
import { DISKS, FlowStage, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";
import { MESSAGE } from "../../support/staged-live.js";
import { TO_HERE } from "../../support/staged-move.js";

function coming(options: StageOptions = {}) {
  return new FlowStage({
    ...options,
    instance: { host: "there", node: "far", taskState: "migrating", ...options.instance },
    migration: { migrationType: "live-migration", status: "preparing", ...TO_HERE, ...options.migration },
  });
}

const SENT = { blockMigration: true, sharedInstanceFiles: false, destinationHost: "here" };
const OPTIONS = { network: [], blockDevices: DISKS, data: SENT };

/** The caller's timeout has elapsed before its request was processed. */
const ABANDONED_CALLER = {
  assertCallerWaiting: () => {
    throw new Error("nobody waits");
  },
};

function runAbandoned(
  stage: FlowStage,
  method: "pre_live_migration" | "post_live_migration_at_destination" | "rollback_live_migration_at_destination",
) {
  return stage.operations.run(
    method,
    { ...MESSAGE, blockMigration: null, data: SENT, destroyDisks: true } as never,
    ABANDONED_CALLER,
  );
}

describe("6.5 row 6, on the destination", () => {
  const prepare = (stage: FlowStage) => stage.run("pre_live_migration", { blockMigration: null, data: SENT });

  test("has the driver prepare, and answers what it says; the guest is on its way from then on", async () => {
    const stage = coming();
    stage.replies["driver.preLiveMigration"] = { ...SENT, ready: "here" };
    expect(await prepare(stage)).toEqual({ ...SENT, ready: "here" });
    expect(stage.did).toEqual([["driver.preLiveMigration", VM(), OPTIONS]]);
    expect(stage.events).toEqual(["compute_pre_live_migration", "Success"]);
    expect(stage.steps).toEqual(["pre_live_migration.prepare_guest"]);
    expect(stage.operations.incoming.migrations).toEqual([7]);
  });

  test.each<[string, (stage: FlowStage) => void]>([
    ["the driver fails", (stage) => Object.assign(stage.replies, { "driver.preLiveMigration": new Error("broken") })],
    ["another request has it", (stage) => Object.assign(stage.instance ?? {}, { taskRequestId: "req-theirs" })],
    ["its migration is another's to prepare", (stage) => Object.assign(stage.migration ?? {}, { status: "running" })],
  ])("%s: it is not on its way", async (_, happens) => {
    const stage = coming();
    happens(stage);
    await expect(prepare(stage)).rejects.toThrow();
    expect(stage.operations.incoming.size).toBe(0);
    expect(stage.events.at(-1)).toBe("Error");
  });

  test("what the source did not say of files is taken to be shared", async () => {
    const stage = coming();
    await stage.run("pre_live_migration", {
      blockMigration: null,
      data: { sharedInstanceFiles: "?", blockMigration: "?" },
    });
    expect(stage.argumentsOf("driver.preLiveMigration")[0]?.[1]).toMatchObject({
      data: { sharedInstanceFiles: true, blockMigration: false },
    });
  });

  test("the caller no longer waits: nothing is prepared", async () => {
    const stage = coming();
    await expect(runAbandoned(stage, "pre_live_migration")).rejects.toThrow("nobody waits");
    expect(stage.did).toEqual([]);
    expect(stage.operations.incoming.size).toBe(0);
  });
});

describe("6.5 row 8, on the destination", () => {
  const take = (stage: FlowStage) => stage.failure("post_live_migration_at_destination", {});
  const taking = (options: StageOptions = {}) => {
    const stage = coming({ ...options, migration: { status: "running", ...options.migration } });
    stage.operations.incoming.begin(7, "vm");
    return stage;
  };
  const finish = (changes: object, taskState: (string | null)[]) => [
    "tracker.finishLiveMigration",
    VM(),
    "node",
    changes,
    { source: "there", taskState },
  ];
  const ADOPT = [
    "driver.postLiveMigrationAtDestination",
    VM(),
    { ...OPTIONS, data: { blockMigration: false, sharedInstanceFiles: true } },
  ];

  test("adopts the guest, and has the instance", async () => {
    const stage = taking();
    expect(await take(stage)).toBeNull();
    expect(stage.did).toEqual([ADOPT, finish({ taskState: null, powerState: 1, progress: 0 }, ["migrating"])]);
    expect(stage.operations.interrupted.all).toEqual([]);
    expect(stage.events).toEqual(["compute_post_live_migration_at_destination", "Success"]);
    expect(stage.steps).toEqual([
      "post_live_migration_at_destination.adopt_guest",
      "post_live_migration_at_destination.take_over",
    ]);
    expect(stage.operations.incoming.size).toBe(0);
  });

  test("a migration that notes no node has its host's", async () => {
    const stage = taking({ migration: { destNode: null } });
    await take(stage);
    expect(stage.argumentsOf("tracker.finishLiveMigration")[0]?.[1]).toBe("here");
  });

  test.each(["deleting", "soft-deleting"] as const)(
    "%s meanwhile: the records follow the guest, and the delete goes on here",
    async (actual) => {
      const stage = taking();
      let times = 0;
      stage.replies["tracker.finishLiveMigration"] = () =>
        times++ === 0
          ? new ConductorError("UnexpectedTaskState", "x", { actual })
          : { ...stage.instance, taskRequestId: "req-delete" };
      expect(await take(stage)).toBeNull();
      expect(stage.did.at(-1)).toEqual(finish({ powerState: 1 }, ["deleting", "soft-deleting"]));
      // The message of the delete waits on the source, which may die.
      expect(stage.operations.interrupted.all).toEqual([{ instanceUuid: "vm", requestId: "req-delete" }]);
    },
  );

  test.each([
    new ConductorError("UnexpectedTaskState", "x", { actual: "rebuilding" }),
    new ConductorError("InstanceNotFound", "gone"),
  ])("%o: not taken over", async (error) => {
    const stage = taking();
    stage.replies["tracker.finishLiveMigration"] = error;
    expect(await take(stage)).toBe(error);
    expect(stage.argumentsOf("tracker.finishLiveMigration")).toHaveLength(1);
    expect(stage.operations.incoming.size).toBe(0);
  });

  test("without a guest it says so, and writes nothing", async () => {
    const stage = taking();
    stage.replies["driver.powerState"] = 0;
    expect(await take(stage)).toMatchObject({ name: "ObjectActionError", data: { reason: "no guest" } });
    expect(stage.did).toEqual([]);
  });

  test("asked twice, the second finds it here", async () => {
    const stage = taking({ instance: { host: "here" } });
    expect(await take(stage)).toBeNull();
    expect(stage.did).toEqual([]);
  });

  test("an instance that has left the source is not taken over", async () => {
    const stage = taking({ instance: { host: "third" } });
    expect(await take(stage)).toMatchObject({ name: "InvalidMigrationState" });
    expect(stage.did).toEqual([]);
  });

  test("the caller no longer waits: nothing is taken over", async () => {
    const stage = taking();
    await expect(runAbandoned(stage, "post_live_migration_at_destination")).rejects.toThrow("nobody waits");
    expect(stage.did).toEqual([]);
    expect(stage.operations.incoming.size).toBe(0);
  });
});

describe("6.5 rollback, on the destination", () => {
  const rollBack = (stage: FlowStage, request: { destroyDisks?: boolean; guestGoes?: boolean } = {}) =>
    stage.failure("rollback_live_migration_at_destination", { destroyDisks: true, data: SENT, ...request });
  const left = (options: StageOptions = {}) => {
    const stage = coming({ ...options, migration: { status: "failed", ...options.migration } });
    stage.operations.incoming.begin(7, "vm");
    return stage;
  };
  const removes = (destroyDisks: boolean) => [
    "driver.rollbackLiveMigrationAtDestination",
    VM(),
    { ...OPTIONS, destroyDisks },
  ];

  test.each([true, false])("removes what was made (disks: %s), and waits for it no more", async (destroyDisks) => {
    const stage = left();
    expect(await rollBack(stage, { destroyDisks })).toBeNull();
    expect(stage.did).toEqual([removes(destroyDisks)]);
    expect(stage.events).toEqual(["compute_rollback_live_migration_at_destination", "Success"]);
    expect(stage.steps).toEqual(["rollback_live_migration_at_destination.remove_guest"]);
    expect(stage.operations.incoming.size).toBe(0);
  });

  test.each<[string, StageOptions]>([
    ["comes here by another migration", { others: [{ id: 8, destCompute: "here", status: "running" }] }],
    ["leaves from here by another one", { others: [{ id: 8, sourceCompute: "here", status: "accepted" }] }],
  ])("keeps what is left of an instance that %s", async (_, options) => {
    const stage = left(options);
    expect(await rollBack(stage)).toBeNull();
    expect(stage.did).toEqual([]);
    expect(stage.logged("the leftovers of a live migration are kept")).toBe(1);
  });

  test("of a deleted instance it goes", async () => {
    const stage = left({ instance: { deleted: 1 } });
    await rollBack(stage);
    expect(stage.calls).toEqual(["driver.rollbackLiveMigrationAtDestination"]);
  });

  test.each([
    [false, new InstanceExists("it runs"), "it runs"],
    [undefined, new InstanceExists("it runs"), "it runs"],
    [true, new InstanceExists("it runs"), null],
    [true, new Error("broken"), "broken"],
  ])("a guest that runs goes only if it is wanted elsewhere (%s, %o)", async (guestGoes, error, message) => {
    const stage = left();
    stage.replies["driver.rollbackLiveMigrationAtDestination"] = error;
    const failure = (await rollBack(stage, {
      ...(guestGoes === undefined ? {} : { guestGoes }),
      destroyDisks: false,
    })) as Error | null;
    expect(failure?.message ?? null).toBe(message);
    expect(stage.did.slice(1)).toEqual(
      message === null ? [["driver.destroy", VM(), { network: [], blockDevices: DISKS, destroyDisks: false }]] : [],
    );
    expect(stage.operations.incoming.size).toBe(0);
  });

  test("the caller no longer waits: nothing is removed", async () => {
    const stage = left();
    await expect(runAbandoned(stage, "rollback_live_migration_at_destination")).rejects.toThrow("nobody waits");
    expect(stage.did).toEqual([]);
  });
});

describe("6.5 row 4, the checks", () => {
  const CHECK_REQUEST = { blockMigration: null, diskOverCommit: true };
  const check = (stage: FlowStage) => stage.failure("check_can_live_migrate_destination", CHECK_REQUEST);
  const CLEANED = ["driver.cleanupLiveMigrationDestinationCheck", SENT];

  function checking(options: StageOptions = {}): FlowStage {
    const stage = coming(options);
    stage.replies["driver.checkCanLiveMigrateDestination"] = SENT;
    stage.replies["call check_can_live_migrate_source"] = { ...SENT, sourceHost: "there" };
    return stage;
  }

  test("the destination's driver, then the source's, and what was made for it goes", async () => {
    const stage = checking();
    expect(await stage.run("check_can_live_migrate_destination", CHECK_REQUEST)).toEqual({
      ...SENT,
      sourceHost: "there",
    });
    expect(stage.did).toEqual([
      ["driver.checkCanLiveMigrateDestination", VM(), CHECK_REQUEST],
      [
        "call check_can_live_migrate_source",
        "there",
        { instanceUuid: "vm", data: SENT, requestId: REQUEST },
        { requestId: REQUEST },
      ],
      CLEANED,
    ]);
    expect(stage.events).toEqual(["compute_check_can_live_migrate_destination", "Success"]);
    expect(stage.steps).toEqual([
      "check_can_live_migrate_destination.check_destination",
      "check_can_live_migrate_destination.check_source",
    ]);
  });

  test.each([
    ["driver.checkCanLiveMigrateDestination", new NotImplemented("no"), "no", false],
    ["call check_can_live_migrate_source", new Error("no"), "Error", true],
  ])("%s refuses: another host is tried", async (call, error, reason, cleans) => {
    const stage = checking();
    stage.replies[call] = error;
    const failure = await check(stage);
    expect(failure).toMatchObject({ name: "MigrationPreCheckError", message: `host here: ${reason}` });
    expect(failure).toMatchObject({ code: "MigrationPreCheckError" });
    expect(stage.did.slice(cleans ? 2 : 1)).toEqual(cleans ? [CLEANED] : []);
    expect(stage.logged("could not remove")).toBe(0);
  });

  test("a refusal that the driver words itself arrives as it is, without the host's name before it", async () => {
    const stage = checking();
    const preCheckError = new DriverPreCheckError("Migration pre-check error: another processor");
    stage.replies["driver.checkCanLiveMigrateDestination"] = preCheckError;
    expect(await check(stage)).toMatchObject({ name: "MigrationPreCheckError", message: preCheckError.message });
  });

  test.each([
    new ConductorError("InstanceNotFound", "gone"),
    new ConductorError("MigrationPreCheckError", "said by the source"),
  ])("%o is told as it is", async (error) => {
    const stage = checking();
    stage.replies["call check_can_live_migrate_source"] = error;
    expect(await check(stage)).toBe(error);
  });

  test("a clean-up that fails does not change the answer", async () => {
    const stage = checking();
    stage.replies[CLEANED[0] as string] = new Error("busy");
    expect(await check(stage)).toBeNull();
    expect(stage.logged("could not clean up after the checks of a live migration")).toBe(1);
  });

  test("an instance of another request is not checked", async () => {
    const stage = checking({ instance: { taskRequestId: "req-theirs" } });
    expect(await check(stage)).toMatchObject({ name: "MigrationPreCheckError" });
    expect(stage.did).toEqual([]);
  });

  const checkSource = (stage: FlowStage) =>
    stage.failure("check_can_live_migrate_source", { data: { destinationHost: "there" } });

  test("the source's driver is asked with what the destination's said", async () => {
    const stage = new FlowStage({ instance: { taskState: "migrating" } });
    stage.replies["driver.checkCanLiveMigrateSource"] = SENT;
    expect(await stage.run("check_can_live_migrate_source", { data: { destinationHost: "there" } })).toEqual(SENT);
    expect(stage.did).toEqual([
      [
        "driver.checkCanLiveMigrateSource",
        VM(),
        { destinationHost: "there", blockMigration: false, sharedInstanceFiles: true },
      ],
    ]);
    expect(stage.events).toEqual(["compute_check_can_live_migrate_source", "Success"]);
  });

  test("the source's driver refuses", async () => {
    const stage = new FlowStage({ instance: { taskState: "migrating" } });
    stage.replies["driver.checkCanLiveMigrateSource"] = new Error("no");
    expect(await checkSource(stage)).toMatchObject({ name: "MigrationPreCheckError", message: "host here: Error" });
  });

  test("an instance that is not here is not the source's to check", async () => {
    const stage = new FlowStage({ instance: { taskState: "migrating", host: "there" } });
    expect(await checkSource(stage)).toMatchObject({ name: "MigrationPreCheckError" });
    expect(stage.did).toEqual([]);
  });
});
