import { beforeEach, expect, it } from "vitest";
import { Networks } from "../../../../src/dashboard/rows/networks.js";
import { NetworkHarness } from "../../control-plane/network/network-harness.js";

let network: NetworkHarness;
let networks: Networks;
let webId: string;
let subnetId: string;

beforeEach(async () => {
  network = new NetworkHarness();
  networks = new Networks(network.store);
  webId = String((await network.get("POST", "/networks", { network: { name: "web" } })).id);
  const subnet = { network_id: webId, name: "v4", ip_version: 4, cidr: "10.0.0.0/24" };
  subnetId = String((await network.get("POST", "/subnets", { subnet })).id);
});

const changes = () => networks.takeChanges().map(({ kind, key }) => `${kind} ${key}`);

it("a network has its subnets and segments", () => {
  expect([...networks.networks()]).toEqual([
    {
      uuid: webId,
      name: "web",
      projectId: expect.any(String),
      status: "ACTIVE",
      adminUp: true,
      mtu: 1450,
      external: false,
      shared: false,
      segments: ["vxlan 1"],
      subnets: [{ uuid: subnetId, name: "v4", cidr: "10.0.0.0/24", gateway: "10.0.0.1", dhcp: true }],
    },
  ]);
  expect(networks.network("none")).toBeUndefined();
});

it("a port has its server, addresses and bindings, also the inactive one of a live migration", async () => {
  const { services } = network.store;
  for (const host of ["one", "two"]) {
    services.reportState(services.create({ host, binary: "nova-compute", topic: "compute", version: 73 }).id);
  }
  const attributes = { network_id: webId, device_id: "server-1", device_owner: "compute:nova" };
  const port = await network.get("POST", "/ports", { port: { ...attributes, "binding:host_id": "one" } }, "admin");
  await network.get("POST", `/ports/${port.id}/bindings`, { binding: { host: "two" } }, "service");
  const row = networks.port(String(port.id));
  expect(row).toMatchObject({
    network: webId,
    server: "server-1",
    status: "DOWN",
    addresses: [expect.stringMatching(/^10\.0\.0\./)],
    floatingIps: [],
  });
  expect(row?.bindings.map(({ host, active }) => [host, active])).toEqual([
    ["one", true],
    ["two", false],
  ]);
  expect(row?.bindings.map(({ vifType }) => vifType)).toEqual(["ovs", "ovs"]);
  expect([...networks.ports()]).toEqual([row]);
});

it("a router has its interfaces, and their ports have no server", async () => {
  const router = await network.get("POST", "/routers", { router: { name: "edge" } });
  await network.send("PUT", `/routers/${router.id}/add_router_interface`, { subnet_id: subnetId });
  expect([...networks.routers()]).toMatchObject([
    { name: "edge", gateways: [], interfaces: [{ network: webId, address: "10.0.0.1" }] },
  ]);
  expect([...networks.ports()]).toMatchObject([{ server: null, owner: "network:router_interface", bindings: [] }]);
});

it("rows are iterated in pages", async () => {
  const ports = Array.from({ length: 240 }, () => ({ network_id: webId }));
  await network.send("POST", "/ports", { ports }, "admin");
  expect(new Set([...networks.ports()].map(({ uuid }) => uuid)).size).toBe(240);
});

it("changes are noted by key while a viewer is connected, and only then", async () => {
  networks.begin();
  expect(changes()).toEqual([]);
  const port = await network.get("POST", "/ports", { port: { network_id: webId } });
  expect(changes()).toContain(`port ${port.id}`);
  expect(changes()).toEqual([]);
  await network.get("PUT", `/subnets/${subnetId}`, { subnet: { name: "other" } });
  expect(changes()).toEqual([`network ${webId}`]);
  const router = await network.get("POST", "/routers", { router: { name: "edge" } });
  await network.send("PUT", `/routers/${router.id}/add_router_interface`, { subnet_id: subnetId });
  expect(changes()).toContain(`router ${router.id}`);
  await network.send("DELETE", `/ports/${port.id}`);
  expect(changes()).toContain(`port ${port.id}`);
  expect(networks.port(String(port.id))).toBeUndefined();
  networks.end();
  await network.get("PUT", `/networks/${webId}`, { network: { name: "www" } });
  networks.begin();
  expect(changes()).toEqual([]);
  networks.end();
});
