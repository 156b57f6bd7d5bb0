import { describe, expect, test } from "vitest";
import { addNode, addService, errorOf, memoryStore, RESOURCES, UNKNOWN_UUID, uuidOf } from "./support.js";

describe("services", () => {
  test("1.1 Service: (host, binary) is unique among services that are not deleted", async () => {
    const { store } = await memoryStore();
    const first = addService(store);
    expect(errorOf(() => addService(store, "devstack1", { topic: "other" }))).toMatchObject({
      code: "ServiceBinaryExists",
    });
    store.services.destroy(first.id);
    expect(addService(store).id).not.toBe(first.id);
  });

  test("1.1 Service: (host, topic) is unique among services that are not deleted", async () => {
    const { store } = await memoryStore();
    addService(store);
    expect(errorOf(() => addService(store, "devstack1", { binary: "other", version: 1 }))).toMatchObject({
      code: "ServiceBinaryExists",
    });
  });

  test("1.1 a deleted service is hidden", async () => {
    const { store } = await memoryStore();
    const { id, uuid } = addService(store);
    store.services.destroy(id);
    expect([store.services.get(id), store.services.getByUuid(uuid), store.services.list()]).toEqual([null, null, []]);
    expect(errorOf(() => store.services.reportState(id))).toMatchObject({ code: "ServiceNotFound" });
  });

  test("8.10 a service that disables itself has a reason; an operator's reason is not replaced", async () => {
    const { store } = await memoryStore();
    const { id } = addService(store, "devstack1");
    const reason = "AUTO: driver mine threw";
    expect(store.services.disable(id, reason)).toMatchObject({ disabled: true, disabledReason: reason });
    expect(store.services.get(id)).toMatchObject({ disabled: true, disabledReason: reason });
    store.services.update(id, { disabled: true, disabledReason: "new disks" });
    expect(store.services.disable(id, reason)).toMatchObject({ disabledReason: "new disks" });
    store.services.destroy(id);
    expect(errorOf(() => store.services.disable(id, reason))).toMatchObject({ code: "ServiceNotFound" });
  });

  test("1.2 a heartbeat changes last_seen_up, an edit does not", async () => {
    const { store, runtime } = await memoryStore();
    const { id } = addService(store);
    await runtime.advance(5_000);
    expect(store.services.update(id, { disabled: true })).toMatchObject({
      lastSeenUp: null,
      reportCount: 0,
      disabled: true,
      updatedAt: runtime.clock.now(),
    });
    store.services.reportState(id);
    expect(store.services.get(id)).toMatchObject({ lastSeenUp: runtime.clock.now(), reportCount: 1 });
  });

  test("1.2 creating or saving with a version below the lowest of the binary is rejected", async () => {
    const { store } = await memoryStore();
    const first = addService(store, "devstack1", { version: 72 });
    addService(store, "devstack2", { version: 73 });
    expect(store.services.minimumVersion("nova-compute")).toBe(72);
    expect(errorOf(() => addService(store, "devstack3", { version: 71 }))).toMatchObject({ code: "ServiceTooOld" });
    expect(errorOf(() => store.services.update(first.id, { version: 71 }))).toMatchObject({ code: "ServiceTooOld" });
    expect(store.services.update(first.id, { version: 73 }).version).toBe(73);
    expect(addService(store, "controller", { binary: "nova-conductor", topic: "conductor", version: 1 }).version).toBe(
      1,
    );
    expect(store.services.minimumVersion("nova-scheduler")).toBe(0);
  });

  test("7.1 row 8: destroying a compute service also deletes its nodes, by service id or host, and unmaps them", async () => {
    const { store } = await memoryStore();
    const service = addService(store);
    const otherService = addService(store, "devstack2");
    const own = addNode(store, service, "node-a");
    const byHost = addNode(store, { ...otherService, host: "devstack1" }, "node-b");
    const other = addNode(store, otherService, "node-c");
    store.services.destroy(service.id);
    expect(store.computeNodes.list()).toEqual([other]);
    for (const { uuid, id } of [own, byHost]) {
      expect(store.computeNodes.getByUuid(uuid, { readDeleted: true })).toMatchObject({ deleted: id, mapped: 0 });
    }
  });

  test("7.1 row 8: destroying another binary does not delete the nodes of the host", async () => {
    const { store } = await memoryStore();
    const node = addNode(store, addService(store));
    const conductor = addService(store, "devstack1", { binary: "nova-conductor", topic: "conductor" });
    store.services.destroy(conductor.id);
    expect(store.computeNodes.list()).toEqual([node]);
  });
});

