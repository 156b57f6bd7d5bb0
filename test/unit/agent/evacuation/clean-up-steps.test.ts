import { describe, expect, test } from "vitest";
import { CleanUpProgress, cleanUpEvacuated } from "../../../../src/agent/evacuation/clean-up.js";
import { planEvacuatedCleanup } from "../../../../src/agent/evacuation/plan.js";
import { HostLeaseLost } from "../../../../src/agent/host-lease.js";
import { PendingEvacuations } from "../../../../src/agent/startup/pending-evacuations.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { type Migration, SET_ASIDE_BY } from "../../../../src/records/index.js";
import { NotImplemented } from "../../../../src/virt/errors.js";
import { aComputeNode } from "../../../fixtures/records.js";
import { DISKS, type StageOptions, VM } from "../support/flow-stage.js";
import { FROM_HERE } from "../support/staged-move.js";
import { StartStage } from "../support/start-stage.js";

const ID = { requestId: expect.stringMatching(/^req-/) };
const NODES = [aComputeNode({ host: "here", uuid: "node-uuid", hypervisorHostname: "node" })];
const STRIP = "placement.removeProviderTreeFromInstanceAllocation";
const stripped = (retry = true) => [STRIP, "vm", "node-uuid", { retry, ...ID }];
const COMPLETED = [
  "migration_save",
  { id: 7, changes: { status: "completed" }, expectedStatus: ["accepted", "pre-migrating", "done"] },
  ID,
];
const destroyed = (destroyDisks: boolean) => [
  "driver.destroy",
  VM(),
  { network: [], blockDevices: DISKS, destroyDisks },
];
const NOTED = ["metrics.evacuatedGuest", "destroyed"];

/** Creates an evacuation from this host; its guest is still on the hypervisor. */
function evacuated(options: StageOptions & { readonly guest?: boolean } = {}): StartStage {
  const stage = new StartStage({
    ...options,
    instance: { host: "there", node: "far", ...options.instance },
    migration: { ...FROM_HERE, migrationType: "evacuation", status: "done", ...options.migration },
  });
  stage.replies["driver.listInstanceUuids"] = options.guest === false ? [] : ["vm"];
  stage.replies["driver.checkInstanceSharedStorageLocal"] = new NotImplemented("no");
  return stage;
}

async function cleanUp(stage: StartStage, progress = new CleanUpProgress()): Promise<unknown> {
  const plan = await planEvacuatedCleanup(stage.services, NODES);
  return cleanUpEvacuated(stage.services, plan, progress).then(
    () => null,
    (error: unknown) => error,
  );
}

/** The recorded calls without read requests to the hypervisor. */

function did(stage: StartStage) {
  return stage.did.filter(([call]) => !/^driver\.(list|check)|^call check|^operations/.test(call));
}

