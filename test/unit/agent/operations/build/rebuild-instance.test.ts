import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { ALLOCATIONS, DISKS, FlowStage, IMAGE, NOW, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";

function rebuilding(options: StageOptions = {}) {
  return new FlowStage({ lacks: ["rebuild"], ...options, instance: { taskState: "rebuilding", ...options.instance } });
}

function rebuild(stage: FlowStage, targetStopped = false) {
  return stage.failure("rebuild_instance", {
    onSharedStorage: null,
    recreate: false,
    node: "node",
    imageRef: "image-2",
    targetStopped,
  });
}

const save = (changes: object, ...expectedTaskState: string[]) => [
  "instance_save",
  { uuid: "vm", changes, expectedTaskState, ofRequest: REQUEST },
];
const begun = { taskState: "rebuild_block_device_mapping", imageRef: "image-2" };
const spawning = { ...begun, taskState: "rebuild_spawning" };
const options = (powerOn: boolean) => ({
  image: { ...IMAGE, id: "image-2", name: "image-2" },
  allocations: ALLOCATIONS,
  network: [],
  blockDevices: DISKS,
  powerOn,
});

describe("6.6 rebuild in place, step by step", () => {
  test("reads what it holds, destroys and spawns anew; no claim", async () => {
    const stage = rebuilding();
    expect(await rebuild(stage)).toBeNull();
    expect(stage.did).toEqual([
      ["placement.getAllocationsForConsumer", "vm", { requestId: REQUEST }],
      save(begun, "rebuilding"),
      ["driver.destroy", VM(begun), { network: [], blockDevices: DISKS, destroyDisks: true }],
      save({ taskState: "rebuild_spawning" }, "rebuild_block_device_mapping"),
      ["driver.spawn", VM(spawning), options(true)],
      save({ vmState: "active", taskState: null, powerState: 1, launchedAt: NOW }, "rebuild_spawning"),
    ]);
    expect(stage.events).toEqual(["compute_rebuild_instance", "Success"]);
    expect(stage.steps).toEqual([
      "rebuild_instance.begin",
      "rebuild_instance.destroy",
      "rebuild_instance.reimage",
      "rebuild_instance.connect_volumes",
      "rebuild_instance.spawn",
      "rebuild_instance.record",
    ]);
  });

  test("a driver with a rebuild method uses it, and nothing is destroyed", async () => {
    const stage = rebuilding({ lacks: [] });
    await rebuild(stage);
    expect(stage.calls).not.toContain("driver.destroy");
    expect(stage.calls).not.toContain("driver.spawn");
    expect(stage.argumentsOf("driver.rebuild")).toEqual([[VM(spawning), options(true)]]);
  });

  test.each([
    ["stopped", false],
    ["active", true],
    ["error", true],
  ] as const)("one that was %s, target stopped %s, ends stopped", async (vmState, targetStopped) => {
    const stage = rebuilding({ instance: { vmState } });
    await rebuild(stage, targetStopped);
    expect(stage.argumentsOf("driver.spawn")[0]?.[1]).toMatchObject({ powerOn: false });
    expect(stage.instance?.vmState).toBe("stopped");
  });

  test("fails: in error if it still is this request's here, with a fault; what it holds stays", async () => {
    const stage = rebuilding();
    stage.replies["driver.spawn"] = new Error("broken");
    expect(await rebuild(stage)).toMatchObject({ message: "broken" });
    expect(stage.did.slice(5)).toEqual([
      [
        "instance_save",
        { uuid: "vm", changes: { vmState: "error", taskState: null }, ofRequest: REQUEST, expectedHost: "here" },
      ],
      ["instance_add_fault", expect.objectContaining({ message: "Error" })],
    ]);
    expect(stage.events).toEqual(["compute_rebuild_instance", "Error"]);
  });

  test("being deleted meanwhile: left to the delete", async () => {
    const stage = rebuilding({ quirks: ["rebuild-strips-allocations"] });
    stage.replies.instance_save = new ConductorError("UnexpectedDeletingTaskState", "deleting");
    expect(await rebuild(stage)).toBeNull();
    expect(stage.calls.slice(1)).toEqual(["instance_save"]);
    expect(stage.events).toEqual(["compute_rebuild_instance", "Success"]);
  });

  const strip = [
    "placement.removeProviderTreeFromInstanceAllocation",
    "vm",
    "node-uuid",
    { retry: false, requestId: REQUEST },
  ];

  test.each<[string, StageOptions, Error, boolean]>([
    ["without its quirk", {}, new Error("broken"), false],
    ["of an instance on this node", { quirks: ["rebuild-strips-allocations"] }, new Error("broken"), true],
    [
      "of an instance without node",
      { quirks: ["rebuild-strips-allocations"], instance: { node: null } },
      new Error("broken"),
      false,
    ],
    [
      "of somebody else's",
      { quirks: ["rebuild-strips-allocations"] },
      new ConductorError("UnexpectedTaskState", "taken"),
      false,
    ],
  ])("rebuild-strips-allocations %s", async (_, staged, error, strips) => {
    const stage = rebuilding(staged);
    stage.replies["driver.spawn"] = error;
    await rebuild(stage);
    expect(stage.did.filter(([call]) => call === strip[0])).toEqual(strips ? [strip] : []);
  });

  test("an instance that has moved: the message follows it", async () => {
    const stage = rebuilding({ instance: { host: "there" } });
    await rebuild(stage);
    expect(stage.did).toEqual([
      ["cast rebuild_instance", "there", expect.objectContaining({ imageRef: "image-2", requestId: REQUEST })],
    ]);
  });
});