describe("compute nodes", () => {
  test("1.1 ComputeNode: (host, hypervisor_hostname) is unique among nodes that are not deleted; hypervisor_hostname across hosts is not", async () => {
    const { store } = await memoryStore();
    const service = addService(store);
    const node = addNode(store, service, "hv");
    expect(errorOf(() => addNode(store, service, "hv"))).toMatchObject({ code: "DuplicateRecord" });
    addNode(store, addService(store, "devstack2"), "hv");
    expect(store.computeNodes.byHypervisorHostname("hv")).toHaveLength(2);
    store.computeNodes.destroy(node.id, "devstack1");
    addNode(store, service, "hv");
  });

  test("1.3 inserting an existing uuid, even a deleted one, updates and un-deletes that row (bug 1839560)", async () => {
    const { store } = await memoryStore();
    const service = addService(store);
    const node = addNode(store, service, "hv", uuidOf(7));
    store.computeNodes.destroy(node.id, "devstack1");
    const second = addService(store, "devstack2");
    const again = store.computeNodes.create({
      host: "devstack2",
      serviceId: second.id,
      uuid: uuidOf(7),
      hypervisorHostname: "hv2",
      resources: { ...RESOURCES, vcpus: 4 },
    });
    expect(again).toMatchObject({
      id: node.id,
      host: "devstack2",
      serviceId: second.id,
      hypervisorHostname: "hv2",
      vcpus: 4,
      deleted: 0,
    });
  });

  test("1.3 a row is deleted only if its host is the one that the caller expects (bug 1853009)", async () => {
    const { store } = await memoryStore();
    const node = addNode(store, addService(store));
    expect(store.computeNodes.destroy(node.id, "devstack2")).toBe(false);
    expect(store.computeNodes.get(node.id)).toEqual(node);
    expect(store.computeNodes.destroy(node.id, "devstack1")).toBe(true);
    expect(store.computeNodes.destroy(node.id, "devstack1")).toBe(false);
  });

  test("1.3 the uuid never changes", async () => {
    const { store } = await memoryStore();
    const node = addNode(store, addService(store));
    const changes = { uuid: UNKNOWN_UUID, vcpus: 1 };
    expect(errorOf(() => store.computeNodes.save(node.id, changes))).toMatchObject({
      code: "InvalidNodeConfiguration",
    });
    const direct = () => store.database.run("UPDATE compute_nodes SET uuid = ? WHERE id = ?", UNKNOWN_UUID, node.id);
    expect(errorOf(direct)).toMatchObject({ code: "InvalidParameters" });
    expect(store.computeNodes.get(node.id)).toEqual(node);
  });

  test("1.3 reading a ratio of 0 or NULL replaces it permanently", async () => {
    const { store } = await memoryStore({ ratios: { cpuAllocationRatio: 16 } });
    const node = addNode(store, addService(store));
    store.database.run("UPDATE compute_nodes SET cpu_allocation_ratio = 0, ram_allocation_ratio = NULL");
    expect(store.computeNodes.byHost("devstack1")).toMatchObject([
      { cpuAllocationRatio: 16, ramAllocationRatio: 1, diskAllocationRatio: 1 },
    ]);
    expect(store.database.get("SELECT cpu_allocation_ratio, ram_allocation_ratio FROM compute_nodes")).toEqual([16, 1]);
    const saved = store.computeNodes.save(node.id, { diskAllocationRatio: 0 });
    expect(saved.diskAllocationRatio).toBe(1);
  });

  test("a deleted node is saved only in order to un-delete it", async () => {
    const { store } = await memoryStore();
    const node = addNode(store, addService(store));
    store.computeNodes.destroy(node.id, "devstack1");
    expect(errorOf(() => store.computeNodes.save(node.id, { vcpus: 3 }))).toMatchObject({
      code: "ComputeHostNotFound",
    });
    expect(store.computeNodes.save(node.id, { vcpus: 3 }, { undelete: true })).toMatchObject({ vcpus: 3, deleted: 0 });
  });

  test("a save that would give the host two nodes of one name is rejected", async () => {
    const { store } = await memoryStore();
    const service = addService(store);
    addNode(store, service, "hv");
    const other = addNode(store, addService(store, "devstack2"), "hv");
    expect(errorOf(() => store.computeNodes.save(other.id, { host: "devstack1" }))).toMatchObject({
      code: "DuplicateRecord",
    });
  });

  test("every field is read as it was written", async () => {
    const { store } = await memoryStore();
    expect(addNode(store, addService(store))).toMatchObject(RESOURCES);
  });
});