describe("3.1 what an evacuation has left on its source", () => {
  test("asks for its own that are not cleaned up after, and for the instances of its guests", async () => {
    const stage = evacuated();
    await planEvacuatedCleanup(stage.services, NODES);
    expect(stage.lines).toEqual([
      [
        "migrations_by_filters",
        {
          filters: {
            sourceCompute: "here",
            migrationTypes: ["evacuation"],
            statuses: ["accepted", "pre-migrating", "done"],
            readDeleted: true,
          },
        },
      ],
      ["driver.listInstanceUuids"],
      ["instances_by_filters", { filters: { uuids: ["vm"] } }],
      ["migrations_by_filters", { filters: { instanceUuid: "vm", sourceCompute: "here" } }],
      [
        "migrations_by_filters",
        { filters: { instanceUuid: "vm", destCompute: "here", statuses: expect.not.arrayContaining(["done"]) } },
      ],
    ]);
    const none = evacuated({ migration: { status: "completed" } });
    expect(await planEvacuatedCleanup(none.services, NODES)).toEqual({ evacuated: new Map(), guests: [], records: [] });
    expect(none.lines).toHaveLength(1);
  });

  test("the guest, this host's share, the record", async () => {
    const stage = evacuated();
    expect(await cleanUp(stage)).toBeNull();
    expect(did(stage)).toEqual([destroyed(true), NOTED, stripped(), COMPLETED]);
  });

  test.each<[string, number, string, boolean]>([
    ["a later one that is not over", 8, "pre-migrating", false],
    ["a later one that is", 8, "failed", true],
    ["an earlier one", 6, "running", true],
  ])("%s that brings the instance back: this host's share is its own", async (_, id, status, strips) => {
    const other = { id, migrationType: "evacuation", status, destCompute: "here" } as Partial<Migration>;
    const stage = evacuated({ others: [other] });
    await cleanUp(stage);
    expect(did(stage)).toEqual([destroyed(true), NOTED, ...(strips ? [stripped()] : []), COMPLETED]);
  });

  test("without a guest there is nothing to destroy; the instance is read by its uuid", async () => {
    const stage = evacuated({ guest: false });
    await cleanUp(stage);
    expect(did(stage)).toEqual([stripped(), COMPLETED]);
    expect(stage.argumentsOf("instance_get")).toEqual([[{ uuid: "vm", readDeleted: true }]]);
  });

  test.each<[string, StageOptions, boolean | "ask"]>([
    ["a deleted instance's: go", { instance: { deleted: 1 } }, true],
    ["the destination sees them: stay", {}, "ask"],
    ["no destination is recorded: stay", { migration: { destCompute: null } }, false],
    [
      "upstream asks the instance's host then",
      { migration: { destCompute: null }, quirks: ["evacuation-probe-without-destination"] },
      "ask",
    ],
  ])("V5 the disks: %s", async (_, options, disks) => {
    const stage = evacuated(options);
    stage.replies["driver.checkInstanceSharedStorageLocal"] = { token: 1 };
    stage.replies["call check_instance_shared_storage"] = true;
    await cleanUp(stage);
    expect(did(stage)[0]).toEqual(destroyed(disks === true));
    expect(stage.argumentsOf("call check_instance_shared_storage").map(([host]) => host)).toEqual(
      disks === "ask" ? ["there"] : [],
    );
  });

  test("a deleted instance holds nothing: only the record ends", async () => {
    const stage = evacuated({ instance: { deleted: 1 } });
    await cleanUp(stage);
    expect(did(stage)).toEqual([destroyed(true), NOTED, COMPLETED]);
  });

  test.each<[string, StageOptions, (stage: StartStage) => void]>([
    ["a node that is not this host's", { migration: { sourceNode: "gone" } }, () => {}],
    ["no node", { migration: { sourceNode: null } }, () => {}],
    [
      "an instance that is not known",
      { guest: false } as StageOptions,
      (stage) => Object.assign(stage, { instance: null }),
    ],
  ])("a record of %s is left, and that is an error", async (_, options, happens) => {
    const stage = evacuated(options);
    happens(stage);
    await cleanUp(stage);
    expect(stage.calls).not.toContain("migration_save");
    expect(stage.logged("cannot clean up after the evacuation")).toBe(1);
  });

  test("an instance that has come back since keeps its guest, and the record ends", async () => {
    const stage = evacuated({ instance: { host: "here" } });
    const { evacuated: gone } = await planEvacuatedCleanup(stage.services, NODES);
    expect([...gone.keys()]).toEqual([]);
    await cleanUp(stage);
    expect(did(stage)).toEqual([COMPLETED]);
  });

  test("of two records of one instance the later counts", async () => {
    const stage = evacuated({ others: [{ id: 8, ...FROM_HERE, migrationType: "evacuation", status: "accepted" }] });
    const { records } = await planEvacuatedCleanup(stage.services, NODES);
    expect(records.map(({ migration }) => migration.id)).toEqual([8]);
  });

  test("a share that cannot be taken out keeps the record, unless nothing is held at all", async () => {
    const stage = evacuated();
    stage.replies[STRIP] = false;
    await cleanUp(stage);
    expect(did(stage).slice(2)).toEqual([stripped(), ["placement.getAllocationsForConsumer", "vm", ID]]);
    const empty = evacuated();
    empty.replies[STRIP] = false;
    empty.replies["placement.getAllocationsForConsumer"] = { allocations: {} };
    await cleanUp(empty);
    expect(did(empty).at(-1)).toEqual(COMPLETED);
    expect(empty.logged("could not remove this host's allocations of an evacuated instance")).toBe(1);
  });

  test("forget-failed-strip: upstream tries once, and forgets", async () => {
    const stage = evacuated({ quirks: ["forget-failed-strip"] });
    stage.replies[STRIP] = false;
    await cleanUp(stage);
    expect(did(stage).slice(2)).toEqual([stripped(false), COMPLETED]);
  });

  test("a record that has ended otherwise is left; another failure goes up", async () => {
    const ended = evacuated();
    ended.replies.migration_save = new ConductorError("InvalidMigrationState", "failed");
    expect(await cleanUp(ended)).toBeNull();
    expect(ended.logged("the evacuation's status changed during the cleanup")).toBe(1);
    const broken = evacuated();
    broken.replies.migration_save = new Error("conductor");
    expect(await cleanUp(broken)).toMatchObject({ message: "conductor" });
  });

  test.each([
    ["the guest", "driver.listInstanceUuids", []],
    ["the allocations", "metrics.evacuatedGuest", [destroyed(true), NOTED]],
    ["the record", STRIP, [destroyed(true), NOTED, stripped()]],
  ])("2.4 G6 without the lease %s is not touched", async (_, lostAt, touched) => {
    const stage = evacuated();
    const reply = stage.replies[lostAt];
    stage.replies[lostAt] = () => {
      stage.leaseHeld = false;
      return reply;
    };
    expect(await cleanUp(stage)).toBeInstanceOf(HostLeaseLost);
    expect(did(stage)).toEqual(touched);
  });
});

