import { describe, expect, test } from "vitest";
import { addService, errorOf, memoryStore } from "./support.js";

describe("host aggregates", () => {
  test("hosts retain their order, metadata is merged, null removes a key", async () => {
    const { store, runtime } = await memoryStore();
    const { id, uuid } = store.aggregates.create({ name: "rack1", metadata: { ssd: "true" } });
    await runtime.advance(10);
    store.aggregates.addHost(id, "devstack2");
    store.aggregates.addHost(id, "devstack1");
    store.aggregates.update(id, { name: "rack-1", metadata: { ssd: null, gpu: "a100" } });
    const expected = { id, uuid, name: "rack-1", hosts: ["devstack2", "devstack1"], metadata: { gpu: "a100" } };
    expect(store.aggregates.get(id)).toMatchObject({ ...expected, updatedAt: runtime.clock.now() });
    expect(store.aggregates.byHost("devstack1")).toMatchObject([expected]);
    expect(store.aggregates.byHost("devstack3")).toEqual([]);
    expect(store.aggregates.list()).toHaveLength(1);
  });

  test("names and members are unique; deleting an aggregate frees its name and deletes its rows", async () => {
    const { store } = await memoryStore();
    const first = store.aggregates.create({ name: "rack1", metadata: { a: "1" } });
    const second = store.aggregates.create({ name: "rack2", metadata: {} });
    store.aggregates.addHost(first.id, "devstack1");
    expect(errorOf(() => store.aggregates.create({ name: "rack1", metadata: {} }))).toMatchObject({
      code: "AggregateNameExists",
    });
    expect(errorOf(() => store.aggregates.update(second.id, { name: "rack1" }))).toMatchObject({
      code: "AggregateNameExists",
    });
    expect(errorOf(() => store.aggregates.addHost(first.id, "devstack1"))).toMatchObject({
      code: "AggregateHostExists",
    });
    expect(errorOf(() => store.aggregates.removeHost(second.id, "devstack1"))).toMatchObject({
      code: "AggregateHostNotFound",
    });
    store.aggregates.destroy(first.id);
    expect(errorOf(() => store.aggregates.destroy(first.id))).toMatchObject({ code: "AggregateNotFound" });
    expect(store.aggregates.byHost("devstack1")).toEqual([]);
    expect(store.aggregates.create({ name: "rack1", metadata: {} })).toMatchObject({ hosts: [], metadata: {} });
  });

  test("a rejected change changes nothing", async () => {
    const { store } = await memoryStore();
    const { id } = store.aggregates.create({ name: "rack1", metadata: {} });
    const broken = { name: "rack2", metadata: { key: "x".repeat(256) } };
    expect(errorOf(() => store.aggregates.update(id, broken))).toMatchObject({ code: "InvalidParameters" });
    expect(errorOf(() => store.aggregates.create(broken))).toMatchObject({ code: "InvalidParameters" });
    expect(store.aggregates.list()).toMatchObject([{ name: "rack1", metadata: {} }]);
  });
});

describe("availability zones", () => {
  const zone = { availability_zone: "az1" };

  test("a compute service is in the zone of its host's aggregate, otherwise in nova", async () => {
    const { store } = await memoryStore();
    const changes: unknown[] = [];
    const service = addService(store);
    const zoneNow = () => store.services.get(service.id)?.availabilityZone;
    const { id } = store.aggregates.create({ name: "rack1", metadata: zone });
    expect(zoneNow()).toBe("nova");
    store.onChange(({ kind }) => changes.push(kind));
    store.aggregates.addHost(id, "devstack1");
    expect(zoneNow()).toBe("az1");
    expect(changes).toEqual(["service", "aggregate"]);
    store.aggregates.update(id, { metadata: { availability_zone: "az2" } });
    expect(zoneNow()).toBe("az2");
    store.aggregates.update(id, { metadata: { availability_zone: null } });
    expect(zoneNow()).toBe("nova");
    store.aggregates.update(id, { metadata: zone });
    store.aggregates.removeHost(id, "devstack1");
    expect(zoneNow()).toBe("nova");
  });

  test("a service that is created later gets its zone; other binaries stay internal", async () => {
    const { store } = await memoryStore();
    const { id } = store.aggregates.create({ name: "rack1", metadata: zone });
    store.aggregates.addHost(id, "devstack1");
    expect(addService(store).availabilityZone).toBe("az1");
    expect(addService(store, "devstack1", { binary: "nova-conductor", topic: "conductor" }).availabilityZone).toBe(
      "internal",
    );
    store.aggregates.destroy(id);
    expect(store.services.getByHost("devstack1", "nova-compute")?.availabilityZone).toBe("nova");
  });
});
