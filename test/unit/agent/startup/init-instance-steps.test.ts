import { describe, expect, test } from "vitest";
import { HostLeaseLost } from "../../../../src/agent/host-lease.js";
import { initInstance } from "../../../../src/agent/startup/init-instance.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { type Instance, type PowerState, SET_ASIDE_BY } from "../../../../src/records/index.js";
import { NotImplemented, PciDeviceNotFound } from "../../../../src/virt/errors.js";
import { REQUEST, VM } from "../support/flow-stage.js";
import { ALLOCATIONS_RESTORED, FROM_HERE, TO_HERE } from "../support/staged-move.js";
import { type StartOptions, StartStage } from "../support/start-stage.js";

const ID = { requestId: expect.stringMatching(/^req-/) };
const OURS = { requestId: REQUEST };
const MESSAGE = { instanceUuid: "vm", requestId: REQUEST };

function found(instance: Partial<Instance>, options: StartOptions & { readonly power?: PowerState } = {}) {
  const stage = new StartStage({ lacks: ["plugVifs"], ...options, instance });
  stage.replies["driver.powerState"] = options.power ?? 1;
  return stage;
}

async function init(stage: StartStage): Promise<unknown> {
  const { instance } = stage;
  return initInstance(stage.services, instance as Instance).then(
    () => null,
    (error: unknown) => error,
  );
}

const save = (changes: object, instance: Partial<Instance>, id: object = ID) => [
  "instance_save",
  {
    uuid: "vm",
    changes,
    expectedTaskState: [instance.taskState ?? null],
    expectedVmState: [instance.vmState ?? "active"],
    expectedHost: "here",
  },
  id,
];
const ERROR = [
  "instance_save",
  { uuid: "vm", changes: { vmState: "error" }, expectedHost: "here", expectedVmState: ["active"] },
  OURS,
];
const run = (method: string, more: object = {}) => ["operations.run", method, { ...MESSAGE, ...more }];

const AGAIN: readonly (readonly [Partial<Instance>, PowerState, readonly unknown[], boolean])[] = [
  [{ taskState: "deleting" }, 1, run("terminate_instance"), true],
  [{ taskState: "reboot_pending" }, 1, run("reboot_instance", { type: "SOFT" }), false],
  [{ taskState: "unpausing", vmState: "paused" }, 3, run("unpause_instance"), false],
  [{ taskState: "powering-off" }, 1, run("stop_instance"), false],
  [{ taskState: "powering-on", vmState: "stopped" }, 4, run("start_instance"), false],
  [{ taskState: "shelving_offloading", vmState: "shelved" }, 4, run("shelve_offload_instance"), false],
  [{ taskState: "pausing" }, 4, run("pause_instance"), false],
  [{ taskState: "suspending" }, 4, run("suspend_instance"), false],
  [{ taskState: "resuming", vmState: "suspended" }, 4, run("resume_instance"), false],
  [{ taskState: "unrescuing", vmState: "rescued" }, 4, run("unrescue_instance"), false],
  [{ taskState: "soft-deleting" }, 4, run("soft_delete_instance"), false],
  [{ taskState: "restoring", vmState: "soft-delete" }, 4, run("restore_instance"), false],
];

describe("2.6 what was interrupted goes on, for the request that began it", () => {
  test.each(AGAIN)("%o", async (instance, power, again) => {
    const stage = found(instance, { power });
    expect(await init(stage)).toBeNull();
    expect(stage.did).toEqual([again]);
  });

  test.each(AGAIN)("%o, and it fails again", async (instance, power, again, toError) => {
    const stage = found(instance, { power });
    stage.replies["operations.run"] = new Error("broken");
    expect(await init(stage)).toBeNull();
    expect(stage.did).toEqual([again, ...(toError ? [ERROR] : [])]);
    expect(stage.logged("could not")).toBe(1);
  });

  test.each(AGAIN)("%o, and the lease is lost: nothing more is written", async (instance, power) => {
    const stage = found(instance, { power });
    stage.replies["operations.run"] = new HostLeaseLost("here", "another agent");
    expect(await init(stage)).toBeInstanceOf(HostLeaseLost);
    expect(stage.calls).toEqual(["operations.run"]);
  });

  test("a row of an earlier release names no request: a new one does it", async () => {
    const stage = found({ taskState: "powering-off", taskRequestId: null });
    await init(stage);
    expect(stage.argumentsOf("operations.run")[0]?.[1]).toMatchObject(ID);
  });

  test("a soft reboot of a guest that is down is recorded as a hard one", async () => {
    const stage = found({ taskState: "reboot_started" }, { power: 4 });
    await init(stage);
    expect(stage.did).toEqual([
      save({ taskState: "reboot_pending_hard" }, { taskState: "reboot_started" }, OURS),
      run("reboot_instance", { type: "HARD" }),
    ]);
  });

  test("a partial deletion is completed; that it fails is only logged", async () => {
    const stage = found({ vmState: "deleted" });
    stage.replies["operations.completePartialDeletion"] = new Error("later");
    expect(await init(stage)).toBeNull();
    expect(stage.did).toEqual([["operations.completePartialDeletion", VM()]]);
    expect(stage.logged("could not complete a delete that was interrupted")).toBe(1);
  });
});

