import { describe, expect, it } from "vitest";
import {
  type TaskContext,
  TaskRunner,
  type TaskTable,
} from "../../../../../src/control-plane/conductor/task-runner.js";
import { EventLoopTicks } from "../../../../../src/control-plane/event-loop.js";
import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../../fixtures/empty-store.js";

const A = "aaaaaaaa-0000-4000-8000-000000000001";
const B = "bbbbbbbb-0000-4000-8000-000000000001";
const C = "cccccccc-0000-4000-8000-000000000001";

const taskOf = (instanceUuid: string, requestId: string): Task => ({ kind: "delete_local", instanceUuid, requestId });

/** Creates a runner whose flows wait until the test releases them. */
async function bench(concurrency: number) {
  const runtime = createVirtualRuntime();
  const store = emptyStore({ runtime });
  const started: string[] = [];
  const failed: string[] = [];
  const contexts = new Map<string, TaskContext>();
  const gates = new Map<string, { open: () => void; fail: (error: Error) => void }>();
  const flow = {
    run: (task: Task, context: TaskContext) => {
      started.push(task.requestId);
      contexts.set(task.requestId, context);
      return new Promise<void>((resolve, reject) => gates.set(task.requestId, { open: resolve, fail: reject }));
    },
    fail: (task: Task) => {
      if (task.requestId === "unstoppable") {
        throw new Error("the store is broken");
      }
      failed.push(task.requestId);
    },
  };
  const table: TaskTable = {
    build_instances: flow,
    rebuild_instance: flow,
    rebuild_in_place: flow,
    migrate_server: flow,
    live_migrate_instance: flow,
    unshelve_instance: flow,
    delete_resized: flow,
    delete_local: flow,
    block_storage: flow,
  };
  const create = (ticks?: EventLoopTicks) =>
    new TaskRunner({
      store,
      table,
      concurrency,
      clock: runtime.clock,
      logger: runtime.logger,
      ...(ticks ? { ticks } : {}),
    });
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      await Promise.resolve();
    }
  };
  const end = async (requestId: string, error?: Error) => {
    if (error) {
      gates.get(requestId)?.fail(error);
    } else {
      gates.get(requestId)?.open();
    }
    await settle();
  };
  return { store, runtime, started, failed, contexts, create, end, settle };
}

describe("task runner", () => {
  it("resolves the end of a task to the failure that its flow reported or threw, or to undefined", async () => {
    const { store, contexts, create, end, settle } = await bench(4);
    const runner = create();
    runner.start();
    const ended = ["reported", "thrown", "fine"].map((requestId, index) =>
      runner.ended(store.tasks.add(taskOf([A, B, C][index] ?? A, requestId)).id),
    );
    runner.wake();
    await settle();
    contexts.get("reported")?.report(new Error("no host"));
    await end("reported");
    await end("thrown", new Error("a defect"));
    await end("fine");
    expect(await Promise.all(ended)).toMatchObject([{ message: "no host" }, { message: "a defect" }, undefined]);
  });

  it("ends the wait for tasks that it no longer starts", async () => {
    const { store, create } = await bench(1);
    const runner = create();
    const ended = runner.ended(store.tasks.add(taskOf(A, "waiting")).id);
    await runner.stop();
    expect(await ended).toMatchObject({ message: expect.stringContaining("is stopping") });
    expect(store.tasks.pending(), "it goes on at the next start").toHaveLength(1);
  });

  it("reports the duration of each finished task since it was stored", async () => {
    const { store, runtime, create, end, settle } = await bench(2);
    const runner = create();
    const measurements: [string, number][] = [];
    runner.listen((kind, milliseconds) => measurements.push([kind, milliseconds]));
    store.tasks.add(taskOf(A, "a1"));
    await runtime.advance(70);
    runner.start();
    await settle();
    expect(measurements).toEqual([]);
    await end("a1");
    expect(measurements).toEqual([[taskOf(A, "a1").kind, 70]]);
  });

  it("yields to other work before it starts more tasks", async () => {
    const { store, create, started, end, settle } = await bench(2);
    for (const [uuid, name] of [
      [A, "a1"],
      [B, "b1"],
    ] as const) {
      store.tasks.add(taskOf(uuid, name));
    }
    let now = 0;
    let resume = (): void => undefined;
    const timers = {
      sleep: () =>
        new Promise<void>((resolve) => {
          resume = resolve;
        }),
    };
    const runner = create(new EventLoopTicks({ clock: { monotonic: () => now }, timers }));
    now = 100;
    runner.start();
    await settle();
    expect(started).toEqual([]);
    resume();
    await settle();
    expect(started).toEqual(["a1", "b1"]);
    await end("a1");
    await end("b1");
    await runner.idle();
  });

  it("runs tasks of several instances concurrently, and those of one instance in order", async () => {
    const { store, create, started, end } = await bench(2);
    for (const [uuid, name] of [
      [A, "a1"],
      [A, "a2"],
      [B, "b1"],
      [C, "c1"],
    ] as const) {
      store.tasks.add(taskOf(uuid, name));
    }
    const runner = create();
    runner.start();
    expect(started).toEqual(["a1", "b1"]);
    await end("b1");
    expect(started).toEqual(["a1", "b1", "c1"]);
    await end("a1");
    expect(started).toEqual(["a1", "b1", "c1", "a2"]);
    await end("a2");
    await end("c1");
    await runner.idle();
    expect(store.tasks.pending()).toEqual([]);
  });

  it("accepts later tasks, and distinguishes them from those of an earlier run", async () => {
    const { store, create, contexts, end, settle } = await bench(2);
    store.tasks.add(taskOf(A, "old"));
    const runner = create();
    runner.start();
    store.tasks.add(taskOf(B, "new"));
    runner.wake();
    await settle();
    expect([contexts.get("old")?.restarted, contexts.get("new")?.restarted]).toEqual([true, false]);
    await end("old");
    await end("new");
    await runner.idle();
  });

  it("an unexpected error: the flow's fail runs and the task is removed in one transaction", async () => {
    const { store, create, failed, end, runtime } = await bench(2);
    store.tasks.add(taskOf(A, "a1"));
    const runner = create();
    runner.start();
    await end("a1", new Error("boom"));
    await runner.idle();
    expect(failed).toEqual(["a1"]);
    expect(store.tasks.pending()).toEqual([]);
    expect(
      runtime.logs.some(({ level, message }) => level === "error" && message.includes("delete_local failed")),
    ).toBe(true);
  });

  it("a task whose failure handler fails stays stored, is not retried immediately, and runs in the next conductor", async () => {
    const { store, create, started, end } = await bench(2);
    store.tasks.add(taskOf(A, "unstoppable"));
    const runner = create();
    runner.start();
    await end("unstoppable", new Error("boom"));
    runner.wake();
    await runner.idle();
    expect(started).toEqual(["unstoppable"]);
    expect(store.tasks.pending()).toHaveLength(1);
    create().start();
    expect(started).toEqual(["unstoppable", "unstoppable"]);
  });

  it("stop waits for running tasks and leaves the others stored", async () => {
    const { store, create, started, end, settle } = await bench(1);
    store.tasks.add(taskOf(A, "a1"));
    store.tasks.add(taskOf(B, "b1"));
    const runner = create();
    runner.start();
    let stopped = false;
    const stopping = runner.stop().then(() => {
      stopped = true;
    });
    await settle();
    expect(stopped).toBe(false);
    await end("a1");
    await stopping;
    expect(started).toEqual(["a1"]);
    expect(store.tasks.pending()).toMatchObject([{ task: { requestId: "b1" } }]);
  });
});
