import { describe, expect, test } from "vitest";
import { type Store, storeOn } from "../../../../src/control-plane/store/store.js";
import type { InstanceChanges, Migration } from "../../../../src/records/index.js";
import {
  addInstance,
  addNode,
  addService,
  errorOf,
  memoryStore,
  newInstance,
  UNKNOWN_UUID,
  uuidOf,
} from "./support.js";

function place(store: Store, host = "devstack1") {
  const node = addNode(store, addService(store, host));
  return { host, node: node.hypervisorHostname, computeId: node.id };
}

describe("instances", () => {
  test("1.1 Instance: the uuid is unique, including deleted rows", async () => {
    const { store } = await memoryStore();
    addInstance(store);
    expect(errorOf(() => addInstance(store))).toMatchObject({ code: "DuplicateRecord" });
    store.instances.destroy(uuidOf(1));
    expect(errorOf(() => addInstance(store))).toMatchObject({ code: "DuplicateRecord" });
  });

  test("a task_state belongs to the request that set it until it is cleared; later steps of the request need not repeat it", async () => {
    const { store } = await memoryStore();
    addInstance(store);
    const save = (changes: InstanceChanges) => store.instances.save(uuidOf(1), changes).taskRequestId;
    expect(save({ taskState: "powering-on" })).toBeNull();
    expect(save({ taskState: "resize_prep", taskRequestId: "req-a" })).toBe("req-a");
    expect(save({ taskState: "resize_migrating" })).toBe("req-a");
    expect(save({ progress: 7 })).toBe("req-a");
    expect(save({ taskState: "rebuilding", taskRequestId: "req-b" })).toBe("req-b");
    expect(save({ taskState: null })).toBeNull();
  });

  test("the request of a delete is retained until the delete ends, even if another request takes over the task_state", async () => {
    const { store } = await memoryStore();
    addInstance(store);
    const save = (changes: InstanceChanges) => store.instances.save(uuidOf(1), changes).deleteRequestId;
    expect(save({ taskState: "deleting", taskRequestId: "req-d" })).toBe("req-d");
    expect(save({ taskState: "rebuilding", taskRequestId: "req-e" })).toBe("req-d");
    expect(save({ taskState: null })).toBe("req-d");
    expect(save({ taskState: "deleting", taskRequestId: "req-d2" })).toBe("req-d2");
    expect(save({ vmState: "error", taskState: null })).toBeNull();
  });

  test("a write of a request is rejected if the task_state belongs to another request", async () => {
    const { store } = await memoryStore();
    addInstance(store);
    store.instances.save(uuidOf(1), { taskState: "rebuilding", taskRequestId: "req-a" });
    const write = (ofRequest: string) => () => store.instances.save(uuidOf(1), { taskState: null }, { ofRequest });
    expect(errorOf(write("req-b"))).toMatchObject({ code: "UnexpectedTaskState" });
    expect(write("req-a")().taskState).toBeNull();
    expect(write("req-b")().taskState).toBeNull();
  });

  test("1.1 list-by-filters returns deleted rows too unless deleted: false is given", async () => {
    const { store } = await memoryStore();
    addInstance(store, uuidOf(1));
    addInstance(store, uuidOf(2));
    addInstance(store, uuidOf(3), { vmState: "soft-delete", taskState: null });
    store.instances.destroy(uuidOf(1));
    const found = (filters: Parameters<Store["instances"]["byFilters"]>[0]) =>
      store.instances.byFilters(filters).map(({ uuid }) => Number(uuid.slice(-1)));
    expect(found({})).toEqual([1, 2, 3]);
    expect(found({ deleted: false })).toEqual([2, 3]);
    expect(found({ deleted: true })).toEqual([1, 3]);
    expect(found({ deleted: true, softDeleted: false })).toEqual([1]);
    expect(found({ uuids: [uuidOf(2), uuidOf(3), UNKNOWN_UUID] })).toEqual([2, 3]);
    expect(found({ taskStates: [null] })).toEqual([3]);
    expect(found({ taskStates: [null, "scheduling"], vmStates: ["building"] })).toEqual([1, 2]);
    expect(found({ uuids: [] })).toEqual([]);
    store.instances.save(uuidOf(3), { launchedOn: "devstack1" });
    expect(found({ launchedOn: "devstack1" })).toEqual([3]);
    expect(found({ cleaned: true })).toEqual([]);
  });

  test("the availability zone changes in the same write as the host, and is null without a host", async () => {
    const { store } = await memoryStore();
    addInstance(store, uuidOf(1), { availabilityZone: "asked" });
    const zone = (changes: InstanceChanges) => store.instances.save(uuidOf(1), changes).availabilityZone;
    const rack = store.aggregates.create({ name: "rack", metadata: { availability_zone: "rack" } });
    store.aggregates.addHost(rack.id, "devstack2");
    expect(zone({ taskState: "networking" })).toBe("asked");
    expect(zone(place(store))).toBe("nova");
    const moved = place(store, "devstack2");
    expect(zone(moved)).toBe("rack");
    expect(zone({ ...moved, taskState: null })).toBe("rack");
    expect(zone({ host: null, node: null, computeId: null })).toBeNull();
  });

  test("1.4 a new instance contains the flavor and its amounts", async () => {
    const { store, runtime } = await memoryStore();
    expect(addInstance(store)).toMatchObject({
      ...newInstance(uuidOf(1)),
      vcpus: 1,
      memoryMb: 512,
      rootGb: 1,
      instanceTypeId: 1,
      host: null,
      vmState: "building",
      taskState: "scheduling",
      createdAt: runtime.clock.now(),
      deleted: 0,
    });
  });

  test("1.4 host, node and compute_id are written together", async () => {
    const { store } = await memoryStore();
    const placed = place(store);
    const other = place(store, "devstack2");
    addInstance(store);
    for (const changes of [
      { node: "x" },
      { host: "x" },
      { host: placed.host, node: placed.node },
      { computeId: placed.computeId },
      { ...placed, computeId: null },
    ]) {
      expect(errorOf(() => store.instances.save(uuidOf(1), changes))).toMatchObject({ code: "InvalidParameters" });
    }
    expect(store.instances.save(uuidOf(1), placed)).toMatchObject(placed);
    expect(errorOf(() => store.instances.save(uuidOf(1), { host: "devstack2", node: other.node }))).toMatchObject({
      code: "InvalidParameters",
    });
    expect(store.instances.save(uuidOf(1), { host: "devstack1", vmState: "active" })).toMatchObject(placed);
    expect(store.instances.save(uuidOf(1), { host: null, node: null, computeId: null }).host).toBeNull();
  });

  test("1.4 a compute_id without a compute node is rejected", async () => {
    const { store } = await memoryStore();
    addInstance(store);
    const nowhere = { host: "a", node: "b", computeId: 99 };
    expect(errorOf(() => store.instances.save(uuidOf(1), nowhere))).toMatchObject({ code: "InvalidParameters" });
  });

  test("1.4 save compares the stored task_state, including null", async () => {
    const { store } = await memoryStore();
    addInstance(store, uuidOf(1), { taskState: null });
    const save = (changes: InstanceChanges, expectedTaskState: (null | "spawning")[]) =>
      store.instances.save(uuidOf(1), changes, { expectedTaskState });
    expect(errorOf(() => save({ taskState: "deleting" }, ["spawning"])).message).toBe(
      `instance ${uuidOf(1)}: found task_state none, expected spawning`,
    );
    expect(save({ taskState: "spawning" }, [null]).taskState).toBe("spawning");
    expect(errorOf(() => save({}, [null]))).toMatchObject({ code: "UnexpectedTaskState" });
    expect(save({ taskState: "deleting" }, ["spawning", null]).taskState).toBe("deleting");
    expect(errorOf(() => save({}, ["spawning"]))).toMatchObject({ code: "UnexpectedDeletingTaskState" });
    expect(errorOf(() => save({}, []))).toMatchObject({ code: "UnexpectedDeletingTaskState" });
  });

  test("1.4 save compares the stored vm_state", async () => {
    const { store } = await memoryStore();
    addInstance(store);
    const conflictingSave = () =>
      store.instances.save(uuidOf(1), { vmState: "error" }, { expectedVmState: ["active"] });
    expect(errorOf(conflictingSave)).toMatchObject({ code: "UnexpectedVmState" });
    expect(store.instances.get(uuidOf(1))?.vmState).toBe("building");
  });

  test("1.4 destroy with the condition 'host is null' rejects an instance with a host", async () => {
    const { store } = await memoryStore();
    addInstance(store, uuidOf(1), place(store));
    const guarded = () => store.instances.destroy(uuidOf(1), { guardHostIsNull: true });
    expect(errorOf(guarded)).toMatchObject({ code: "ObjectActionError" });
    expect(errorOf(guarded).message).toContain("host changed");
    store.instances.save(uuidOf(1), { host: null, node: null, computeId: null });
    expect(guarded()).toMatchObject({ deletedAt: expect.any(Number) });
  });

  test("1.4 destroy also deletes migrations and the request spec; the row remains for readers of deleted rows", async () => {
    const { store } = await memoryStore();
    const instance = addInstance(store);
    const { id } = store.migrations.create({
      instanceUuid: instance.uuid,
      migrationType: "resize",
      status: "finished",
    });
    store.requests.createSpec({
      instanceUuid: instance.uuid,
      projectId: "p",
      userId: "u",
      flavor: instance.flavor,
      imageRef: "i",
      isBfv: false,
      availabilityZone: null,
      numInstances: 1,
      schedulerHints: {},
    });
    store.instances.destroy(instance.uuid);
    expect(store.instances.get(instance.uuid)).toBeNull();
    expect(store.instances.get(instance.uuid, { readDeleted: true })).toMatchObject({ deleted: instance.id });
    expect(store.migrations.byFilters({})).toEqual([]);
    expect(store.migrations.byFilters({ readDeleted: true })).toMatchObject([{ id, deleted: id }]);
    expect(store.requests.spec(instance.uuid)).toBeNull();
    expect(errorOf(() => store.instances.destroy(instance.uuid))).toMatchObject({ code: "InstanceNotFound" });
    expect(errorOf(() => store.instances.save(instance.uuid, { vmState: "active" }))).toMatchObject({
      code: "InstanceNotFound",
    });
  });

  test("3.7 a deleted instance can still be marked as cleaned", async () => {
    const { store } = await memoryStore();
    addInstance(store);
    store.instances.destroy(uuidOf(1));
    const changes = { cleaned: true, systemMetadata: { clean_attempts: "1" } };
    expect(store.instances.save(uuidOf(1), changes)).toMatchObject(changes);
  });

  test("the instance's fault is the newest one", async () => {
    const { store } = await memoryStore();
    addInstance(store);
    const fault = { instanceUuid: uuidOf(1), code: 500, details: null, host: "devstack1" };
    store.instances.addFault({ ...fault, message: "first" });
    store.instances.addFault({ ...fault, message: "second" });
    expect(store.instances.fault(uuidOf(1))).toMatchObject({ message: "second" });
    expect(
      errorOf(() => store.instances.addFault({ ...fault, instanceUuid: UNKNOWN_UUID, message: "" })),
    ).toMatchObject({ code: "InstanceNotFound" });
  });
});

