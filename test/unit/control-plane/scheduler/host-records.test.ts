import { expect, it, vi } from "vitest";
import { HostRecords } from "../../../../src/control-plane/scheduler/host-state.js";
import { addNode, addService, memoryStore, RESOURCES, uuidOf } from "../store/support.js";

async function twoHosts() {
  const { store } = await memoryStore();
  const records = new HostRecords(store);
  const hosts = ["h1", "h2"].map((host) => {
    const service = addService(store, host);
    return { service, node: addNode(store, service) };
  });
  return { store, records, hosts, uuids: hosts.map(({ node }) => node.uuid) };
}

it("an existing node is returned with its current record", async () => {
  const { store, records, hosts, uuids } = await twoHosts();
  const names = () => [...records.nodes([...uuids, uuidOf(9)]).values()].map(({ host }) => host);
  expect(names()).toEqual(["h1", "h2"]);
  const [first = hosts[0], second = hosts[1]] = hosts;
  store.computeNodes.save(first?.node.id ?? 0, { stats: { failed_builds: "2" } });
  expect(records.nodes(uuids).get(uuids[0] ?? "")?.stats).toEqual({ failed_builds: "2" });
  store.computeNodes.destroy(second?.node.id ?? 0, "h2");
  expect(names()).toEqual(["h1"]);
  store.computeNodes.save(second?.node.id ?? 0, RESOURCES, { undelete: true });
  expect(names()).toEqual(["h1", "h2"]);
});

it("a service is returned in its current state, also after being created again", async () => {
  const { store, records, hosts } = await twoHosts();
  const one = () => records.services(["h1", "h3"]).get("h1");
  expect(one()?.disabled).toBe(false);
  const id = hosts[0]?.service.id ?? 0;
  store.services.disable(id, "broken");
  expect(one()?.disabled).toBe(true);
  store.services.destroy(id);
  expect(one()).toBeUndefined();
  const again = addService(store, "h1");
  expect(one()?.id).toBe(again.id);
});

it("rolled back changes are not cached", async () => {
  const { store, records, hosts } = await twoHosts();
  const id = hosts[0]?.service.id ?? 0;
  expect(() =>
    store.transaction(() => {
      store.services.disable(id, "broken");
      throw new Error("undone");
    }),
  ).toThrow("undone");
  expect(records.services(["h1"]).get("h1")?.disabled).toBe(false);
});

it("a heartbeat updates the cache without reading the service again", async () => {
  const { store, records, hosts } = await twoHosts();
  const before = records.services(["h1"]).get("h1");
  const read = vi.spyOn(store.services, "byHosts");
  store.services.reportStates([hosts[0]?.service.id ?? 0]);
  const reportedAt = store.services.getByHost("h1", "nova-compute")?.lastSeenUp;
  expect(reportedAt).toBeTypeOf("number");
  expect(records.services(["h1"]).get("h1")).toEqual({ ...before, lastSeenUp: reportedAt });
  expect(read).not.toHaveBeenCalled();
});
