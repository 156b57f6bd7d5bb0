import { expect, it } from "vitest";
import { TaskRunner, type TaskTable } from "../../../../src/control-plane/conductor/task-runner.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { createVirtualRuntime, VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { startInProcessConductor } from "../../../fixtures/in-process-conductor.js";

const DEFECT = new Error("disk I/O error");

/** Makes one method of the store fail while `broken` returns true. */
function failing<K extends keyof Store>(store: Store, part: K, method: keyof Store[K], broken: () => boolean): void {
  const methods = store[part];
  const original = methods[method] as (...args: unknown[]) => unknown;
  Object.defineProperty(methods, method, {
    value: (...args: unknown[]) => {
      if (broken()) {
        throw DEFECT;
      }
      return original.apply(methods, args);
    },
  });
}

it("if the store fails when a connection ends, the control plane continues and the lease expires", async () => {
  const world = new VirtualWorld();
  const cluster = await startInProcessConductor(world);
  let broken = false;
  failing(cluster.store, "leases", "put", () => broken);
  const first = cluster.agent("h1", { process: "one" });
  await world.runUntil(first.session.acquireLease());
  broken = true;
  first.runtime.kill();
  await world.advance(100);
  const errorLogs = cluster.runtime.logs.filter(({ fields }) => fields.err === DEFECT);
  expect(errorLogs.map(({ level }) => level)).toEqual(["error"]);
  expect(cluster.conductor.connections).toBe(0);
  broken = false;
  const second = cluster.agent("h1", { process: "two" });
  await world.runUntil(second.session.acquireLease(), { limit: 60_000 });
  expect(second.session.leaseHeld).toBe(true);
});

it("tasks that could not be read are read again with the next one", async () => {
  const runtime = createVirtualRuntime();
  const store = emptyStore({ runtime });
  let broken = false;
  failing(store, "tasks", "pending", () => broken);
  const ran: string[] = [];
  const flow = {
    run: async ({ requestId }: { readonly requestId: string }) => {
      ran.push(requestId);
    },
    fail: () => undefined,
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
  const runner = new TaskRunner({ store, table, concurrency: 2, clock: runtime.clock, logger: runtime.logger });
  runner.start();
  const add = async (requestId: string) => {
    store.tasks.add({ kind: "delete_local", instanceUuid: runtime.random.uuid(), requestId });
    runner.wake();
    for (let turn = 0; turn < 10; turn += 1) {
      await Promise.resolve();
    }
  };
  broken = true;
  await add("one");
  expect(ran).toEqual([]);
  expect(runtime.logs.at(-1)).toMatchObject({ level: "error", fields: { err: DEFECT } });
  broken = false;
  await add("two");
  await runner.idle();
  expect(ran).toEqual(["one", "two"]);
});
