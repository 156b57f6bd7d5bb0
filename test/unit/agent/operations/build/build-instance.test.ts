import { describe, expect, test } from "vitest";
import type { RequestOf } from "../../../../../src/agent/operations/flow/contract.js";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { ALLOCATIONS, DISKS, FlowStage, IMAGE, NOW, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";

type Request = Partial<RequestOf<"build_and_run_instance">>;

const RETRY = { numAttempts: 1, hosts: [] } as never;
const ALTERNATES = [{ host: "third" }] as never;
const held = { far: { resources: { VCPU: 2 } } };
const NOWHERE = { host: null, node: null, computeId: null, availabilityZone: null, launchedOn: null };

function building(options: StageOptions = {}) {
  return new FlowStage({
    ...options,
    instance: {
      vmState: "building",
      taskState: "scheduling",
      host: null,
      node: null,
      computeId: null,
      ...options.instance,
    },
  });
}

function build(stage: FlowStage, request: Request = {}) {
  return stage.failure("build_and_run_instance", {
    allocations: held,
    node: "node",
    alternates: ALTERNATES,
    ...request,
  });
}

const accepted = { taskState: null };
const claimed = { ...accepted, host: "here", node: "node", taskState: "networking" };
const NETWORKING = { changes: { taskState: "networking", taskRequestId: REQUEST }, expectedTaskState: [null] };
const save = (changes: object, ...expectedTaskState: (string | null)[]) => [
  "instance_save",
  { uuid: "vm", changes, expectedTaskState },
];
const RELEASE = ["placement.deleteAllocation", "vm", { force: true, requestId: REQUEST }];
const CLEANED = [
  ["driver.destroy", expect.anything(), { network: [], blockDevices: DISKS, destroyDisks: true }],
  ["driver.unplugVifs", expect.anything()],
  ["driver.failedSpawnCleanup", expect.anything()],
];
const FAILED = ["tracker.noteBuild", "node", "failed"];
const AGAIN = {
  ...NOWHERE,
  launchedOn: "here",
  vmState: "building",
  taskState: "scheduling",
  taskRequestId: REQUEST,
};

/** Returns the calls after the last `call`. */
function since(stage: FlowStage, call: string) {
  return stage.did.slice(stage.calls.lastIndexOf(call) + 1);
}

describe("6.1 rows 4 to 7", () => {
  test("accepts, claims, prepares, spawns, and is active", async () => {
    const stage = building();
    expect(await build(stage)).toBeNull();
    const spawning = { ...claimed, taskState: "spawning" };
    expect(stage.did).toEqual([
      [
        "instance_save",
        {
          uuid: "vm",
          changes: { vmState: "building", taskState: null },
          expectedTaskState: ["scheduling", null],
          expectedVmState: ["building"],
        },
      ],
      ["tracker.instanceClaim", VM(accepted), "node", held, REQUEST, NETWORKING],
      ["driver.prepareForSpawn", VM(claimed)],
      save({ taskState: "block_device_mapping" }, "networking"),
      save({ taskState: "spawning" }, "block_device_mapping"),
      [
        "driver.spawn",
        VM(spawning),
        { image: IMAGE, allocations: held, network: [], blockDevices: DISKS, powerOn: true },
      ],
      save({ vmState: "active", taskState: null, powerState: 1, launchedAt: NOW }, "spawning"),
      ["tracker.noteBuild", "node", "succeeded"],
    ]);
    expect(stage.events).toEqual(["compute__do_build_and_run_instance", "Success"]);
    expect(stage.steps).toEqual([
      "build_and_run_instance.claim",
      "build_and_run_instance.prepare",
      "build_and_run_instance.connect_volumes",
      "build_and_run_instance.spawn",
      "build_and_run_instance.record",
    ]);
  });

  test("what the message does not say it holds, Placement does", async () => {
    const stage = building();
    await build(stage, { allocations: null });
    expect(stage.did[1]).toEqual(["placement.getAllocationsForConsumer", "vm", { requestId: REQUEST }]);
    expect(stage.argumentsOf("tracker.instanceClaim")[0]?.[2]).toEqual(ALLOCATIONS);
  });
});

describe("6.1 row 4, it is not to be built any more", () => {
  test.each([
    new ConductorError("InstanceNotFound", "gone"),
    new ConductorError("UnexpectedTaskState", "taken"),
    new ConductorError("UnexpectedVmState", "reset"),
  ])("%o: what was claimed goes, and there is no event", async (error) => {
    const stage = building();
    stage.replies.instance_save = error;
    expect(await build(stage)).toBeNull();
    expect(stage.did.slice(1)).toEqual([RELEASE]);
    expect(stage.events).toEqual([]);
  });
});

describe("6.1 second table: tried on another host", () => {
  const handed = (reason: string) => [
    "build_instances",
    { instanceUuid: "vm", alternates: ALTERNATES, retry: RETRY, reason, requestId: REQUEST },
  ];
  test.each([
    ["driver.prepareForSpawn", "networking"],
    ["driver.spawn", "spawning"],
  ])("%s fails: the guest goes first, then the claim", async (call, task) => {
    const stage = building();
    stage.replies[call] = new Error("broken");
    expect(await build(stage, { retry: RETRY })).toBeNull();
    expect(since(stage, call)).toEqual([
      ...CLEANED,
      FAILED,
      ["claim.abort", { instance: AGAIN, expectedTaskState: [task] }],
      RELEASE,
      handed("Error"),
    ]);
  });

  // Four attempts if Placement does not respond; one if it rejects the request.
});

describe("6.1 second table: in error", () => {
  test.each([
    "FlavorDiskTooSmall",
    "FlavorMemoryTooSmall",
    "ImageNotActive",
    "ImageUnacceptable",
    "InvalidDiskInfo",
    "InvalidDiskFormat",
    "InvalidInput",
    "InvalidBDM",
    "NoMoreNetworks",
    "NoMoreFixedIps",
  ])("%s is hopeless", async (name) => {
    const stage = building();
    stage.replies["tracker.instanceClaim"] = Object.assign(new Error("x"), { name });
    await build(stage, { retry: RETRY });
    expect(stage.calls).not.toContain("build_instances");
  });
  test.each(["driver.destroy", "driver.unplugVifs", "driver.failedSpawnCleanup"])(
    "%s fails at the clean-up: hopeless, and the instance stays with the guest that may run here",
    async (call) => {
      const stage = building();
      stage.replies["driver.spawn"] = new Error("broken");
      stage.replies[call] = new Error("busy");
      expect(await build(stage, { retry: RETRY })).toMatchObject({ name: "BuildAbortException" });
      expect(stage.faults).toEqual([expect.stringContaining("Error (after: Error)")]);
      const [[fault]] = stage.argumentsOf("instance_add_fault") as [[{ details: string }]];
      expect(fault.details).toMatch(/Caused by: Error: broken(.|\n)*Caused by: Error: busy/);
      expect(stage.logged("could not remove the leftovers of a failed build; retrying later")).toBe(1);
      expect(stage.instance).toMatchObject({ vmState: "error", taskState: null, host: "here" });
      expect(stage.calls.slice(-2)).toEqual(["instance_add_fault", "tracker.saveInstance"]);
      expect(stage.calls).not.toContain(RELEASE[0]);
    },
  );

  test("a row that cannot be written does not keep the allocations", async () => {
    const stage = building();
    stage.replies["driver.spawn"] = new Error("broken");
    stage.replies["claim.abort"] = new Error("conductor");
    expect(await build(stage)).toMatchObject({ message: "broken" });
    expect(stage.did.at(-1)).toEqual(RELEASE);
    expect(stage.logged("could not take the instance off the host")).toBe(1);
  });
});

describe("6.1 second table: forgotten", () => {
  const removed = [["claim.abort", { instance: NOWHERE }], RELEASE];

  test.each([
    new ConductorError("InstanceNotFound", "gone"),
    new ConductorError("UnexpectedDeletingTaskState", "deleting"),
  ])("%o: the delete waits for its turn, and finds the instance here", async (error) => {
    const stage = building();
    stage.replies["driver.spawn"] = error;
    expect(await build(stage, { retry: RETRY })).toBeNull();
    expect(since(stage, "driver.spawn")).toEqual(CLEANED);
  });

  test.each<[string, (stage: FlowStage) => void, boolean]>([
    ["being deleted, here", (stage) => Object.assign(stage.instance ?? {}, { taskState: "deleting" }), false],
    [
      "being deleted, on no host",
      (stage) => Object.assign(stage.instance ?? {}, { taskState: "deleting", host: null }),
      true,
    ],
    ["gone", (stage) => Object.assign(stage, { instance: null }), true],
  ])("whatever the driver says of one that is %s", async (_, happens, takenOff) => {
    const stage = building();
    stage.replies["driver.spawn"] = () => {
      happens(stage);
      return new Error("broken");
    };
    expect(await build(stage, { retry: RETRY })).toBeNull();
    expect(since(stage, "driver.spawn")).toEqual([...CLEANED, ...(takenOff ? removed : [])]);
    expect(stage.calls).not.toContain("tracker.noteBuild");
  });

  test.each([
    ["set to error", {}],
    ["handed back", { retry: RETRY }],
  ])("a delete takes it as it is %s: it keeps its task, its host and what it holds for that", async (_, request) => {
    const stage = building();
    stage.replies["driver.spawn"] = new Error("broken");
    stage.replies["claim.abort"] = () => {
      Object.assign(stage.instance ?? {}, { taskState: "deleting" });
      return new ConductorError("UnexpectedTaskState", "deleting");
    };
    await build(stage, request);
    expect(since(stage, "claim.abort")).toEqual([]);
    expect(stage.instance).toMatchObject({ host: "here", taskState: "deleting" });
    expect(stage.logged("could not take the instance off the host")).toBe(0);
  });
});
