import { beforeEach, describe, expect, it } from "vitest";
import type { Caller } from "../../../../../src/control-plane/conductor/dispatcher.js";
import { workMethods } from "../../../../../src/control-plane/conductor/methods/work-methods.js";
import type { Store } from "../../../../../src/control-plane/store/store.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../../fixtures/empty-store.js";
import { aFlavor, anInstance, nodeResources } from "../../../../fixtures/records.js";
import { testNetwork } from "../../../../fixtures/test-network.js";

const I = "cccccccc-0000-4000-8000-000000000001";
const caller = { requestId: "req-1" } as Caller;

let store: Store;
let casts: unknown[];
let served: string[];
let instanceInfo: Map<string, ReadonlySet<string>>;
let methods: ReturnType<typeof workMethods>;

beforeEach(() => {
  const runtime = createVirtualRuntime();
  store = emptyStore({ runtime });
  [casts, served, instanceInfo] = [[], [], new Map()];
  const service = store.services.create({ host: "h", binary: "nova-compute", topic: "compute", version: 73 });
  const uuid = "00000000-0000-4000-8000-000000000001";
  const node = { host: "h", serviceId: service.id, uuid, hypervisorHostname: "n", resources: nodeResources() };
  const { id: computeId } = store.computeNodes.create(node);
  const { id: _id, ...columns } = anInstance({ uuid: I, host: "h", node: "n", computeId });
  store.instances.create({ ...columns, taskState: null });
  methods = workMethods({
    store,
    ports: testNetwork(store, runtime).ports,
    bus: {
      cast: (...message: readonly unknown[]) => void casts.push(message),
      call: () => Promise.reject(new Error("nothing is asked")),
      serves: (host) => served.includes(host),
    },
    leases: { describe: (host: string) => ({ host }) } as never,
    placementAccess: (origin) => ({ endpoint: `${origin}/placement` }) as never,
    instanceInfo,
  });
});

const tasks = () => store.tasks.pending().map(({ task }) => task);
const nowhere = { host: null, node: null, computeId: null };

it("build_instances stores the task unchanged and clears the host that gave it back", () => {
  store.instances.save(I, { launchedOn: "h" });
  const params = {
    instanceUuid: I,
    requestId: "req-2",
    alternates: [],
    retry: { numAttempts: 1, hosts: [] },
    reason: "why",
  };
  expect(methods.build_instances(params, caller)).toBeNull();
  expect(tasks()).toEqual([{ kind: "build_instances", ...params }]);
  expect(store.instances.get(I)?.launchedOn).toBeNull();
});

describe("delete_instance", () => {
  it("goes to its host if that is served", () => {
    served.push("h");
    expect(methods.delete_instance({ instanceUuid: I }, caller)).toBeNull();
    expect(casts).toEqual([["h", "terminate_instance", { instanceUuid: I, requestId: "req-1" }, "req-1"]]);
    expect(tasks()).toEqual([]);
  });

  it("is a task of the conductor if the host is not served, or there is no host or no instance", () => {
    methods.delete_instance({ instanceUuid: I }, caller);
    served.push("h");
    store.instances.save(I, nowhere);
    methods.delete_instance({ instanceUuid: I }, caller);
    store.instances.destroy(I);
    methods.delete_instance({ instanceUuid: I }, caller);
    const task = { kind: "delete_local", instanceUuid: I, requestId: "req-1" };
    expect([casts, tasks()]).toEqual([[], [task, task, task]]);
  });
});

it("migrate_server clears the destination that gave the migration back, and stores the task", () => {
  const { id: migrationId } = store.migrations.create({
    instanceUuid: I,
    migrationType: "migration",
    status: "pre-migrating",
    changes: { destCompute: "d", destNode: "d", destComputeId: 1, destHost: "10.0.0.1" },
  });
  const failure = { host: "d", node: "d", message: "m", traceback: null, rollback: true, eventId: null };
  const flavor = aFlavor();
  const params = {
    instanceUuid: I,
    requestId: "req-2",
    flavor,
    migrationId,
    alternates: [],
    retry: { numAttempts: 1, hosts: [] },
    failure,
  };
  expect(methods.migrate_server(params, caller)).toBeNull();
  expect(store.migrations.get(migrationId)).toMatchObject({
    destCompute: null,
    destNode: null,
    destComputeId: null,
    destHost: null,
  });
  expect(tasks()).toEqual([{ kind: "migrate_server", host: null, ...params }]);
});

it("online_data_migrations returns its only migration with the counts", () => {
  const done = { name: "migration_uuids", needed: 0, completed: 0 };
  expect(methods.online_data_migrations({ limit: 5 }, caller)).toEqual([done]);
});

describe("stop_instance", () => {
  it("sets the task_state, records the action and notifies the host", () => {
    expect(methods.stop_instance({ instanceUuid: I }, caller)).toBeNull();
    expect(store.instances.get(I)).toMatchObject({ taskState: "powering-off", taskRequestId: "req-1" });
    expect(store.actions.list(I)).toMatchObject([
      { action: "stop", requestId: "req-1", userId: "user", projectId: "project" },
    ]);
    expect(casts).toEqual([["h", "stop_instance", { instanceUuid: I, requestId: "req-1" }, "req-1"]]);
  });

  it("is rejected if another operation owns the instance, it has no host, or it was deleted", () => {
    const stop = () => methods.stop_instance({ instanceUuid: I }, caller);
    store.instances.save(I, { taskState: "rebooting" });
    expect(stop).toThrow(expect.objectContaining({ code: "UnexpectedTaskState" }));
    store.instances.save(I, { taskState: null, ...nowhere });
    expect(stop).toThrow(expect.objectContaining({ code: "ObjectActionError" }));
    store.instances.destroy(I);
    expect(stop).toThrow(expect.objectContaining({ code: "InstanceNotFound" }));
    expect([casts, store.actions.list(I)]).toEqual([[], []]);
  });
});

it("sync_instance_info, host_lease_holder and placement_access", async () => {
  expect(methods.sync_instance_info({ host: "h", instanceUuids: [I, I] }, caller)).toBeNull();
  expect([...instanceInfo]).toEqual([["h", new Set([I])]]);
  expect(methods.host_lease_holder({ host: "h" }, caller)).toEqual({ host: "h" });
  const session = { origin: "https://control.example:8775" } as never;
  expect(await methods.placement_access({}, { ...caller, session })).toEqual({
    endpoint: "https://control.example:8775/placement",
  });
});
