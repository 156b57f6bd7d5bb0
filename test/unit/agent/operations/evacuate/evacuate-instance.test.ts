import { describe, expect, test } from "vitest";
import { DISK_INFO, POWER_STATES, SET_ASIDE_BY } from "../../../../../src/records/index.js";
import { InstanceExists } from "../../../../../src/virt/errors.js";
import {
  ALLOCATIONS,
  DISKS,
  FlowStage,
  IMAGE,
  MOVE,
  NOW,
  REQUEST,
  type StageOptions,
  VM,
} from "../../support/flow-stage.js";
import { TO_HERE } from "../../support/staged-move.js";

function evacuated(options: StageOptions = {}) {
  return new FlowStage({
    capabilities: { supportsEvacuate: true },
    ...options,
    instance: { host: "there", node: "far", taskState: "rebuilding", ...options.instance },
    migration: { migrationType: "evacuation", status: "accepted", ...TO_HERE, destNode: null, ...options.migration },
  });
}

function evacuate(
  stage: FlowStage,
  request: { onSharedStorage?: boolean | null; targetStopped?: boolean; node?: string } = {},
) {
  return stage.failure("rebuild_instance", {
    onSharedStorage: null,
    recreate: true,
    node: "node",
    imageRef: "image",
    targetStopped: false,
    ...request,
  });
}

const save = (changes: object, ...expectedTaskState: string[]) => [
  "instance_save",
  { uuid: "vm", changes, expectedTaskState, ofRequest: REQUEST },
];
const STRIP = [
  "placement.removeProviderTreeFromInstanceAllocation",
  "vm",
  "node-uuid",
  { retry: true, requestId: REQUEST },
];
const FAULT = (message: unknown) => ["instance_add_fault", expect.objectContaining({ message })];
const aborted = (instance: object) => ["claim.abort", { migrationStatus: "failed", instance }];
const since = (stage: FlowStage, call: string) => stage.did.slice(stage.calls.lastIndexOf(call) + 1);
const BROKEN = { vmState: "error", taskState: null };

describe("6.7 rows 3 to 6, on the destination", () => {
  test("claims, looks for disk and guest, makes the guest, and has the instance", async () => {
    const stage = evacuated();
    expect(await evacuate(stage)).toBeNull();
    expect(stage.did).toEqual([
      ["placement.getAllocationsForConsumer", "vm", { requestId: REQUEST }],
      ["tracker.rebuildClaim", VM(), "node", MOVE(), ALLOCATIONS, REQUEST],
      ["driver.instanceExists", VM()],
      ["driver.instanceOnDisk", VM()],
      save({ taskState: "rebuild_block_device_mapping" }, "rebuilding"),
      save({ taskState: "rebuild_spawning" }, "rebuild_block_device_mapping"),
      [
        "driver.spawn",
        VM({ taskState: "rebuild_spawning" }),
        { image: IMAGE, allocations: ALLOCATIONS, network: [], blockDevices: DISKS, powerOn: true },
      ],
      [
        "tracker.finishEvacuation",
        VM(),
        "node",
        MOVE(),
        { vmState: "active", taskState: null, powerState: 1, launchedAt: NOW },
        { taskState: ["rebuild_spawning"], ofRequest: REQUEST },
      ],
    ]);
    expect(stage.events).toEqual(["compute_rebuild_instance", "Success"]);
    expect(stage.steps).toEqual([
      "evacuate_instance.claim",
      "evacuate_instance.probe",
      "evacuate_instance.spawn",
      "evacuate_instance.record",
    ]);
  });

  test("the driver's devices are those on this host's tree", async () => {
    const stage = evacuated();
    stage.replies["placement.getAllocationsForConsumer"] = { allocations: { ...ALLOCATIONS, far: { resources: {} } } };
    stage.replies["placement.getProviderTreeAndEnsureRoot"] = { providerUuidsInTree: () => ["node-uuid"] };
    await evacuate(stage);
    expect(stage.argumentsOf("placement.getProviderTreeAndEnsureRoot")).toEqual([
      ["node-uuid", "node", { requestId: REQUEST }],
    ]);
    expect(stage.argumentsOf("driver.spawn")[0]?.[1]).toMatchObject({ allocations: ALLOCATIONS });
  });

  test.each([
    ["active", false, true],
    ["stopped", false, false],
    ["active", true, false],
    ["error", true, true],
    ["error", false, true],
  ] as const)("one that was %s, target stopped %s: powered on %s", async (vmState, targetStopped, powerOn) => {
    const stage = evacuated({ instance: { vmState } });
    await evacuate(stage, { targetStopped });
    expect(stage.argumentsOf("driver.spawn")[0]?.[1]).toMatchObject({ powerOn });
    expect(stage.argumentsOf("tracker.finishEvacuation")[0]?.[3]).toMatchObject({
      vmState: powerOn ? "active" : "stopped",
    });
  });
});

