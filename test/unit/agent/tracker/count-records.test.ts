import { describe, expect, test } from "vitest";
import {
  batchReader,
  contextResources,
  countRecords,
  singleReader,
} from "../../../../src/agent/tracker/node-records.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import {
  type AssignedResource,
  type Instance,
  MIGRATION_STATUSES,
  type Migration,
} from "../../../../src/records/index.js";
import { aMigration, anInstance } from "../../../fixtures/records.js";
import { NEW, OLD } from "../support/flow-stage.js";
import { FROM_HERE, TO_HERE } from "../support/staged-move.js";
import { TrackerStage, type TrackerStageOptions } from "../support/tracker-stage.js";

const WHERE = { host: "here", node: "node" };

function used(stage: TrackerStage) {
  const { state } = stage;
  return stage.node().account.used(stage.node().row, state.options, 0).vcpusUsed;
}

async function count(stage: TrackerStage, instances: readonly Instance[], migrations: readonly Migration[] = []) {
  await countRecords(stage.state, stage.node(), WHERE, { instances, migrations });
}

describe("4.4 steps 5 to 10: a node is counted anew", () => {
  const here = (changes: Partial<Instance> = {}) =>
    anInstance({
      uuid: "vm",
      host: "here",
      node: "node",
      computeId: 5,
      flavor: OLD,
      instanceTypeId: OLD.id,
      ...changes,
    });
  const moving = (changes: Partial<Migration> = {}) =>
    aMigration({ id: 7, uuid: "move", instanceUuid: "vm", migrationType: "resize", ...TO_HERE, ...changes });

  test("what was counted before is forgotten", async () => {
    const stage = new TrackerStage();
    await count(stage, [here()]);
    expect(used(stage)).toBe(1);
    await count(stage, []);
    expect(used(stage)).toBe(0);
  });

  test("an instance without the node's id gets it", async () => {
    const stage = new TrackerStage({ instance: { node: "node" } });
    await count(stage, [here({ computeId: 4 })]);
    expect(stage.did).toEqual([
      ["instance_save", { uuid: "vm", changes: { host: "here", node: "node", computeId: 5 }, expectedHost: "here" }],
    ]);
    expect(used(stage)).toBe(1);
    const other = new TrackerStage();
    await count(other, [here()]);
    expect(other.did).toEqual([]);
  });

  test.each([
    ["evacuated", new ConductorError("ObjectActionError", "host changed", { reason: "host changed" })],
    ["deleted", new ConductorError("InstanceNotFound", "gone")],
  ])("one that was %s since it was read is not taken back, and not counted", async (_, rejection) => {
    const stage = new TrackerStage();
    stage.replies.instance_save = rejection;
    await count(stage, [here({ computeId: 4 }), here({ uuid: "other" })]);
    expect(used(stage)).toBe(1);
    stage.replies.instance_save = new Error("away");
    await expect(count(stage, [here({ computeId: 4 })])).rejects.toThrow("away");
  });

  test("a control plane that keeps no ids is told one of them, and no more", async () => {
    const instance = here({ computeId: null });
    const stage = new TrackerStage();
    stage.replies.instance_save = instance;
    await count(stage, [instance, here({ uuid: "other", computeId: null })]);
    await count(stage, [instance]);
    expect(stage.calls).toEqual(["instance_save"]);
    expect(used(stage)).toBe(1);
  });

  const RESIZED = { taskState: "resize_prep", newFlavor: NEW, oldFlavor: OLD, host: "there", node: "far" } as const;

  test("a move to here counts for an instance that is elsewhere, which is read", async () => {
    const stage = new TrackerStage({ instance: RESIZED });
    await count(stage, [], [moving()]);
    expect(stage.argumentsOf("instances_by_filters")).toEqual([[{ filters: { uuids: ["vm"] } }]]);
    expect(used(stage)).toBe(NEW.vcpus);
    expect(stage.node().account.migrations).toEqual([moving()]);
  });

  test("an instance that is here is not read again; its own move adds nothing on one side", async () => {
    const stage = new TrackerStage();
    await count(stage, [here({ ...RESIZED, host: "here", node: "node" })], [moving(FROM_HERE)]);
    expect(stage.argumentsOf("instances_by_filters")).toEqual([]);
    expect(used(stage)).toBe(1);
  });

  test.each<[string, TrackerStageOptions, Partial<Migration>]>([
    ["at rest", { instance: { host: "there" } }, {}],
    [
      "in error, whose evacuation upstream misses",
      {
        instance: { host: "there", vmState: "error", taskState: "rebuilding" },
        options: { ignoreErroredEvacuations: true },
      },
      { migrationType: "evacuation" },
    ],
  ])("a move of an instance that is %s does not count", async (_, options, migration) => {
    const stage = new TrackerStage(options);
    await count(stage, [], [moving(migration)]);
    expect(used(stage)).toBe(0);
    expect(stage.node().account.migrations).toEqual([]);
  });

  test("a move that its instance's context contradicts is in error, and counts nothing", async () => {
    const migrationContext = { migrationId: 9 } as Instance["migrationContext"];
    const stage = new TrackerStage({ instance: { ...RESIZED, migrationContext } });
    await count(stage, [], [moving()]);
    const save = { id: 7, changes: { status: "error" }, expectedStatus: [moving().status] };
    expect(stage.did).toEqual([["migration_save", save]]);
    expect(used(stage)).toBe(0);
    const same = new TrackerStage({
      instance: {
        ...RESIZED,
        migrationContext: { ...migrationContext, migrationId: 7, newResources: [], oldResources: [] } as never,
      },
    });
    await count(same, [], [moving()]);
    expect(same.did).toEqual([]);
    expect(used(same)).toBe(NEW.vcpus);
  });

  test.each([
    ["one in error", { status: "error" }],
    ["a live migration that its source has not ended yet", { migrationType: "live-migration", status: "running" }],
  ] as const)("nothing is written of %s, and it counts nothing", async (_, changes) => {
    const migrationContext = { migrationId: 9 } as Instance["migrationContext"];
    const stage = new TrackerStage({ instance: { ...RESIZED, migrationContext } });
    await count(stage, [], [moving(changes)]);
    expect(stage.did).toEqual([]);
    expect(used(stage)).toBe(0);
  });

  test("a move that has ended since it was read, and has given way to the next one, keeps its status", async () => {
    const migrationContext = { migrationId: 9 } as Instance["migrationContext"];
    const stage = new TrackerStage({ instance: { ...RESIZED, migrationContext } });
    stage.replies.migration_save = new ConductorError("InvalidMigrationState", "confirmed");
    await count(stage, [], [moving()]);
    expect(used(stage)).toBe(0);
    stage.replies.migration_save = new Error("away");
    await expect(count(stage, [], [moving()])).rejects.toThrow("away");
  });

  const device = (identifier: string): AssignedResource => ({ providerUuid: "p", resourceClass: "VGPU", identifier });
  const context = {
    newResources: [device("new")],
    oldResources: [device("old")],
  } as unknown as Instance["migrationContext"];

  test.each<[string, Partial<Migration>, string[]]>([
    ["to this node: the new ones", TO_HERE, ["new"]],
    ["from this node: the old ones", FROM_HERE, ["old"]],
    ["to another node of this host: the old ones", { ...TO_HERE, destNode: "second" }, ["old"]],
    ["to a node of that name elsewhere: the old ones", { ...TO_HERE, destCompute: "there" }, ["old"]],
  ])("discrete resources of a move %s", (_, migration, identifiers) => {
    const found = contextResources(here({ migrationContext: context }), moving(migration), WHERE);
    expect(found.map(({ identifier }) => identifier)).toEqual(identifiers);
    expect(contextResources(here(), moving(migration), WHERE)).toEqual([]);
  });
});