describe("3.3 GAP-c an evacuation that has not ended", () => {
  const pending = (options: StageOptions & { readonly guest?: boolean } = {}) =>
    evacuated({
      ...options,
      instance: { host: "here", ...options.instance },
      migration: { status: "accepted", ...options.migration },
    });
  const RETAINED_METRIC = ["metrics.evacuatedGuest", "kept"];
  const OFF = ["driver.powerOff", VM()];

  test.each([
    [1, true],
    [3, true],
    [4, false],
    [0, false],
  ])("its guest (power state %i) is kept, stopped (%s), and the record waits", async (power, stops) => {
    const stage = pending();
    stage.replies["driver.powerState"] = power;
    const progress = new CleanUpProgress();
    await cleanUp(stage, progress);
    expect(did(stage)).toEqual([RETAINED_METRIC, ...(stops ? [OFF] : [])]);
    expect([[...progress.stopped], [...progress.retained]]).toEqual([stops ? ["vm"] : [], ["vm"]]);
    await cleanUp(stage, progress);
    expect(did(stage), "once").toHaveLength(stops ? 2 : 1);
  });

  test("destroy-pending-evacuations: upstream destroys it", async () => {
    const stage = pending({ quirks: ["destroy-pending-evacuations"] });
    await cleanUp(stage);
    expect(did(stage)).toEqual([destroyed(true), NOTED, stripped(), COMPLETED]);
  });

  test("without the lease it is not stopped", async () => {
    const stage = pending();
    stage.leaseHeld = false;
    expect(await cleanUp(stage)).toBeInstanceOf(HostLeaseLost);
    expect(stage.calls).not.toContain("driver.powerOff");
  });

  const RESTARTED = [
    ["driver.instanceExists", VM()],
    ["driver.powerOn", VM()],
    ["instance_save", { uuid: "vm", changes: { powerState: 1 }, expectedHost: "here" }],
  ];

  /** Start-up has stopped the guest; then the evacuation ends with `status`. */
  async function begun(options: StageOptions = {}, stopped = true) {
    const stage = pending(options);
    stage.replies["driver.instanceExists"] = true;
    stage.replies["driver.powerState"] = stopped ? 1 : 4;
    const evacuations = new PendingEvacuations();
    const plan = await planEvacuatedCleanup(stage.services, NODES);
    evacuations.begin(plan, new Set(stopped ? ["vm"] : []));
    expect([...evacuations.instances]).toEqual(["vm"]);
    await evacuations.reevaluate(stage.services);
    stage.lines.length = 0;
    return { stage, evacuations };
  }

  test("while it waits its guest stays stopped", async () => {
    const { stage, evacuations } = await begun();
    await evacuations.reevaluate(stage.services);
    expect(stage.calls).not.toContain("driver.powerOn");
    expect(evacuations.size).toBe(1);
  });

  test("it failed: the guest runs again", async () => {
    const { stage, evacuations } = await begun();
    stage.migration = stage.migration && { ...stage.migration, status: "failed" };
    await evacuations.reevaluate(stage.services);
    expect(did(stage)).toEqual(RESTARTED);
    expect(evacuations.size).toBe(0);
  });

  test.each<[string, StageOptions["instance"], boolean, boolean]>([
    ["did not run before", {}, false, true],
    ["is another host's", { host: "there" }, true, true],
    ["is in error", { vmState: "error" }, true, true],
    ["is in a task", { taskState: "deleting" }, true, true],
    ["is gone from the hypervisor", {}, true, false],
  ])("it failed, but its guest %s: left off", async (_, instance, stopped, exists) => {
    const { stage, evacuations } = await begun({}, stopped);
    stage.migration = stage.migration && { ...stage.migration, status: "failed" };
    stage.instance = stage.instance && { ...stage.instance, ...instance };
    stage.replies["driver.instanceExists"] = exists;
    await evacuations.reevaluate(stage.services);
    expect(stage.calls).not.toContain("driver.powerOn");
  });

  test("it failed, and the lease is lost: nothing is started", async () => {
    const { stage, evacuations } = await begun();
    stage.migration = stage.migration && { ...stage.migration, status: "failed" };
    stage.leaseHeld = false;
    await expect(evacuations.reevaluate(stage.services)).rejects.toThrow(HostLeaseLost);
    expect(stage.calls).not.toContain("driver.powerOn");
  });

  test("row 15' what it left of a move comes back before", async () => {
    const { stage, evacuations } = await begun({ instance: { systemMetadata: { [SET_ASIDE_BY]: "8" } } });
    stage.migration = stage.migration && { ...stage.migration, status: "failed" };
    await evacuations.reevaluate(stage.services);
    expect(stage.calls.indexOf("operations.exclusively")).toBeLessThan(stage.calls.indexOf("driver.powerOn"));
    expect(stage.calls).toContain("save_together");
  });

  test("it is done: cleaned up after", async () => {
    const { stage, evacuations } = await begun();
    stage.migration = stage.migration && { ...stage.migration, status: "done" };
    stage.instance = stage.instance && { ...stage.instance, host: "there" };
    await evacuations.reevaluate(stage.services);
    expect(stage.calls).toEqual(expect.arrayContaining(["driver.destroy", STRIP, "migration_save"]));
    expect(evacuations.size).toBe(0);
  });

  test("nothing is asked when none is pending; the first look after a start is at every record", async () => {
    const stage = pending({ migration: { status: "completed" } });
    const evacuations = new PendingEvacuations();
    await evacuations.reevaluate(stage.services);
    expect(stage.lines).toEqual([]);
    evacuations.begin({ evacuated: new Map(), guests: [], records: [] }, new Set());
    stage.migration = stage.migration && { ...stage.migration, status: "accepted" };
    await evacuations.reevaluate(stage.services);
    expect([...evacuations.instances]).toEqual(["vm"]);
    expect(stage.calls).toContain("driver.powerOff");
  });

  test("later looks are at those that are known alone", async () => {
    const { stage, evacuations } = await begun();
    const [own, other] = [stage.migration, { ...FROM_HERE, migrationType: "evacuation", status: "accepted" }];
    stage.replies.migrations_by_filters = () => [own, { ...own, ...other, id: 9, instanceUuid: "second" }];
    await evacuations.reevaluate(stage.services);
    expect([...evacuations.instances]).toEqual(["vm"]);
  });

  test("a guest that was stopped by a look that failed is known to have run", async () => {
    const stage = pending({ migration: { status: "completed" } });
    const evacuations = new PendingEvacuations();
    evacuations.begin({ evacuated: new Map(), guests: [], records: [] }, new Set());
    stage.migration = stage.migration && { ...stage.migration, status: "accepted" };
    stage.replies["driver.instanceExists"] = true;
    const second = { id: 9, instanceUuid: "second", migrationType: "evacuation", status: "done", ...FROM_HERE };
    const done = { ...stage.migration, ...second };
    stage.replies.migrations_by_filters = () => [stage.migration, done];
    stage.replies.instance_get = ({ uuid }: { uuid: string }) =>
      uuid === "second" ? { ...stage.instance, uuid, host: "there" } : undefined;
    stage.replies[STRIP] = new Error("Placement");
    await expect(evacuations.reevaluate(stage.services)).rejects.toThrow("Placement");
    stage.replies.migrations_by_filters = () => [];
    await evacuations.reevaluate(stage.services);
    expect(stage.calls).toContain("driver.powerOn");
  });
});