describe("2.6 what cannot go on ends", () => {
  const CLEARED = { taskState: null };
  const FAILED = { vmState: "error", taskState: null };

  test.each<[Partial<Instance>, object]>([
    [{ taskState: "rebuilding" }, FAILED],
    [{ taskState: "spawning" }, FAILED],
    [{ taskState: "image_snapshot" }, CLEARED],
    [{ taskState: "shelving" }, CLEARED],
    [{ taskState: "rescuing" }, CLEARED],
    [{ taskState: "updating_password" }, CLEARED],
    [
      { taskState: "unpausing", vmState: "paused" },
      { taskState: null, vmState: "active" },
    ],
  ])("%o becomes %o, if it is as it was found", async (instance, changes) => {
    const stage = found(instance);
    expect(await init(stage)).toBeNull();
    expect(stage.did).toEqual([save(changes, instance)]);
  });

  test.each([
    ["a hypervisor with a fence: what the build left goes first", true],
    ["without a fence the agent that built it may still be at it", false],
  ])("an interrupted build is in error; %s", async (_, supportsFencing) => {
    const instance = { vmState: "building", taskState: "spawning" } as const;
    const stage = found(instance, { capabilities: { supportsFencing } });
    expect(await init(stage)).toBeNull();
    const cleaned = supportsFencing ? [["driver.failedSpawnCleanup", VM()]] : [];
    expect(stage.did).toEqual([...cleaned, save(FAILED, instance, OURS)]);
  });

  test("what a build left cannot be removed: it is in error all the same", async () => {
    const stage = found({ vmState: "building", taskState: "spawning" }, { capabilities: { supportsFencing: true } });
    stage.replies["driver.failedSpawnCleanup"] = new Error("busy");
    expect(await init(stage)).toBeNull();
    expect(stage.instance?.vmState).toBe("error");
  });
});

describe("2.6 what is left", () => {
  test.each<[string, Partial<Instance>, number]>([
    ["another host's, and that is said", { host: "there", taskState: "deleting" }, 1],
    ["soft-deleted", { vmState: "soft-delete" }, 0],
    ["in error", { vmState: "error" }, 0],
    ["at rest", {}, 0],
  ])("%s", async (_, instance, warnings) => {
    const stage = found(instance);
    expect(await init(stage)).toBeNull();
    expect(stage.did).toEqual([]);
    expect(stage.logged("the instance is left alone")).toBe(warnings);
    expect(stage.argumentsOf("driver.powerState")).toHaveLength(instance.host === "there" ? 0 : 1);
    expect(stage.argumentsOf("instance_get"), "nothing has to be read again").toEqual([]);
  });

  test.each<[string, Partial<Instance> | null]>([
    ["deleted", null],
    ["on another host", { host: "there" }],
    ["in another task", { taskState: "deleting" }],
    ["in another state", { vmState: "paused" }],
  ])("an instance that is %s by now is somebody else's", async (_, changes) => {
    const stage = found({ taskState: "powering-off" });
    const listed = stage.instance as Instance;
    stage.instance = changes && { ...listed, ...changes };
    await initInstance(stage.services, listed);
    expect(stage.did).toEqual([]);
    expect(stage.logged("another request owns")).toBe(1);
  });

  test("a lease that was lost: nothing is done, and the start ends", async () => {
    for (const instance of [{ taskState: "powering-off" }, { taskState: "rebuilding" }] as const) {
      const stage = found(instance);
      stage.leaseHeld = false;
      expect(await init(stage)).toBeInstanceOf(HostLeaseLost);
      expect(stage.did).toEqual([]);
    }
  });
});

