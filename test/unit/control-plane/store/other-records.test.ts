import { describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { addInstance, addNode, addService, errorOf, FLAVOR, memoryStore, UNKNOWN_UUID, uuidOf } from "./support.js";

describe("1.6 flavors", () => {
  test("1.6 id and name are unique; deleting a flavor frees them", async () => {
    const { store } = await memoryStore();
    const { id: _, ...tiny } = FLAVOR;
    const made = store.flavors.create(tiny);
    expect(errorOf(() => store.flavors.create({ ...tiny, name: "other" }))).toMatchObject({ code: "FlavorIdExists" });
    expect(errorOf(() => store.flavors.create({ ...tiny, flavorid: "2" }))).toMatchObject({ code: "FlavorExists" });
    expect(store.flavors.setExtraSpecs("1", { a: "b" }).extraSpecs).toEqual({ a: "b" });
    expect(store.flavors.update("1", { description: "small" }).description).toBe("small");
    expect(store.flavors.list()).toEqual([{ ...made, extraSpecs: { a: "b" }, description: "small" }]);
    store.flavors.destroy("1");
    expect(store.flavors.getByFlavorid("1")).toBeNull();
    expect(errorOf(() => store.flavors.destroy("1"))).toMatchObject({ code: "FlavorNotFound" });
    expect(store.flavors.create(tiny).id).toBeGreaterThan(made.id);
  });
});

describe("1.6 instance actions", () => {
  const start = async () => {
    const { store, runtime } = await memoryStore();
    addInstance(store);
    const action = (name: string, requestId: string) =>
      store.actions.start({ action: name, instanceUuid: uuidOf(1), requestId, userId: "u", projectId: "p" });
    const event = (requestId: string) =>
      store.actions.startEvent({ instanceUuid: uuidOf(1), event: "compute_x", host: "devstack1", requestId }) ?? -1;
    return { store, runtime, action, event };
  };

  test("1.6 an event joins the action of its request", async () => {
    const { store, runtime, action, event } = await start();
    const create = action("create", "req-1");
    action("delete", "req-2");
    const id = event("req-1");
    await runtime.advance(10);
    store.actions.finishEvent(id, { result: "Success" });
    expect(store.actions.events(create.id)).toMatchObject([
      { event: "compute_x", host: "devstack1", result: "Success", finishTime: runtime.clock.now() },
    ]);
    expect(store.actions.get(uuidOf(1), "req-1")).toMatchObject({ finishTime: runtime.clock.now(), message: null });
    expect(store.actions.list(uuidOf(1)).map((each) => each.action)).toEqual(["delete", "create"]);
  });

  test("1.6 an event of an unknown request joins the newest action: an agent finished it after a restart", async () => {
    const { store, action, event } = await start();
    action("create", "req-1");
    const newest = action("delete", "req-2");
    event("req-of-the-restart");
    expect(store.actions.events(newest.id)).toHaveLength(1);
  });

  test("1.6 an instance without actions has no events", async () => {
    const { event } = await start();
    expect(event("req-1")).toBe(-1);
  });

  test("1.6 a failed event marks the action permanently", async () => {
    const { store, action, event } = await start();
    action("create", "req-1");
    store.actions.finishEvent(event("req-1"), { result: "Error", details: "no", traceback: "at" });
    store.actions.finishEvent(event("req-1"), { result: "Success" });
    expect(store.actions.get(uuidOf(1), "req-1")?.message).toBe("Error");
  });

  test("an action requires its instance, and the end of an event its start", async () => {
    const { store } = await start();
    const action = { action: "create", requestId: "req-1", userId: null, projectId: null };
    expect(errorOf(() => store.actions.start({ ...action, instanceUuid: UNKNOWN_UUID }))).toMatchObject({
      code: "InstanceNotFound",
    });
    expect(errorOf(() => store.actions.finishEvent(9, { result: "Success" }))).toMatchObject({
      code: "InvalidParameters",
    });
  });
});

describe("1.6 requests", () => {
  test("1.1 an instance has one request spec and one build request; deleting the latter cancels the build, once", async () => {
    const { store } = await memoryStore();
    const instance = addInstance(store);
    const spec = {
      instanceUuid: instance.uuid,
      projectId: "p",
      userId: "u",
      flavor: FLAVOR,
      imageRef: "",
      isBfv: true,
      availabilityZone: "nova",
      numInstances: 2,
      schedulerHints: {},
    };
    store.requests.createSpec(spec);
    expect(errorOf(() => store.requests.createSpec(spec))).toMatchObject({ code: "DuplicateRecord" });
    store.requests.saveSpec({ ...spec, numInstances: 3, schedulerHints: {} });
    expect(store.requests.spec(instance.uuid)).toEqual({ ...spec, numInstances: 3, schedulerHints: {} });

    const build = { instanceUuid: instance.uuid, projectId: "p", instance };
    store.requests.createBuildRequest(build);
    expect(errorOf(() => store.requests.createBuildRequest(build))).toMatchObject({ code: "DuplicateRecord" });
    expect(store.requests.buildRequests("p")).toMatchObject([build]);
    expect(store.requests.buildRequests("q")).toEqual([]);
    expect(store.requests.buildRequest(instance.uuid)?.instance).toEqual(instance);
    expect(store.requests.destroyBuildRequest(instance.uuid)).toBe(true);
    expect(store.requests.destroyBuildRequest(instance.uuid)).toBe(false);
  });
});

describe("mappings, tasks, messages, leases", () => {
  test("1.1 an instance has one mapping", async () => {
    const { store } = await memoryStore();
    store.mappings.mapInstance(uuidOf(1), "p", null);
    expect(store.mappings.instance(uuidOf(1))).toEqual({ cell: null, queuedForDelete: false });
    store.mappings.mapInstance(uuidOf(1), "p", "cell1");
    store.mappings.queueForDelete(uuidOf(1));
    expect(store.mappings.instance(uuidOf(1))).toEqual({ cell: "cell1", queuedForDelete: true });
    expect(errorOf(() => store.mappings.queueForDelete(uuidOf(2)))).toMatchObject({ code: "InstanceNotFound" });
  });

  test("1.1 a host is mapped when it gets a compute node, even one that is restored or moved there", async () => {
    const { store } = await memoryStore();
    const service = addService(store);
    expect(store.mappings.host("devstack1")).toBe(false);
    const node = addNode(store, service);
    expect([store.mappings.host("devstack1"), store.mappings.host("devstack2")]).toEqual([true, false]);
    store.computeNodes.destroy(node.id, "devstack1");
    store.mappings.unmapHost("devstack1");
    expect(store.mappings.host("devstack1")).toBe(false);
    store.computeNodes.save(node.id, {}, { undelete: true });
    expect(store.mappings.host("devstack1")).toBe(true);
    store.computeNodes.save(node.id, { host: "devstack2" });
    expect(store.mappings.host("devstack2")).toBe(true);
  });

  test("tasks are returned oldest first, and deleted when they are finished", async () => {
    const { store } = await memoryStore();
    const task = (number: number) =>
      ({ kind: "delete_local", instanceUuid: uuidOf(number), requestId: `req-${number}` }) as const;
    const first = store.tasks.add(task(1));
    const second = store.tasks.add(task(2));
    expect(store.tasks.pending()).toEqual([first, second]);
    store.tasks.finish(first.id);
    expect(store.tasks.pending()).toEqual([second]);
    expect(errorOf(() => store.tasks.add({ ...task(3), instanceUuid: "x" }))).toMatchObject({
      code: "InvalidParameters",
    });
  });

  test("messages of a host are returned in order; numbers are never reused", async () => {
    const { store } = await memoryStore();
    const enqueue = (host: string) =>
      store.messages.enqueue({ host, method: "start_instance", params: "{}", requestId: "req" });
    const ids = [enqueue("a"), enqueue("b"), enqueue("a"), enqueue("a")];
    expect(store.messages.pending("a").map(({ id }) => id)).toEqual([ids[0], ids[2], ids[3]]);
    expect(store.messages.pending("a", { after: ids[0] ?? 0, limit: 1 }).map(({ id }) => id)).toEqual([ids[2]]);
    for (const id of ids) {
      store.messages.taken([id]);
    }
    expect(enqueue("a")).toBeGreaterThan(Math.max(...ids));
  });

  test("replies are stored by boot until they are acknowledged or old", async () => {
    const { store, runtime } = await memoryStore();
    for (const call of [1, 2, 3]) {
      store.messages.recordReply("boot", call, `"${call}"`);
    }
    store.messages.recordReply("other", 1, "1");
    store.messages.forgetReplies("boot", 2);
    expect([1, 2, 3].map((call) => store.messages.findReply("boot", call))).toEqual([null, null, '"3"']);
    expect(errorOf(() => store.messages.recordReply("boot", 3, "{}"))).toMatchObject({ code: "DuplicateRecord" });
    await runtime.advance(1);
    store.messages.forgetRepliesBefore(runtime.clock.now());
    expect(store.messages.findReply("other", 1)).toBeNull();
  });

  test("replies of an earlier control plane are deleted in the same way", async () => {
    const { store } = await memoryStore();
    const insertReply = "INSERT INTO answers (boot_id, call_id, answer, created_at) VALUES (?, ?, ?, ?)";
    store.database.run(insertReply, "boot", 7, "{}", 0);
    store.messages.recordReply("boot", 8, "{}");
    store.messages.forgetReplies("boot", 6);
    expect(store.messages.findReply("boot", 7)).toBe("{}");
    store.messages.forgetReplies("boot", 7);
    expect([7, 8].map((call) => store.messages.findReply("boot", call))).toEqual([null, "{}"]);
  });

  test("2.4 G6 a host has one owner", async () => {
    const { store } = await memoryStore();
    const lease = { host: "devstack1", bootId: "a", pid: 1, machine: "m", acquiredAt: 1, renewedAt: 2 };
    store.leases.put(lease);
    store.leases.put({ ...lease, bootId: "b" });
    expect(store.leases.list()).toEqual([{ ...lease, bootId: "b" }]);
    expect([store.leases.remove("devstack1", "a"), store.leases.remove("devstack1", "b")]).toEqual([false, true]);
    expect(store.leases.get("devstack1")).toBeNull();
  });

  test("2.4 G6 the epochs of a host grow across its leases and after the loss of the database", async () => {
    const { store, runtime } = await memoryStore();
    expect(store.leases.epoch("devstack1")).toBe(0);
    const first = store.leases.nextEpoch("devstack1");
    const second = store.leases.nextEpoch("devstack1");
    expect(second).toBeGreaterThan(first);
    expect(store.leases.epoch("devstack1")).toBe(second);
    expect(first).toBeGreaterThanOrEqual(runtime.clock.now());
  });
});

describe("consumers in progress", () => {
  test("are those of builds, changes, moves, and migrations that have just ended; not others or unknown ones", async () => {
    const { store, runtime } = await memoryStore();
    const move = (number: number, status: "migrating" | "confirmed") =>
      store.migrations.create({ instanceUuid: uuidOf(number), migrationType: "migration", status });
    for (const number of [1, 2, 3, 4, 5]) {
      addInstance(store, uuidOf(number), { vmState: "active", taskState: null });
    }
    addInstance(store, uuidOf(6), { vmState: "building" });
    const old = move(5, "confirmed");
    await runtime.advance(60_000);
    store.instances.save(uuidOf(2), { taskState: "powering-off" });
    const running = move(3, "migrating");
    const ended = move(4, "confirmed");
    const instance = store.instances.get(uuidOf(1));
    store.requests.createBuildRequest({
      instanceUuid: uuidOf(7),
      projectId: "project",
      instance: instance as Instance,
    });
    const moves = [running, ended, old].map(({ uuid }) => uuid ?? "");
    const consumers = [...[1, 2, 3, 4, 5, 6, 7, 8].map(uuidOf), ...moves, "no uuid"];
    expect(store.requests.consumersUnderWay(consumers, runtime.clock.now() - 60_000)).toEqual([
      ...[2, 3, 6, 7].map(uuidOf),
      running.uuid,
      ended.uuid,
    ]);
  });
});

describe("tasks", () => {
  test("are returned after a known one, or by instance, oldest first", async () => {
    const { store } = await memoryStore();
    const [first, second, third] = [1, 2, 1].map((instance) =>
      store.tasks.add({ kind: "delete_local", instanceUuid: uuidOf(instance), requestId: "req-1" }),
    );
    expect(store.tasks.pending()).toEqual([first, second, third]);
    expect(store.tasks.pending(first?.id)).toEqual([second, third]);
    expect(store.tasks.ofInstance(uuidOf(1))).toEqual([first, third]);
    expect(store.tasks.ofInstance(uuidOf(3))).toEqual([]);
  });
});
