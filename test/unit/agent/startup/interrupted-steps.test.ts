import { describe, expect, test } from "vitest";
import { HostLeaseLost } from "../../../../src/agent/host-lease.js";
import { takeGuestBack, takeGuestsBack } from "../../../../src/agent/startup/init-instance.js";
import { failInterruptedBuilds, findInterruptedBuilds } from "../../../../src/agent/startup/interrupted-builds.js";
import {
  failInterruptedEvacuation,
  findInterruptedEvacuations,
  type InterruptedEvacuation,
} from "../../../../src/agent/startup/interrupted-evacuations.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { PlacementError } from "../../../../src/placement-client/errors.js";
import { type Instance, type Migration, SET_ASIDE_BY } from "../../../../src/records/index.js";
import { aComputeNode } from "../../../fixtures/records.js";
import { DISKS, MOVE, VM } from "../support/flow-stage.js";
import { FROM_HERE, TO_HERE } from "../support/staged-move.js";
import { StartStage } from "../support/start-stage.js";

const ID = { requestId: expect.stringMatching(/^req-/) };
const NODE = aComputeNode({ host: "here", uuid: "node-uuid", hypervisorHostname: "node" });

function outcome(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => error);
}

describe("2.7 builds that the agent's death has interrupted", () => {
  const building = (instance: Partial<Instance> = {}) => {
    const stage = new StartStage({
      instance: { host: null, launchedOn: null, vmState: "building", taskState: "scheduling", ...instance },
    });
    stage.replies["placement.getAllocationsForProvider"] = { consumers: new Map([["vm", {}]]) };
    return stage;
  };
  const find = (stage: StartStage, nodes = [NODE], handled: readonly string[] = []) =>
    findInterruptedBuilds(stage.services, nodes, new Set(handled));

  test("are those that hold something on a node of this host, once each", async () => {
    const stage = building();
    const found = await find(stage, [NODE, aComputeNode({ host: "here", uuid: "second" })]);
    expect(found).toEqual([stage.instance]);
    expect(stage.argumentsOf("placement.getAllocationsForProvider")).toEqual([
      ["node-uuid", ID],
      ["second", ID],
    ]);
    expect(stage.argumentsOf("instances_by_filters")[0]).toEqual([
      { filters: { uuids: ["vm"], vmStates: ["building", "shelved_offloaded"], deleted: false } },
    ]);
  });

  test.each<[string, Partial<Instance>, boolean]>([
    ["is unshelved", { vmState: "shelved_offloaded", taskState: "unshelving" }, true],
    ["is unshelved, and spawns", { vmState: "shelved_offloaded", taskState: "spawning" }, true],
    ["is offloaded, and at rest", { vmState: "shelved_offloaded", taskState: null }, false],
    ["is unshelved on a host", { vmState: "shelved_offloaded", taskState: "unshelving", host: "there" }, false],
    ["builds on a host", { host: "there" }, true],
  ])("one that %s: %#", async (_, instance, isFound) => {
    expect((await find(building(instance))).length).toBe(isFound ? 1 : 0);
  });

  test("not on a node that another host has now, nor one that start-up has dealt with", async () => {
    const elsewhere = building();
    expect(await find(elsewhere, [aComputeNode({ host: "there" })])).toEqual([]);
    expect(elsewhere.argumentsOf("placement.getAllocationsForProvider")).toEqual([]);
    const handled = building();
    expect(await find(handled, [NODE], ["vm"])).toEqual([]);
  });

  test("a node that cannot be asked about is skipped, and that is an error", async () => {
    const stage = building();
    stage.replies["placement.getAllocationsForProvider"] = new Error("Placement");
    expect(await find(stage)).toEqual([]);
    expect(stage.runtime.logs.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  test("become errors with a fault, if they are as they were found; what they hold stays", async () => {
    const stage = building();
    await failInterruptedBuilds(stage.services, [stage.instance as Instance]);
    expect(stage.did).toEqual([
      [
        "instance_save",
        {
          uuid: "vm",
          changes: { vmState: "error", taskState: null },
          expectedTaskState: ["scheduling"],
          expectedVmState: ["building"],
          expectedHost: null,
        },
        ID,
      ],
      [
        "instance_add_fault",
        expect.objectContaining({
          uuid: "vm",
          message: "the agent of host here stopped before the instance was built",
        }),
      ],
    ]);
  });

  const HANDED_BACK = { vmState: "building", taskState: "scheduling" } as const;
  const UNSHELVED = { vmState: "shelved_offloaded", taskState: "spawning" } as const;

  test.each<[string, Partial<Instance>, boolean]>([
    ["that this host had accepted", { launchedOn: "here" }, true],
    ["that another host had accepted", { launchedOn: "there" }, false],
    ["whose guest is made here", { launchedOn: "here", host: "here" }, false],
    ["of which a build was to be handed back", { launchedOn: "here", ...HANDED_BACK }, true],
    ["of which a build was handed back", { launchedOn: null, ...HANDED_BACK }, false],
  ])("also one %s, with nothing held any more: %#", async (_, instance, isFound) => {
    const stage = building({ ...UNSHELVED, ...instance });
    stage.replies["placement.getAllocationsForProvider"] = { consumers: new Map() };
    expect((await find(stage)).length).toBe(isFound ? 1 : 0);
    expect((await find(stage, [NODE], ["vm"])).length, "it is dealt with").toBe(0);
  });

  test("of an unshelve: what it holds goes, and it is offloaded as before", async () => {
    const stage = building(UNSHELVED);
    await failInterruptedBuilds(stage.services, [stage.instance as Instance]);
    expect(stage.did).toEqual([
      ["placement.deleteAllocation", "vm", { force: true, ...ID }],
      [
        "instance_save",
        {
          uuid: "vm",
          changes: { taskState: null, launchedOn: null, availabilityZone: null },
          expectedTaskState: ["unshelving", "spawning"],
        },
        ID,
      ],
    ]);
  });

  test("an unshelve that cannot be ended is said, and the next build is looked at", async () => {
    const stage = building(UNSHELVED);
    stage.replies["placement.deleteAllocation"] = new Error("Placement");
    const vm = stage.instance as Instance;
    await failInterruptedBuilds(stage.services, [vm, vm]);
    expect(stage.calls).toEqual(["placement.deleteAllocation", "placement.deleteAllocation"]);
    expect(stage.logged("could not end an interrupted unshelve")).toBe(2);
  });

  test("one that is somebody else's by now is left", async () => {
    const taken = building(UNSHELVED);
    const listed = taken.instance as Instance;
    taken.instance = { ...listed, taskState: "deleting" };
    await failInterruptedBuilds(taken.services, [listed]);
    expect(taken.did).toEqual([]);
    const saved = building();
    saved.replies.instance_save = new ConductorError("UnexpectedTaskState", "taken");
    await failInterruptedBuilds(saved.services, [saved.instance as Instance]);
    expect(saved.logged("another request owns")).toBe(1);
  });
});

describe("6.7 evacuations to here that the agent's death has interrupted", () => {
  const coming = (migration: Partial<Migration> = {}, instance: Partial<Instance> = {}) =>
    new StartStage({
      instance: { host: "there", taskState: "rebuilding", ...instance },
      migration: { ...TO_HERE, migrationType: "evacuation", status: "accepted", ...migration },
    });
  const find = (stage: StartStage) => findInterruptedEvacuations(stage.services, [NODE]);
  const CLAIMED = { status: "pre-migrating" } as const;

  test("one that is claimed fails, one that is not may be tried again at once", async () => {
    const accepted = coming();
    expect(await find(accepted)).toMatchObject([{ node: NODE, changes: { taskState: null }, claimed: false }]);
    expect(accepted.argumentsOf("migrations_by_filters")).toEqual([
      [{ filters: { destCompute: "here", migrationTypes: ["evacuation"], statuses: ["accepted", "pre-migrating"] } }],
    ]);
    expect(accepted.argumentsOf("placement.getAllocationsForConsumer")).toEqual([["vm", ID]]);
    const claimed = coming(CLAIMED);
    expect(await find(claimed)).toMatchObject([
      { node: NODE, changes: { vmState: "error", taskState: null }, claimed: true },
    ]);
    expect(claimed.argumentsOf("placement.getAllocationsForConsumer")).toEqual([]);
  });

  test.each<[string, Partial<Migration>, Partial<Instance>]>([
    ["whose instance is here", {}, { host: "here" }],
    ["whose instance is here, and busy", CLAIMED, { host: "here" }],
    ["whose instance is here, and that nobody has begun", {}, { host: "here", taskState: null }],
    ["whose instance is deleted", {}, { deleted: 1 }],
    ["to a node that is not this host's any more", { ...CLAIMED, destNode: "gone" }, {}],
    ["to no node", { ...CLAIMED, destNode: null }, {}],
  ])("not one %s", async (_, migration, instance) => {
    expect(await find(coming(migration, instance))).toEqual([]);
  });

  test("one that holds nothing here was not handed over yet", async () => {
    const stage = coming();
    stage.replies["placement.getAllocationsForConsumer"] = { allocations: { elsewhere: {} } };
    expect(await find(stage)).toEqual([]);
  });

  test("a Placement that is away is waited for; another failure leaves it for the next start", async () => {
    const away = coming();
    away.replies["placement.getAllocationsForConsumer"] = new PlacementError("ConnectFailure", "away");
    await expect(find(away)).rejects.toThrow("away");
    const broken = coming();
    broken.replies["placement.getAllocationsForConsumer"] = new Error("broken");
    expect(await find(broken)).toEqual([]);
    expect(broken.logged("could not check whether an evacuation to this host was interrupted")).toBe(1);
  });

  async function undone(stage: StartStage, happens = () => {}): Promise<unknown> {
    const [found] = await find(stage);
    happens();
    return outcome(failInterruptedEvacuation(stage.services, found as InterruptedEvacuation));
  }
  const STRIP = ["placement.removeProviderTreeFromInstanceAllocation", "vm", "node-uuid", { retry: true, ...ID }];
  const ends = (from: string, changes: object) => [
    "save_together",
    {
      instance: {
        uuid: "vm",
        changes,
        expectedTaskState: ["rebuilding"],
        expectedHost: "there",
        ofRequest: "req-ours",
      },
      migration: { id: 7, changes: { status: "failed" }, expectedStatus: [from] },
    },
    ID,
  ];
  const since = (stage: StartStage) => stage.did.filter(([call]) => call !== "placement.getAllocationsForConsumer");

  test("what was claimed here goes, and the records", async () => {
    const stage = coming();
    await undone(stage);
    expect(since(stage)).toEqual([STRIP, ends("accepted", { taskState: null })]);
  });

  test("V5 so does the guest, without its disks", async () => {
    const stage = coming(CLAIMED);
    await undone(stage);
    expect(since(stage)).toEqual([
      ["driver.destroy", VM(), { network: [], blockDevices: DISKS, destroyDisks: false }],
      STRIP,
      ends("pre-migrating", { vmState: "error", taskState: null }),
    ]);
  });

  test("under a Nova the agent died when the instance was here: only the status is left to be written", async () => {
    const stage = coming(CLAIMED, { host: "here", taskState: null, vmState: "active" });
    await undone(stage);
    expect(stage.did).toEqual([
      ["migration_save", { id: 7, changes: { status: "done" }, expectedStatus: ["pre-migrating"] }],
    ]);
  });

  test("an instance in another task by now keeps it: only the migration fails", async () => {
    const stage = coming({}, { taskState: null });
    await undone(stage);
    expect(stage.did.at(-1)).toEqual([
      "save_together",
      { migration: { id: 7, changes: { status: "failed" }, expectedStatus: ["accepted"] } },
      ID,
    ]);
    const claimed = coming(CLAIMED, { taskState: null });
    await undone(claimed);
    expect(claimed.argumentsOf("save_together")[0]?.[0]).toMatchObject({ instance: { expectedTaskState: [null] } });
  });

  test.each<[string, Partial<Instance>, number]>([
    ["has gone elsewhere since", { host: "elsewhere", taskState: "rebuilding" }, 7],
    ["is asked to be deleted", { taskState: "soft-deleting" }, 7],
    ["is evacuated to another host", { taskState: "rebuilding" }, 8],
  ])("an instance that %s is left: only the migration fails", async (_, instance, newest) => {
    const stage = coming(CLAIMED, instance);
    const [found] = await find(stage);
    stage.replies.migrations_by_filters = [{ id: 7 }, { id: newest }];
    await failInterruptedEvacuation(stage.services, found as InterruptedEvacuation);
    expect(stage.argumentsOf("save_together")[0]?.[0]).toEqual({
      migration: { id: 7, changes: { status: "failed" }, expectedStatus: ["pre-migrating"] },
    });
  });

  test("the conductor has ended it meanwhile: left", async () => {
    const stage = coming(CLAIMED);
    await undone(stage, () => {
      stage.migration = stage.migration && { ...stage.migration, status: "failed" };
    });
    expect(since(stage)).toEqual([]);
    const gone = coming(CLAIMED);
    await undone(gone, () => {
      gone.migration = null;
    });
    expect(since(gone)).toEqual([]);
  });

  test("the share that cannot be taken out is said, and the records end all the same", async () => {
    const stage = coming();
    stage.replies[STRIP[0] as string] = false;
    await undone(stage);
    expect(stage.logged("could not remove this host's allocations of the instance")).toBe(1);
    expect(stage.calls.at(-1)).toBe("save_together");
  });

  test("without the host's lease nothing is touched", async () => {
    const stage = coming(CLAIMED);
    stage.leaseHeld = false;
    expect(await undone(stage)).toBeInstanceOf(HostLeaseLost);
    expect(since(stage)).toEqual([]);
  });
});

describe("2.6 row 15' a guest that is taken back", () => {
  const aside = (instance: Partial<Instance> = {}) =>
    new StartStage({
      instance: { systemMetadata: { [SET_ASIDE_BY]: "7" }, ...instance },
      migration: { ...FROM_HERE, migrationType: "resize", status: "error" },
    });
  const BACK = ["operations.exclusively", "driver.finishRevertMigration", "save_together"];

  test("of a move that an evacuation has ended, while no operation is at it", async () => {
    const stage = aside();
    await takeGuestBack(stage.services, "vm");
    expect(stage.calls).toEqual(BACK);
    expect(stage.argumentsOf("driver.finishRevertMigration")).toEqual([
      [VM(), expect.objectContaining({ migration: MOVE() })],
    ]);
    expect(stage.argumentsOf("save_together")[0]?.[1]).toEqual(ID);
  });

  test.each<[string, Partial<Instance>]>([
    ["is elsewhere", { host: "there" }],
    ["is deleted", { deleted: 1 }],
    ["set nothing aside", { systemMetadata: {} }],
  ])("not of an instance that %s", async (_, instance) => {
    const stage = aside(instance);
    await takeGuestBack(stage.services, "vm");
    expect(stage.calls).toEqual(["operations.exclusively"]);
  });

  test("not while this process is at its live migration", async () => {
    const stage = aside();
    stage.outgoing.add("vm");
    await takeGuestBack(stage.services, "vm");
    expect(stage.calls).toEqual(["operations.exclusively"]);
  });

  test.each<[string, Partial<Instance>, readonly string[], boolean]>([
    ["at rest", {}, [], true],
    ["in a task", { taskState: "rebuilding" }, [], false],
    ["whose evacuation is pending", {}, ["vm"], false],
    ["that set nothing aside", { systemMetadata: {} }, [], false],
  ])("the pass takes back one %s: %#", async (_, instance, pending, taken) => {
    const stage = aside(instance);
    await takeGuestsBack(stage.services, [stage.instance as Instance], new Set(pending));
    expect(stage.calls).toEqual(taken ? BACK : []);
  });

  test("one that fails is tried again later, and does not keep the pass from the others", async () => {
    const stage = aside();
    stage.replies.save_together = new Error("conductor");
    const vm = stage.instance as Instance;
    await takeGuestsBack(stage.services, [vm, vm], new Set());
    expect(stage.calls).toEqual([...BACK, ...BACK]);
    expect(stage.logged("retrying later")).toBe(2);
  });
});