describe("4.4 step 4: who is on a node", () => {
  const row = (uuid: string, node: string | null) => anInstance({ uuid, host: "here", node });
  const move = (id: number, changes: Partial<Migration>) => aMigration({ id, uuid: `m${id}`, ...changes });
  const ids = (migrations: readonly Migration[]) => migrations.map(({ id }) => id);

  test("of one node: by host and node, those in error too", async () => {
    const stage = new TrackerStage();
    stage.replies.instances_by_host_and_node = [row("a", "node")];
    stage.replies.migrations_in_progress = [move(1, FROM_HERE)];
    const { instances, migrations } = await singleReader(stage.state)("node");
    expect([instances.map(({ uuid }) => uuid), ids(migrations)]).toEqual([["a"], [1]]);
    expect(stage.lines).toEqual([
      ["instances_by_host_and_node", { host: "here", node: "node" }],
      ["migrations_in_progress", { host: "here", node: "node", includeError: true }],
    ]);
  });

  function batch() {
    const stage = new TrackerStage();
    stage.replies.instances_by_host = [row("a", "node"), row("b", "second"), row("c", "node"), row("d", null)];
    stage.replies.migrations_by_filters = [
      move(1, { ...FROM_HERE, sourceNode: "node" }),
      move(2, { ...TO_HERE, destNode: "node" }),
      move(3, { ...FROM_HERE, destCompute: "here", destNode: "second" }),
      move(4, { ...FROM_HERE, destCompute: "here", destNode: "node" }),
      move(5, { ...TO_HERE, destNode: null }),
      move(6, { sourceCompute: "there", sourceNode: "node", destCompute: "there", destNode: "node" }),
    ];
    return { stage, reader: batchReader(stage.state) };
  }

  test("of many nodes: asked for once, and told apart by their nodes", async () => {
    const { stage, reader } = batch();
    const [first, second, third] = await Promise.all(["node", "second", "third"].map((name) => reader(name)));
    expect(first?.instances.map(({ uuid }) => uuid)).toEqual(["a", "c"]);
    expect(ids(first?.migrations ?? [])).toEqual([1, 2, 3, 4]);
    expect(second?.instances.map(({ uuid }) => uuid)).toEqual(["b"]);
    expect(ids(second?.migrations ?? [])).toEqual([3]);
    expect(third).toEqual({ instances: [], migrations: [] });
    const final = ["confirmed", "reverted", "failed", "completed", "cancelled", "done"];
    const statuses = MIGRATION_STATUSES.filter((status) => !final.includes(status));
    expect(stage.lines).toEqual([
      ["instances_by_host", { host: "here" }],
      ["migrations_by_filters", { filters: { host: "here", statuses } }],
    ]);
  });

  test("asked for again when a write of the agent has changed who is where, and only then", async () => {
    const { stage, reader } = batch();
    await reader("node");
    await reader("second");
    expect(stage.argumentsOf("instances_by_host")).toHaveLength(1);
    stage.state.binding.epoch += 1;
    stage.replies.instances_by_host = [row("e", "node")];
    expect((await reader("node")).instances.map(({ uuid }) => uuid)).toEqual(["e"]);
    expect((await reader("second")).instances).toEqual([]);
    expect(stage.argumentsOf("instances_by_host")).toHaveLength(2);
  });

  test("a question that failed is asked again", async () => {
    const { stage, reader } = batch();
    const reply = stage.replies.instances_by_host;
    stage.replies.instances_by_host = new Error("conductor");
    await expect(reader("node")).rejects.toThrow("conductor");
    stage.replies.instances_by_host = reply;
    expect((await reader("node")).instances).toHaveLength(2);
  });
});