describe("migrations", () => {
  const start = async () => {
    const { store, runtime } = await memoryStore();
    const source = place(store);
    const dest = place(store, "devstack2");
    addInstance(store);
    const add = (values: Partial<Migration> = {}) => {
      const { migrationType = "evacuation", status = "accepted", ...changes } = values;
      return store.migrations.create({ instanceUuid: uuidOf(1), migrationType, status, changes });
    };
    return { store, runtime, source, dest, add };
  };

  test("1.5 dest_node without dest_compute_id is rejected on creation", async () => {
    const { store, dest, add } = await start();
    expect(errorOf(() => add({ destNode: dest.node })).message).toContain("destComputeId");
    expect(add({ destNode: dest.node, destComputeId: dest.computeId }).destNode).toBe(dest.node);
    const direct = () =>
      store.database.run(
        `INSERT INTO migrations (instance_uuid, migration_type, status, dest_node, created_at)
         VALUES (?, 'resize', 'done', 'n', 1)`,
        uuidOf(1),
      );
    expect(errorOf(direct)).toMatchObject({ code: "InvalidParameters" });
  });

  test("1.5 a row without uuid gets one when it is read, and retains it", async () => {
    const { store: older, runtime, add } = await start();
    const { id } = add();
    older.database.run("UPDATE migrations SET uuid = NULL");
    const store = storeOn(older.database, { runtime }, () => undefined);
    const generatedUuid = store.migrations.get(id)?.uuid ?? "";
    expect(generatedUuid).toMatch(/^[0-9a-f-]{36}$/);
    expect(store.migrations.byFilters({})).toMatchObject([{ uuid: generatedUuid }]);
    expect(store.migrations.getByUuid(generatedUuid)?.id).toBe(id);
  });

  test("1.5 in progress: on the source or the destination, every status that is not final; `finished` is in progress", async () => {
    const { store, source, dest, add } = await start();
    const ends = {
      sourceCompute: source.host,
      sourceNode: source.node,
      destCompute: dest.host,
      destNode: dest.node,
      destComputeId: dest.computeId,
    };
    const finished = add({ ...ends, migrationType: "resize", status: "finished" });
    const failed = add({ ...ends, status: "error" });
    add({ ...ends, status: "done" });
    for (const { host, node } of [source, dest]) {
      expect(store.migrations.inProgress(host, node)).toEqual([finished]);
      expect(store.migrations.inProgress(host, node, { includeError: true })).toEqual([finished, failed]);
    }
    expect(store.migrations.inProgress(source.host, dest.node)).toEqual([]);
  });

  test("1.4, 1.5 a context is removed when the move that it names ends, and when another move begins", async () => {
    const { store, add } = await start();
    const none = { oldNumaTopology: null, newNumaTopology: null, oldPciDevices: [], newPciDevices: [] };
    const name = ({ id: migrationId }: Migration) => {
      const migrationContext = { instanceUuid: uuidOf(1), migrationId, ...none, oldResources: [], newResources: [] };
      store.instances.save(uuidOf(1), { migrationContext });
    };
    const named = () => store.instances.get(uuidOf(1), { readDeleted: true })?.migrationContext?.migrationId;
    const resize = add({ migrationType: "resize", status: "pre-migrating" });
    name(resize);
    store.migrations.save(resize.id, { status: "migrating" });
    expect(named()).toBe(resize.id);
    store.migrations.save(resize.id, { status: "error" });
    expect(named()).toBeUndefined();
    name(resize);
    const other = add();
    expect(named()).toBeUndefined();
    name(other);
    store.migrations.save(resize.id, { status: "failed" });
    expect(named()).toBe(other.id);
    store.instances.destroy(uuidOf(1));
    store.migrations.save(other.id, { status: "error" });
    expect(named()).toBe(other.id);
  });

  test("1.5 filters", async () => {
    const { store, runtime, add } = await start();
    const old = add({ sourceCompute: "devstack1", status: "done" });
    await runtime.advance(1_000);
    const fresh = add({ destCompute: "devstack1", migrationType: "resize" });
    const found = (filters: Parameters<Store["migrations"]["byFilters"]>[0]) => store.migrations.byFilters(filters);
    expect(found({ sourceCompute: "devstack1" })).toEqual([old]);
    expect(found({ destCompute: "devstack1" })).toEqual([fresh]);
    expect(found({ host: "devstack1" })).toEqual([old, fresh]);
    expect(found({ updatedBefore: fresh.createdAt })).toEqual([old]);
    expect(found({ migrationTypes: ["resize"] })).toEqual([fresh]);
    expect(found({ statuses: ["done"], uuids: [old.uuid, fresh.uuid] })).toEqual([old]);
    expect(found({ instanceUuid: UNKNOWN_UUID })).toEqual([]);
  });

  test("1.5 save compares the stored status", async () => {
    const { store, add } = await start();
    const { id } = add();
    const save = () => store.migrations.save(id, { status: "done" }, { expectedStatus: ["accepted", "pre-migrating"] });
    expect(save().status).toBe("done");
    expect(errorOf(save)).toMatchObject({ code: "InvalidMigrationState" });
    expect(errorOf(() => store.migrations.save(999, {}))).toMatchObject({ code: "MigrationNotFound" });
  });

  test("1.5 the migration of a deleted instance can still be saved (bug 1794996)", async () => {
    const { store, add } = await start();
    const { id } = add({ status: "done" });
    store.instances.destroy(uuidOf(1));
    expect(store.migrations.save(id, { status: "completed" }).status).toBe("completed");
  });

  test("a migration requires its instance", async () => {
    const { store } = await memoryStore();
    const create = () =>
      store.migrations.create({ instanceUuid: UNKNOWN_UUID, migrationType: "resize", status: "accepted" });
    expect(errorOf(create)).toMatchObject({ code: "InstanceNotFound" });
  });
});
