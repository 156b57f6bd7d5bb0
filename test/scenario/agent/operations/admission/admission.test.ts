import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { admit, type Message } from "../../../../../src/agent/operations/flow/admission.js";
import type { OperationName } from "../../../../../src/agent/operations/flow/contract.js";
import { OPERATIONS } from "../../../../../src/agent/operations/table.js";
import type { Instance, InstanceChanges, TaskState } from "../../../../../src/records/index.js";
import { StubHypervisor } from "../../../../fixtures/tracker-driver.js";
import { type TestAgent, TrackerWorld } from "../../../../fixtures/tracker-world.js";

const OURS = "req-ours";
const THEIRS = "req-theirs";

interface Due {
  readonly world: TrackerWorld;
  readonly vm: Instance;
  readonly task: TaskState | null;
  readonly message: Message;
  readonly home: InstanceChanges;
  readonly away: InstanceChanges;
}

/**
 * Changes of the instance between the sending of the message and its arrival on h1, by the columns of
 * docs/explanation/two-at-once.md.
 */
const SITUATIONS: Readonly<Record<string, (due: Due) => void>> = {
  unchanged: () => {},
  "returned, idle": ({ world, vm, home }) => {
    save(world, vm, { taskState: null });
    save(world, vm, home);
  },
  "same task, another request": ({ world, vm, task }) => save(world, vm, { taskState: task, taskRequestId: THEIRS }),
  "elsewhere, still requested": ({ world, vm, away }) => {
    // An operator's move of its node; no move of the instance.
    save(world, vm, { taskState: null });
    save(world, vm, away);
    save(world, vm, { taskState: vm.taskState, taskRequestId: OURS });
  },
  "elsewhere, idle": ({ world, vm, away }) => {
    save(world, vm, { taskState: null });
    save(world, vm, away);
  },
  "moved by another request": ({ world, vm }) => save(world, vm, { taskState: "migrating", taskRequestId: THEIRS }),
  "being deleted": ({ world, vm }) => save(world, vm, { taskState: "deleting", taskRequestId: THEIRS }),
  deleted: ({ world, vm }) => {
    world.store.instances.destroy(vm.uuid);
  },
  "its move has ended": ({ world, message }) => {
    if (message.migrationId) {
      world.store.migrations.save(message.migrationId, { status: "error" });
    }
  },
};

function save(world: TrackerWorld, { uuid }: Instance, changes: InstanceChanges): void {
  world.store.instances.save(uuid, changes);
}

const METHODS = Object.keys(OPERATIONS) as OperationName[];
const WORDS = { ended: "dropped", taken: "rejected", moved: "forwarded", gone: "gone" } as const;

/** Creates two hosts. The tests change the records themselves, so invariants are not checked. */
async function openWorld(seed: string) {
  const world = await TrackerWorld.create(seed);
  const h1 = await world.startedAgent("h1", new StubHypervisor("n1"), { watched: false });
  const h2 = await world.startedAgent("h2", new StubHypervisor("n2"), { watched: false });
  return { world, h1, h2 };
}

/** Returns the error that a user gets. */
function errorFor({ world, vm }: Due): string {
  const now = world.store.instances.get(vm.uuid);
  if (now === null) {
    return "InstanceNotFound";
  }
  return now.taskState === "deleting" ? "UnexpectedDeletingTaskState" : "UnexpectedTaskState";
}

/** Creates an instance for which h1 has a queued message, in the state that the operation needs. */
async function sent(world: TrackerWorld, method: OperationName, { h1, h2 }: { h1: TestAgent; h2: TestAgent }) {
  const { instance: place, tasks, vmStates, migration: step } = OPERATIONS[method].admission;
  const [task = null] = tasks === "any" ? [method === "terminate_instance" ? ("deleting" as const) : null] : tasks;
  const onSource = step?.part !== "destination" || place === "here";
  const vm = await world.placed(place === "elsewhere" || !onSource ? h2 : h1, {
    vmState: vmStates?.[0] ?? "active",
    taskState: task,
    taskRequestId: OURS,
    ...(place === "nowhere" ? { host: null, node: null, computeId: null } : {}),
  });
  const [sourceCompute, destCompute] = step?.part === "source" ? (["h1", "h2"] as const) : (["h2", "h1"] as const);
  const [status = "running"] = step?.statuses === "any" ? [] : (step?.statuses ?? []);
  const migration = step
    ? world.store.migrations.create({
        instanceUuid: vm.uuid,
        migrationType: method.includes("live") ? "live-migration" : "resize",
        status,
        changes: {
          sourceCompute,
          sourceNode: placeOf(world, sourceCompute).node,
          destCompute,
          destNode: placeOf(world, destCompute).node,
          destComputeId: placeOf(world, destCompute).computeId,
        },
      })
    : null;
  const message: Message = {
    instanceUuid: vm.uuid,
    requestId: OURS,
    ...(migration ? { migrationId: migration.id } : {}),
  };
  const due: Due = { world, vm, task, message, home: placeOf(world, "h1"), away: placeOf(world, "h2") };
  return due;
}