describe("6.7 rows 3 and 4, it fails", () => {
  test.each([
    [false, true],
    [true, false],
  ])(
    "V5 a guest that was made goes, its disks only if they were not here before (%s)",
    async (onDisk, destroyDisks) => {
      const stage = evacuated();
      stage.replies["driver.instanceOnDisk"] = onDisk;
      stage.replies["driver.spawn"] = new Error("broken");
      expect(await evacuate(stage)).toMatchObject({ message: "broken" });
      expect(since(stage, "driver.spawn")).toEqual([
        ["driver.destroy", VM(), { network: [], blockDevices: DISKS, destroyDisks }],
        STRIP,
        aborted(BROKEN),
        FAULT("Error"),
      ]);
    },
  );
  test.each<[string, StageOptions["others"], (stage: FlowStage) => void, boolean]>([
    ["nothing else: they go", [], () => {}, true],
    ["the instance itself: they stay", [], (stage) => Object.assign(stage.instance ?? {}, { host: "here" }), false],
    ["another move to here: they stay", [{ destCompute: "here", status: "running" }], () => {}, false],
    ["another move that has ended: they go", [{ destCompute: "here", status: "completed" }], () => {}, true],
    ["a move elsewhere: they go", [{ destCompute: "third", status: "running" }], () => {}, true],
  ])("the allocations here are wanted by %s", async (_, others, happens, goes) => {
    const stage = evacuated({ others });
    stage.replies["tracker.rebuildClaim"] = () => {
      happens(stage);
      return new Error("broken");
    };
    await evacuate(stage);
    expect(stage.calls.includes(STRIP[0] as string)).toBe(goes);
    for (const [params] of stage.argumentsOf("migrations_by_filters")) {
      expect(params).toMatchObject({ filters: { instanceUuid: "vm", destCompute: "here" } });
    }
    expect(stage.argumentsOf("migration_save")).toHaveLength(1);
  });

  test.each([
    ["has a row: that is asked for", undefined, "node-uuid"],
    ["has none: there is nothing to remove", () => null, undefined],
  ])("a node that the tracker does not know %s", async (_, row, root) => {
    const stage = evacuated();
    stage.replies["tracker.rebuildClaim"] = new Error("broken");
    stage.replies.compute_node_get_by_host_and_node = row;
    await evacuate(stage, { node: "new" });
    expect(stage.argumentsOf("compute_node_get_by_host_and_node")).toEqual([[{ host: "here", node: "new" }]]);
    expect(stage.argumentsOf(STRIP[0] as string).map(([, of]) => of)).toEqual(root === undefined ? [] : [root]);
  });

  test("nothing is held here: that is said, and no failure", async () => {
    const stage = evacuated();
    stage.replies["driver.spawn"] = new Error("broken");
    stage.replies[STRIP[0] as string] = false;
    await evacuate(stage);
    expect(stage.logged("the instance had no allocations to remove from this host")).toBe(1);
    expect(stage.did).toContainEqual(aborted(BROKEN));
  });

  test.each([STRIP[0] as string, "claim.abort"])("%s fails, too: the rest is done all the same", async (call) => {
    const stage = evacuated();
    stage.replies["driver.spawn"] = new Error("broken");
    stage.replies[call] = new Error("busy");
    expect(await evacuate(stage)).toMatchObject({ message: "broken" });
    expect(stage.calls.slice(-4)).toEqual(["driver.destroy", STRIP[0], "claim.abort", "instance_add_fault"]);
  });
});

describe("6.7 row 4, what is found on the host", () => {
  test("a driver that takes no evacuated instances", async () => {
    const stage = evacuated({ capabilities: {} });
    expect(await evacuate(stage)).toMatchObject({ name: "InstanceRecreateNotSupported" });
    expect(stage.calls).not.toContain("driver.instanceOnDisk");
  });

  test("a guest that is here already", async () => {
    const stage = evacuated();
    stage.replies["driver.instanceExists"] = true;
    expect(await evacuate(stage)).toMatchObject({ name: "InstanceExists" });
    expect(stage.calls).not.toContain("driver.destroy");
  });

  test.each([
    [true, true, null],
    [false, false, null],
    [null, true, null],
    [true, false, "instance vm is shared, but its files are not on"],
    [false, true, "instance vm is not shared, but its files are on"],
  ])("the request says shared %s, the files are here %s", async (onSharedStorage, onDisk, rejection) => {
    const stage = evacuated();
    stage.replies["driver.instanceOnDisk"] = onDisk;
    const failure = (await evacuate(stage, { onSharedStorage })) as Error | null;
    expect(failure?.name ?? null).toBe(rejection && "InvalidSharedStorage");
    expect(failure?.message ?? "").toContain(rejection ?? "");
  });
});