describe("2.6 row 14 ports", () => {
  const PLUGGED = ["driver.plugVifs", VM()];
  const HOST_BOOT = ["driver.resumeStateOnHostBoot", VM()];
  const plugging = () => found({}, { lacks: [], power: 4, config: { resumeGuestsStateOnHostBoot: true } });

  test.each<[string, Error | undefined, readonly unknown[]]>([
    ["plugged", undefined, [PLUGGED, HOST_BOOT]],
    ["a driver that plugs none", new NotImplemented("no"), [PLUGGED, HOST_BOOT]],
    ["a device that is not here: no row below", new PciDeviceNotFound("0000:05:00.1"), [PLUGGED]],
    [
      "a failure: in error, and no row below",
      new Error("no bridge"),
      [
        PLUGGED,
        [
          "instance_save",
          { uuid: "vm", changes: { vmState: "error" }, expectedHost: "here", expectedVmState: ["active"] },
          ID,
        ],
      ],
    ],
  ])("%s", async (_, error, did) => {
    const stage = plugging();
    stage.replies["driver.plugVifs"] = error;
    expect(await init(stage)).toBeNull();
    expect(stage.did).toEqual(did);
  });

  test("the lease is lost", async () => {
    const stage = plugging();
    stage.replies["driver.plugVifs"] = new HostLeaseLost("here", "another agent");
    expect(await init(stage)).toBeInstanceOf(HostLeaseLost);
  });
});

describe("2.6 row 17 after the host's boot", () => {
  const down = (resumeGuestsStateOnHostBoot = true) => found({}, { power: 4, config: { resumeGuestsStateOnHostBoot } });

  test("a guest that is down is brought back, if the option says so", async () => {
    const [resumed, unwanted] = [down(), down(false)];
    await init(resumed);
    await init(unwanted);
    expect([resumed.did, unwanted.did]).toEqual([[["driver.resumeStateOnHostBoot", VM()]], []]);
  });

  test("it fails: in error", async () => {
    const stage = down();
    stage.replies["driver.resumeStateOnHostBoot"] = new Error("no memory");
    await init(stage);
    expect(stage.did.slice(1)).toEqual([ERROR]);
  });

  test.each<[string, Partial<Instance> | null]>([
    ["has gone", { host: "there" }],
    ["is in a task", { taskState: "migrating" }],
    ["is deleted", null],
  ])("an instance that %s since its rows were looked at is left", async (_, changes) => {
    const stage = down();
    let readCount = 0;
    stage.replies.instance_get = () => {
      readCount += 1;
      if (readCount === 2) {
        stage.instance = changes && stage.instance && { ...stage.instance, ...changes };
      }
      return undefined;
    };
    await init(stage);
    expect(stage.did).toEqual([]);
  });
});

test.each([
  ["resize_prep", { ...FROM_HERE, status: "pre-migrating" }, ALLOCATIONS_RESTORED, "error"],
  [
    "resize_migrating",
    { ...FROM_HERE, status: "migrating" },
    ["driver.finishRevertMigration", ...ALLOCATIONS_RESTORED],
    "error",
  ],
  ["resize_finish", { ...TO_HERE, status: "post-migrating" }, ["placement.deleteAllocation"], "error"],
  ["resize_finish", { ...TO_HERE, status: "finished" }, ["placement.deleteAllocation"], "error"],
  [
    "migrating",
    { ...FROM_HERE, migrationType: "live-migration", status: "running" },
    ["driver.liveMigrationAbort", ...ALLOCATIONS_RESTORED],
    "error",
  ],
] as const)(
  "2.6 a move, in task %s: as its plan says, and both records last",
  async (taskState, migration, calls, status) => {
    const migrationContext = { migrationId: 7 } as Instance["migrationContext"];
    const stage = found({ taskState, migrationContext }, { migration });
    stage.replies["driver.checkInstanceSharedStorageLocal"] = new NotImplemented("no");
    expect(await init(stage)).toBeNull();
    expect(stage.calls.slice(0, calls.length)).toEqual(calls);
    expect(stage.did.at(-1)).toEqual(["save_together", expect.anything(), OURS]);
    expect(stage.migration?.status).toBe(status);
    expect(stage.instance?.taskState).toBeNull();
  },
);

test("2.6 row 16 a live migration whose guest is not here is left, in its task", async () => {
  const stage = found(
    { taskState: "migrating" },
    { migration: { ...FROM_HERE, migrationType: "live-migration", status: "running" }, power: 0 },
  );
  expect(await init(stage)).toBeNull();
  expect(stage.did).toEqual([]);
});

test("2.6 row 15' what an evacuation has left of a move is settled", async () => {
  const stage = found({ systemMetadata: { [SET_ASIDE_BY]: "7" } }, { migration: { ...FROM_HERE, status: "error" } });
  expect(await init(stage)).toBeNull();
  expect(stage.calls).toEqual(["operations.exclusively", "driver.finishRevertMigration", "save_together"]);
});

test("an error that says nothing of who has the instance ends the start", async () => {
  const stage = found({ taskState: "rebuilding" });
  stage.replies.instance_save = new Error("conductor");
  expect(await init(stage)).toMatchObject({ message: "conductor" });
  stage.replies.instance_save = new ConductorError("InstanceNotFound", "gone");
  expect(await init(stage)).toBeNull();
});
