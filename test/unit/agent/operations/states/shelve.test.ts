import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { GuestNotFound } from "../../../../../src/virt/errors.js";
import type { SnapshotOptions, SnapshotStage } from "../../../../../src/virt/types.js";
import { anInstance } from "../../../../fixtures/records.js";
import { DISKS, FlowStage, NOW, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";

const STAGES: readonly SnapshotStage[] = ["image_pending_upload", "image_uploading"];
const MARK = { retained: "yes", shelved_at: String(NOW), shelved_host: "here" };
const NOWHERE = { host: null, node: null, computeId: null, availabilityZone: null, launchedOn: null };

function shelving(time: number, options: StageOptions = {}): FlowStage {
  const stage = new FlowStage({
    config: { shelvedOffloadTime: time },
    ...options,
    instance: { taskState: "shelving", systemMetadata: { retained: "yes" }, ...options.instance },
  });
  stage.replies["driver.snapshot"] = async (_: unknown, _id: string, { updateTaskState }: SnapshotOptions) => {
    for (const each of STAGES) {
      await updateTaskState(each);
    }
  };
  return stage;
}

const shelve = (stage: FlowStage) => stage.failure("shelve_instance", { imageId: "snapshot" });
const offload = (stage: FlowStage) => stage.failure("shelve_offload_instance", {});

function offloading(options: StageOptions = {}) {
  return shelving(0, {
    ...options,
    instance: { vmState: "shelved", taskState: "shelving_offloading", ...options.instance },
  });
}

const RELEASE = ["placement.deleteAllocation", "vm", { force: true, requestId: REQUEST }];
const DESTROY = (changes: object = {}) => [
  "driver.destroy",
  VM(changes),
  { network: [], blockDevices: DISKS, destroyDisks: true },
];
const NO_TASK = ["instance_save", { uuid: "vm", changes: { taskState: null }, ofRequest: REQUEST }];

describe('6.6 "shelve"', () => {
  test("powers off, makes the snapshot in two stages, and keeps what it holds", async () => {
    const stage = shelving(600);
    expect(await shelve(stage)).toBeNull();
    expect(stage.did).toEqual([
      ["driver.powerOff", VM()],
      ["driver.snapshot", VM(), "snapshot", { updateTaskState: expect.any(Function) }],
      [
        "instance_save",
        {
          uuid: "vm",
          changes: { taskState: "shelving_image_pending_upload" },
          expectedTaskState: ["shelving"],
          expectedHost: "here",
        },
      ],
      [
        "instance_save",
        {
          uuid: "vm",
          changes: { taskState: "shelving_image_uploading" },
          expectedTaskState: ["shelving_image_pending_upload"],
          expectedHost: "here",
        },
      ],
      [
        "tracker.saveInstance",
        VM(),
        {
          vmState: "shelved",
          powerState: 1,
          taskState: null,
          systemMetadata: { ...MARK, shelved_image_id: "snapshot" },
        },
        ["shelving", "shelving_image_uploading"],
      ],
    ]);
    expect(stage.events).toEqual(["compute_shelve_instance", "Success"]);
    expect(stage.steps).toEqual(["shelve_instance.power_off", "shelve_instance.snapshot", "shelve_instance.record"]);
  });

  test("with shelved_offload_time 0 it is offloaded in the same event, and the mark stays", async () => {
    const stage = shelving(0);
    expect(await shelve(stage)).toBeNull();
    const shelved = {
      vmState: "shelved",
      taskState: "shelving_offloading",
      systemMetadata: { ...MARK, shelved_image_id: "snapshot" },
    };
    expect(stage.did.slice(5)).toEqual([
      ["driver.powerOff", VM(shelved)],
      DESTROY(shelved),
      RELEASE,
      [
        "tracker.saveInstance",
        VM(shelved),
        { vmState: "shelved_offloaded", taskState: null, powerState: 0, ...NOWHERE },
        ["shelving", "shelving_offloading", null],
      ],
    ]);
    expect(stage.events).toEqual(["compute_shelve_instance", "Success"]);
  });

  test("a guest that is gone is no failure; another error is", async () => {
    const gone = shelving(600);
    gone.replies["driver.powerOff"] = new GuestNotFound("gone");
    expect(await shelve(gone)).toBeNull();
    const broken = shelving(600);
    broken.replies["driver.powerOff"] = new Error("broken");
    expect(await shelve(broken)).toMatchObject({ message: "broken" });
    expect(broken.did.slice(1)).toEqual([
      ["images.remove", "snapshot"],
      NO_TASK,
      ["instance_add_fault", expect.objectContaining({ message: "Error" })],
    ]);
  });
});

describe('6.6 "offload"', () => {
  test("V24 guest and disks, then allocations, then the row, marked if it was not", async () => {
    const stage = offloading();
    expect(await offload(stage)).toBeNull();
    expect(stage.did).toEqual([
      ["driver.powerOff", VM()],
      DESTROY(),
      RELEASE,
      [
        "tracker.saveInstance",
        VM(),
        { vmState: "shelved_offloaded", taskState: null, powerState: 0, ...NOWHERE, systemMetadata: MARK },
        ["shelving", "shelving_offloading", null],
      ],
    ]);
    expect(stage.events).toEqual(["compute_shelve_offload_instance", "Success"]);
    expect(stage.steps).toEqual([
      "shelve_offload_instance.power_off",
      "shelve_offload_instance.destroy",
      "shelve_offload_instance.release_volumes",
      "shelve_offload_instance.release",
      "shelve_offload_instance.record",
    ]);
  });

  test("the mark of an offload names no snapshot", async () => {
    const stage = offloading();
    await offload(stage);
    expect(stage.instance?.systemMetadata).toStrictEqual(MARK);
  });

  test("an earlier mark stays", async () => {
    const stage = offloading({ instance: { systemMetadata: { shelved_at: "1" } } });
    await offload(stage);
    expect(stage.instance?.systemMetadata).toEqual({ shelved_at: "1" });
  });

  test.each([
    ["driver.powerOff", []],
    ["driver.destroy", ["driver.destroy"]],
  ])("6.2 a soft delete during %s has the guest that is left, and what it holds", async (call, did) => {
    const stage = offloading();
    stage.replies[call] = () => {
      stage.instance = anInstance({ ...stage.instance, taskState: "soft-deleting", taskRequestId: "req-theirs" });
    };
    expect(await offload(stage)).toMatchObject({ code: "UnexpectedTaskState" });
    expect(stage.calls.filter((name) => /destroy|deleteAllocation|saveInstance/.test(name))).toEqual(did);
    expect(stage.instance).toMatchObject({ vmState: "shelved", taskState: "soft-deleting" });
  });

  test.each([
    [3, true],
    [4, false],
  ])("9.4 a release that is not answered %i times: offloaded %s", async (silences, offloaded) => {
    const stage = offloading();
    let times = 0;
    stage.replies["placement.deleteAllocation"] = () => (times++ < silences ? null : false);
    const failure = (await offload(stage)) as Error | null;
    expect(failure?.name ?? null).toBe(offloaded ? null : "AllocationDeleteFailed");
    expect(stage.argumentsOf("placement.deleteAllocation")).toHaveLength(4);
    expect(stage.instance?.vmState).toBe(offloaded ? "shelved_offloaded" : "shelved");
  });
});

const held = { far: { resources: { VCPU: 2 } } };

function unshelving(options: StageOptions = {}) {
  return new FlowStage({
    ...options,
    instance: {
      vmState: "shelved_offloaded",
      taskState: "unshelving",
      host: null,
      node: null,
      computeId: null,
      launchedOn: null,
      systemMetadata: { retained: "yes", shelved_at: "1", shelved_host: "here", shelved_image_id: "snapshot" },
      ...options.instance,
    },
  });
}

const unshelve = (stage: FlowStage) => stage.failure("unshelve_instance", { node: "node", allocations: held });
const back = { taskState: null, launchedOn: null, availabilityZone: null };

describe('6.6 "unshelve from offloaded", on the destination', () => {
  const accepted = { taskState: "spawning", launchedOn: "here" };
  const claimed = { ...accepted, host: "here", node: "node" };
  const TASKS = { expectedTaskState: ["unshelving", "spawning"] };

  test("claims, makes the guest from its snapshot, and forgets that it was shelved", async () => {
    const stage = unshelving();
    expect(await unshelve(stage)).toBeNull();
    expect(stage.did).toEqual([
      [
        "instance_save",
        { uuid: "vm", changes: accepted, expectedTaskState: ["unshelving"], expectedVmState: ["shelved_offloaded"] },
      ],
      ["tracker.instanceClaim", VM(accepted), "node", held, REQUEST],
      [
        "driver.spawn",
        VM(claimed),
        {
          image: expect.objectContaining({ id: "snapshot" }),
          allocations: held,
          network: [],
          blockDevices: DISKS,
          powerOn: true,
        },
      ],
      [
        "tracker.saveInstance",
        VM(claimed),
        { vmState: "active", taskState: null, powerState: 1, launchedAt: NOW, systemMetadata: { retained: "yes" } },
        ["spawning"],
      ],
      ["images.remove", "snapshot"],
    ]);
    expect(stage.events).toEqual(["compute_unshelve_instance", "Success"]);
    expect(stage.steps).toEqual([
      "unshelve_instance.accept",
      "unshelve_instance.claim",
      "unshelve_instance.spawn",
      "unshelve_instance.record",
    ]);
  });

  test("without a snapshot it is made from its own image", async () => {
    const stage = unshelving({ instance: { systemMetadata: {} } });
    await unshelve(stage);
    expect(stage.argumentsOf("driver.spawn")[0]?.[1]).toMatchObject({ image: { id: "image" } });
  });

  const FAULT = ["instance_add_fault", expect.objectContaining({ message: "Error" })];
  const OFFLOADED = [
    "instance_save",
    { uuid: "vm", changes: { ...NOWHERE, taskState: null }, ...TASKS, ofRequest: REQUEST },
  ];

  test("no claim: what it holds goes, and it is offloaded as before", async () => {
    const stage = unshelving();
    stage.replies["tracker.instanceClaim"] = new Error("broken");
    expect(await unshelve(stage)).toMatchObject({ message: "broken" });
    expect(stage.did.slice(2)).toEqual([RELEASE, OFFLOADED, FAULT]);
    expect(stage.events).toEqual(["compute_unshelve_instance", "Error"]);
  });

  test("a claim fails, and cannot take back that the instance is here: it is on no host all the same", async () => {
    const stage = unshelving();
    stage.replies["tracker.instanceClaim"] = () => {
      Object.assign(stage.instance ?? {}, { host: "here", node: "node", computeId: 1 });
      return new Error("broken");
    };
    await unshelve(stage);
    expect(stage.instance).toMatchObject({ host: null, node: null, computeId: null, taskState: null });
  });

  test("its row cannot be written: the instance stays here until it can", async () => {
    const stage = unshelving();
    stage.replies["tracker.instanceClaim"] = () => {
      stage.replies.instance_save = new Error("no answer");
      return new Error("broken");
    };
    await unshelve(stage);
    expect(stage.instance).toMatchObject({ taskState: "spawning" });
    delete stage.replies.instance_save;
    await stage.operations.removeLeftGuests();
    expect(stage.did.at(-1)).toEqual(OFFLOADED);
  });

  test.each([
    ["driver.spawn", claimed],
    ["tracker.saveInstance", claimed],
  ])("%s fails: the guest goes, what it holds, and the claim", async (call, row) => {
    const stage = unshelving();
    stage.replies[call] = new Error("broken");
    expect(await unshelve(stage)).toMatchObject({ message: "broken" });
    expect(stage.did.slice(-4)).toEqual([DESTROY(row), RELEASE, ["claim.abort", { instance: back, ...TASKS }], FAULT]);
  });

  test("what it holds cannot be removed: the instance stays here until it can", async () => {
    const stage = unshelving();
    stage.replies["driver.spawn"] = new Error("broken");
    stage.replies["placement.deleteAllocation"] = new Error("Placement");
    await unshelve(stage);
    expect(stage.did.slice(-2)).toEqual([RELEASE, FAULT]);
    expect(stage.logged("allocations could not be removed")).toBe(1);
    delete stage.replies["placement.deleteAllocation"];
    await stage.operations.removeLeftGuests();
    expect(stage.did.at(-1)).toEqual(["claim.abort", { instance: back, ...TASKS }]);
  });

  describe("its guest cannot be removed", () => {
    async function left(error: Error = new Error("broken")) {
      const stage = unshelving();
      stage.replies["driver.spawn"] = error;
      stage.replies["driver.destroy"] = new Error("busy");
      await unshelve(stage);
      expect(stage.instance).toMatchObject({ host: "here", vmState: "shelved_offloaded", taskState: "spawning" });
      expect(stage.calls).not.toContain("placement.deleteAllocation");
      stage.replies["driver.destroy"] = undefined;
      return stage;
    }

    test("the instance stays here until it has gone; then as any that fails, once", async () => {
      const stage = await left();
      stage.replies["driver.destroy"] = new Error("busy");
      await stage.operations.removeLeftGuests();
      expect(stage.logged("could not remove the leftover guest")).toBe(1);
      stage.replies["driver.destroy"] = undefined;
      stage.lines.length = 0;
      await stage.operations.removeLeftGuests();
      await stage.operations.removeLeftGuests();
      expect(stage.did).toEqual([DESTROY(claimed), RELEASE, ["claim.abort", { instance: back, ...TASKS }]]);
    });

    test.each<[string, object | null]>([
      ["is being deleted", { taskState: "deleting", taskRequestId: "req-theirs" }],
      ["has been given another state", { taskState: null }],
      ["is elsewhere", { host: "there" }],
      ["is gone", null],
    ])("and the instance %s by then: the guest is theirs", async (_, changes) => {
      const stage = await left();
      stage.instance = changes && stage.instance && { ...stage.instance, ...changes };
      stage.lines.length = 0;
      await stage.operations.removeLeftGuests();
      expect(stage.calls).toEqual([]);
    });

    test("and a delete has the instance already: it removes the guest", async () => {
      const stage = await left(new ConductorError("UnexpectedTaskState", "deleting"));
      stage.lines.length = 0;
      await stage.operations.removeLeftGuests();
      expect(stage.calls).toEqual([]);
    });
  });

  test("a delete takes it after the claim: it finds the instance here, with all that it holds", async () => {
    const stage = unshelving();
    stage.replies["tracker.saveInstance"] = () => {
      Object.assign(stage.instance ?? {}, { taskState: "deleting" });
      return new ConductorError("UnexpectedTaskState", "deleting");
    };
    expect(await unshelve(stage)).toBeNull();
    expect(stage.calls.slice(-2)).toEqual(["tracker.saveInstance", "driver.destroy"]);
    expect(stage.instance).toMatchObject({ host: "here", taskState: "deleting" });
  });

  test.each([
    ["before the claim", "tracker.instanceClaim", []],
    ["after it", "tracker.saveInstance", [["claim.abort", { instance: { launchedOn: null, availabilityZone: null } }]]],
  ])("taken by a delete %s: it keeps its task, and is told nothing", async (_, call, aborted) => {
    const stage = unshelving();
    stage.replies[call] = new ConductorError("UnexpectedTaskState", "deleting");
    expect(await unshelve(stage)).toBeNull();
    expect(stage.did.slice(stage.did.findLastIndex(([name]) => name === "placement.deleteAllocation"))).toEqual([
      RELEASE,
      ...aborted,
    ]);
    expect(stage.events).toEqual(["compute_unshelve_instance", "Error"]);
  });

  test.each<[string, StageOptions["instance"], boolean]>([
    ["is deleted: what was claimed goes", { deleted: 1 }, true],
    ["is deleted, and its row still names a host: it goes", { deleted: 1, host: "there" }, true],
    ["is being deleted: it goes", { taskState: "deleting", taskRequestId: "req-theirs" }, true],
    ["is at rest: it goes", { taskState: null }, true],
    ["is unshelved by another request: that may own it", { taskRequestId: "req-theirs" }, false],
    ["is on a host: that owns it", { host: "there" }, false],
  ])("the message of an instance that %s", async (_, instance, released) => {
    const stage = unshelving({ instance });
    expect(await unshelve(stage)).toBeNull();
    expect(stage.did).toEqual(released ? [RELEASE] : []);
  });
});