describe("6.7 a move that the evacuation has ended", () => {
  const aside = { [SET_ASIDE_BY]: "8", [DISK_INFO]: "info", old_vm_state: "active", retained: "yes" };
  const left = (other: object, options: StageOptions = {}) =>
    evacuated({
      others: [{ id: 8, status: "error", ...other }],
      ...options,
      instance: { systemMetadata: aside, ...options.instance },
    });
  const cold = { migrationType: "resize", sourceCompute: "here", destCompute: "there" };
  const live = { migrationType: "live-migration", sourceCompute: "there", destCompute: "here" };
  const FORGOTTEN = [
    "instance_save",
    { uuid: "vm", changes: { systemMetadata: { retained: "yes" } }, expectedTaskState: [null], expectedHost: "here" },
  ];

  test("what a cold one has left here goes, when nothing else is in the way", async () => {
    const stage = left(cold);
    expect(await evacuate(stage)).toBeNull();
    expect(stage.calls.slice(2, 6)).toEqual([
      "driver.instanceOnDisk",
      "driver.instanceExists",
      "driver.confirmMigration",
      "driver.instanceExists",
    ]);
    expect(stage.argumentsOf("driver.confirmMigration")[0]).toEqual([
      expect.objectContaining({ id: 8 }),
      VM(),
      { network: [] },
    ]);
    expect(since(stage, "tracker.finishEvacuation")).toEqual([FORGOTTEN]);
  });

  test("what a live one has left here goes with its guest; files that may be shared stay", async () => {
    const stage = left(live);
    stage.replies["driver.rollbackLiveMigrationAtDestination"] = new InstanceExists("it runs");
    expect(await evacuate(stage)).toBeNull();
    const data = { blockMigration: false, sharedInstanceFiles: true };
    expect(stage.did.slice(3, 6)).toEqual([
      [
        "driver.rollbackLiveMigrationAtDestination",
        VM(),
        { network: [], blockDevices: DISKS, destroyDisks: false, data },
      ],
      ["driver.destroy", VM(), { network: [], blockDevices: DISKS, destroyDisks: false }],
      ["driver.instanceExists", VM()],
    ]);
  });

  test("a guest that is still here after that, or that somebody has started, is refused", async () => {
    const stage = left(cold);
    stage.replies["driver.instanceExists"] = true;
    expect(await evacuate(stage)).toMatchObject({ name: "InstanceExists" });
    const started = left(cold);
    Object.assign(started.replies, { "driver.instanceExists": true, "driver.powerState": POWER_STATES.running });
    expect(await evacuate(started)).toMatchObject({ name: "InstanceExists" });
    expect(started.calls).not.toContain("driver.confirmMigration");
  });

  const MESSAGE = { instanceUuid: "vm", migrationId: 8, requestId: REQUEST };
  const GOES = { ...MESSAGE, destroyDisks: false, data: { sharedInstanceFiles: true }, guestGoes: true };

  test.each<[string, object, unknown[]]>([
    [
      "a cold one's source removes it",
      { ...cold, sourceCompute: "third" },
      [["cast confirm_resize", "third", MESSAGE]],
    ],
    [
      "a live one's destination removes it",
      { ...live, destCompute: "third" },
      [["cast rollback_live_migration_at_destination", "third", GOES]],
    ],
    ["a live one without destination has left nothing", { ...live, destCompute: null }, []],
    ["a cold one without source has left nothing", { ...cold, sourceCompute: null }, []],
  ])("what is left elsewhere: %s", async (_, other, casts) => {
    const stage = left(other);
    expect(await evacuate(stage)).toBeNull();
    expect(since(stage, "tracker.finishEvacuation")).toEqual([...casts, FORGOTTEN]);
    expect(stage.calls).not.toContain("driver.confirmMigration");
    expect(stage.calls).not.toContain("driver.rollbackLiveMigrationAtDestination");
  });

  test.each<[string, StageOptions["instance"]]>([
    ["is paused", { vmState: "paused" }],
    ["set nothing aside", { systemMetadata: {} }],
  ])("an instance that %s has nothing to let go of", async (_, instance) => {
    const stage = left({ ...cold, sourceCompute: "third" }, { instance });
    await evacuate(stage);
    expect(since(stage, "tracker.finishEvacuation")).toEqual([]);
  });

  test("a move whose record is gone has left nothing", async () => {
    const stage = left(cold, { instance: { systemMetadata: { ...aside, [SET_ASIDE_BY]: "99" } } });
    expect(await evacuate(stage)).toBeNull();
    expect(since(stage, "tracker.finishEvacuation")).toEqual([FORGOTTEN]);
    expect(stage.logged("could not")).toBe(0);
  });

  test("a failed notification is no failure: the next start repeats it", async () => {
    const stage = left({ ...cold, sourceCompute: "third" });
    stage.replies["cast confirm_resize"] = new Error("away");
    expect(await evacuate(stage)).toBeNull();
    expect(stage.logged("could not remove the leftovers of a move")).toBe(1);
  });
});
