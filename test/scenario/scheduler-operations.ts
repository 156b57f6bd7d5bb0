import { expect } from "vitest";
import type { Task } from "../../src/control-plane/store/tasks.js";
import type { Selection } from "../../src/records/index.js";
import { ConductorBench, NEED } from "../unit/control-plane/conductor/tasks/bench.js";

/** Starts a task of the conductor; returns the checks for the state after a kill and restart. */
export type Operation = (bench: ConductorBench) => Promise<{
  readonly uuid: string;
  readonly task?: Task;
  readonly holds: () => Promise<void>;
}>;

async function builtOnce(bench: ConductorBench, uuid: string): Promise<void> {
  expect(bench.casts).toMatchObject([{ method: "build_and_run_instance", params: { instanceUuid: uuid } }]);
  expect(await bench.held(uuid)).toEqual({ [bench.casts[0]?.host ?? ""]: NEED });
  expect(bench.instance(uuid)).toMatchObject({ vmState: "building", taskState: "scheduling" });
}

async function evacuated(bench: ConductorBench, options: { readonly host: string | null; readonly forced: boolean }) {
  const { uuid } = await bench.server("devstack1");
  bench.store.services.update(bench.service("devstack1").id, { forcedDown: true });
  bench.store.instances.save(uuid, { taskState: "rebuilding" });
  const migration = bench.store.migrations.create({
    instanceUuid: uuid,
    migrationType: "evacuation",
    status: "accepted",
    changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: options.host },
  });
  const task: Task = {
    kind: "rebuild_instance",
    instanceUuid: uuid,
    migrationId: migration.id,
    requestId: "req-1",
    onSharedStorage: null,
    targetStopped: false,
    ...options,
  };
  const holds = async () => {
    expect(bench.casts).toMatchObject([{ method: "rebuild_instance", params: { instanceUuid: uuid } }]);
    expect(await bench.held(uuid)).toEqual({ devstack1: NEED, [bench.casts[0]?.host ?? ""]: NEED });
    expect(bench.store.migrations.get(migration.id)?.status).toBe("accepted");
  };
  return { uuid, task, holds };
}

/** The flows of the conductor, each in a cluster of three hosts. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  "6.1 build": async (bench) => {
    const uuid = bench.request();
    return { uuid, holds: () => builtOnce(bench, uuid) };
  },
  "6.1 build of an instance that fits nowhere": async (bench) => {
    const uuid = bench.request({ availabilityZone: "nowhere" });
    const holds = async () => {
      expect(bench.casts).toEqual([]);
      expect(bench.instance(uuid)).toMatchObject({ vmState: "error", taskState: null });
      expect(await bench.held(uuid)).toEqual({});
    };
    return { uuid, holds };
  },
  "6.1 reschedule": async (bench) => {
    const uuid = bench.request();
    await bench.run();
    const [cast] = bench.casts.splice(0);
    const alternates = cast ? (cast.params as { alternates: Selection[] }).alternates : [];
    await bench.placement.deleteAllocation(uuid, { force: true });
    const task: Task = {
      kind: "build_instances",
      instanceUuid: uuid,
      requestId: `req-${uuid}`,
      alternates,
      retry: { numAttempts: 1, hosts: [] },
      reason: "spawn failed",
    };
    return { uuid, task, holds: () => builtOnce(bench, uuid) };
  },
  "6.2 local delete": async (bench) => {
    const { uuid } = await bench.server("devstack1");
    bench.store.services.update(bench.service("devstack1").id, { forcedDown: true });
    const holds = async () => {
      expect(bench.store.instances.get(uuid)).toBeNull();
      expect(await bench.held(uuid)).toEqual({});
    };
    return { uuid, task: { kind: "delete_local", instanceUuid: uuid, requestId: "req-1" }, holds };
  },
  "6.7 row 2a evacuate": (bench) => evacuated(bench, { host: null, forced: false }),
  "6.7 row 2b forced evacuate": (bench) => evacuated(bench, { host: "devstack2", forced: true }),
};

export async function prepared(operation: Operation) {
  const bench = await ConductorBench.open();
  for (const host of ["devstack1", "devstack2", "devstack3"]) {
    await bench.host(host);
  }
  const { uuid, task, holds } = await operation(bench);
  bench.placementBench.mark();
  return { bench, uuid, task, holds };
}
