import { describe, expect, test } from "vitest";
import { addressText, macOf, POOL } from "../../../../src/control-plane/store/network-settings.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { addInstance, addNode, addService, errorOf, memoryStore, newInstance, uuidOf } from "./support.js";

const LAST = addressText(POOL.last);

function ported(store: Store, ...requestedPorts: { readonly port?: string; readonly address?: string }[]) {
  const server = addInstance(store);
  return store.ports.addToServer(server, requestedPorts.length === 0 ? [{}] : requestedPorts, []);
}

function freePort(store: Store, address?: string) {
  const attributes = { projectId: "p", name: "", description: "", adminStateUp: true, securityGroups: [], tag: null };
  return store.ports.create({ ...attributes, deviceId: "", deviceOwner: "", madeForDevice: false }, address);
}

const addressesOf = (store: Store): string[] => store.ports.list().map(({ address }) => addressText(address));

describe("addresses", () => {
  test("no two addresses of the subnet have the same MAC", () => {
    const macs = new Set<string>();
    for (let address = POOL.first; address <= POOL.last; address += 97) {
      macs.add(macOf(address));
    }
    expect(macs.size).toBe(Math.floor((POOL.last - POOL.first) / 97) + 1);
    expect([...macs].every((mac) => /^fa:16:3e(:[0-9a-f]{2}){3}$/.test(mac))).toBe(true);
  });

  test("a released address is not reused until all others were used", async () => {
    const { store } = await memoryStore();
    const first = freePort(store);
    store.ports.destroy(first.uuid);
    freePort(store);
    expect(addressesOf(store)).toEqual(["10.0.0.3"]);
  });

  test("addresses that users chose are skipped, even at the end of the subnet", async () => {
    const { store } = await memoryStore();
    freePort(store, "10.0.0.2");
    freePort(store, "10.0.0.3");
    freePort(store, LAST);
    store.database.run("INSERT INTO next_address VALUES (?)", POOL.last);
    freePort(store);
    freePort(store);
    expect(addressesOf(store)).toEqual(["10.0.0.2", "10.0.0.3", LAST, "10.0.0.4", "10.0.0.5"]);
  });

  test("an address outside the subnet or already in use is rejected", async () => {
    const { store } = await memoryStore();
    freePort(store, "10.0.0.7");
    const rejections = ["10.0.0.7", "10.0.0.1", "10.16.0.0", "nonsense", "10.0.0.256"].map(
      (address) => (errorOf(() => freePort(store, address)) as Error).name,
    );
    expect(rejections).toEqual(["IpAddressAlreadyAllocated", ...Array(4).fill("InvalidIpForNetwork")]);
  });
});

describe("a server's ports", () => {
  test("are bound to the server's host without a separate write", async () => {
    const { store } = await memoryStore();
    const [port] = ported(store);
    const uuid = port?.uuid ?? "";
    expect(port).toMatchObject({ deviceId: uuidOf(1), deviceOwner: "compute:nova", host: null });
    const { id, hypervisorHostname: node } = addNode(store, addService(store, "devstack1"));
    store.instances.save(uuidOf(1), { host: "devstack1", node, computeId: id });
    expect(store.ports.get(uuid)?.host).toBe("devstack1");
    store.instances.save(uuidOf(1), { host: null, node: null, computeId: null });
    expect(store.ports.get(uuid)?.host).toBeNull();
  });

  test("are deleted with the server's row; one that a user created is detached", async () => {
    const { store } = await memoryStore();
    const own = freePort(store, "10.0.0.9");
    ported(store, {}, { port: own.uuid });
    expect(store.ports.get(own.uuid)).toMatchObject({ deviceId: uuidOf(1), madeForDevice: false });
    store.instances.destroy(uuidOf(1));
    expect(store.ports.list()).toMatchObject([{ uuid: own.uuid, deviceId: "", deviceOwner: "", pluggedOn: [] }]);
  });

  test("are deleted when no host could build the server, and remain while others are tried", async () => {
    const { store } = await memoryStore();
    ported(store);
    store.instances.save(uuidOf(1), { vmState: "building", taskState: "scheduling" });
    expect(store.ports.ofDevice(uuidOf(1))).toHaveLength(1);
    store.instances.save(uuidOf(1), { vmState: "error", taskState: null });
    expect(store.ports.ofDevice(uuidOf(1))).toHaveLength(0);
  });

  test("a port of another server is rejected, and nothing is written", async () => {
    const { store } = await memoryStore();
    const own = freePort(store);
    ported(store, { port: own.uuid });
    const second = store.instances.create(newInstance(uuidOf(2)));
    const error = errorOf(() => store.ports.addToServer(second, [{}, { port: own.uuid }], [])) as Error;
    expect(error.name).toBe("PortInUse");
    expect(store.ports.ofDevice(uuidOf(2))).toEqual([]);
    const gone = errorOf(() => store.ports.addToServer(second, [{ port: uuidOf(9) }], [])) as Error;
    expect(gone.name).toBe("PortNotFound");
  });
});