function placeOf(world: TrackerWorld, host: string) {
  const [node] = world.store.computeNodes.byHost(host);
  return { host, node: node?.hypervisorHostname ?? "", computeId: node?.id ?? 0 };
}

/** Reads the table of the page: message → situation → effect. */
function readPage(): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const [head = [], , ...rows] = readFileSync("docs/explanation/two-at-once.md", "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll("`", "")));
  return new Map(
    rows.map(([method = "", ...cells]) => [method, new Map(cells.map((cell, at) => [head[at + 1] ?? "", cell]))]),
  );
}

/** Delivers the message to the agent, with the parameters of all methods. */
function deliver({ operations }: TestAgent, method: OperationName, { message, vm }: Due): Promise<unknown> {
  const { instanceUuid, requestId, migrationId } = message;
  const elsewhere = method === "evacuate_instance";
  return operations.run(elsewhere ? "rebuild_instance" : method, {
    instanceUuid,
    requestId,
    migrationId: migrationId ?? 0,
    recreate: elsewhere,
    allocations: {},
    alternates: [],
    blockMigration: null,
    data: {},
    dest: "h2",
    destroyDisks: true,
    diskInfo: "",
    diskOverCommit: false,
    flavor: vm.flavor,
    imageId: vm.uuid,
    imageRef: vm.imageRef,
    node: "n1",
    onSharedStorage: null,
    targetStopped: false,
    type: "HARD",
  });
}

describe("docs/explanation/two-at-once.md: every message in every situation", () => {
  const page = readPage();

  test("the page has a row for each message, and a cell for each situation", () => {
    for (const method of METHODS) {
      expect([...(page.get(method)?.keys() ?? [])], method).toEqual(Object.keys(SITUATIONS));
    }
  });

  test.each(METHODS)("%s", async (method) => {
    const { world, h1, h2 } = await openWorld(method);
    const results: Record<string, string> = {};
    for (const [situation, happens] of Object.entries(SITUATIONS)) {
      const due = await sent(world, method, { h1, h2 });
      happens(due);
      const result = await admit(h1.context, { method, admission: OPERATIONS[method].admission }, due.message);
      results[situation] = "admitted" in result ? "done" : WORDS[result.rejected.kind];
      if ("rejected" in result) {
        expect(result.rejected.error.name, `${method}, ${situation}`).toBe(errorFor(due));
      }
      if ("rejected" in result && result.rejected.kind !== "moved") {
        await changesNothing(h1, method, due, situation);
      }
    }
    const { "its move has ended": ended, ...others } = results;
    const expected = Object.fromEntries(page.get(method) ?? []);
    expect({ ...others, "its move has ended": OPERATIONS[method].admission.migration ? ended : "–" }).toEqual(expected);
  });
});

/** Asserts that neither the guest nor the row changes. */
async function changesNothing(h1: TestAgent, method: OperationName, due: Due, situation: string): Promise<void> {
  const { world, vm } = due;
  const before = world.stored(vm.uuid);
  h1.hypervisor.calls.length = 0;
  await deliver(h1, method, due).catch(() => {});
  const touched = h1.hypervisor.calls.filter((call) => call.includes(vm.uuid));
  expect(touched, `${method}, ${situation}: the guest is left alone`).toEqual([]);
  expect(world.stored(vm.uuid), `${method}, ${situation}: the row is as it was`).toEqual(before);
}
