import { beforeEach, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

let network: NetworkHarness;

beforeEach(() => {
  network = new NetworkHarness();
});

function createNetwork(attributes: Body): Promise<Body> {
  return network.get("POST", "/networks", { network: attributes }, "admin");
}

function createSubnet(attributes: Body): Promise<Body> {
  return network.get("POST", "/subnets", { subnet: { ip_version: 4, ...attributes } }, "admin");
}

test("availability counts the addresses of pools, exactly", async () => {
  const { id } = await createNetwork({ name: "net" });
  const v4 = await createSubnet({ network_id: id, name: "v4", cidr: "10.0.0.0/24" });
  const v6 = await createSubnet({
    network_id: id,
    name: "v6",
    ip_version: 6,
    cidr: "fd00::/64",
    ipv6_ra_mode: "slaac",
  });
  await network.get("POST", "/ports", { port: { network_id: id } }, "admin");
  const reply = await network.send("GET", `/network-ip-availabilities/${id}`, undefined, "admin");
  expect(reply.body).toContain('"total_ips":18446744073709551868}');
  expect(reply.json("network_ip_availability")).toMatchObject({
    network_id: id,
    network_name: "net",
    project_id: "admin",
    tenant_id: "admin",
    used_ips: 2,
    subnet_ip_availability: [
      { subnet_id: v4.id, ip_version: 4, cidr: "10.0.0.0/24", subnet_name: "v4", used_ips: 1, total_ips: 253 },
      { subnet_id: v6.id, ip_version: 6, cidr: "fd00::/64", subnet_name: "v6", used_ips: 1 },
    ],
  });
});

test("availability is filtered by network, name and IP version", async () => {
  const { id } = await createNetwork({ name: "both" });
  await createSubnet({ network_id: id, cidr: "10.0.0.0/24" });
  await createSubnet({ network_id: id, ip_version: 6, cidr: "fd00::/120", gateway_ip: null });
  const other = await createNetwork({ name: "v4 only" });
  await createSubnet({ network_id: other.id, cidr: "10.0.0.0/28" });
  const list = async (query: string) =>
    (await network.list(`/network-ip-availabilities?${query}`, "admin")).map((one) => [
      one.network_name,
      one.total_ips,
    ]);
  expect(await list("ip_version=6")).toEqual([["both", 255]]);
  expect(await list("ip_version=4")).toEqual([
    ["both", 253],
    ["v4 only", 13],
  ]);
  expect(await list("network_name=v4+only")).toEqual([["v4 only", 13]]);
  expect(await list(`network_id=${id}`)).toEqual([["both", 508]]);
});

test("members see no availability", async () => {
  const { id } = await network.get("POST", "/networks", { network: { name: "mine" } });
  expect(await network.list("/network-ip-availabilities")).toEqual([]);
  expect(await network.rejection("GET", `/network-ip-availabilities/${id}`)).toContain("404 HTTPNotFound");
  expect(await network.rejection("GET", "/network-ip-availabilities/unknown", undefined, "admin")).toBe(
    "404 NetworkNotFound: Network unknown could not be found.",
  );
});

test("service providers are those of routers", async () => {
  const names = (await network.list("/service-providers")).map(({ name }) => name);
  expect(names).toEqual(["dvrha", "dvr", "ha", "single_node"]);
  expect(await network.list("/service-providers?name=dvr")).toEqual([
    { service_type: "L3_ROUTER_NAT", name: "dvr", default: false },
  ]);
});

test("an auto-allocated topology needs an external network and subnet pools", async () => {
  expect(await network.rejection("GET", "/auto-allocated-topology/demo?fields=dry-run", undefined, "admin")).toBe(
    "409 AutoAllocationFailure: Deployment error: No default router:external network.",
  );
  await createNetwork({ name: "public", "router:external": true, is_default: true });
  expect(await network.rejection("GET", "/auto-allocated-topology/demo?fields=dry-run", undefined, "admin")).toBe(
    "409 AutoAllocationFailure: Deployment error: No default subnetpools defined.",
  );
  expect(await network.rejection("GET", "/auto-allocated-topology/demo")).toBe(
    "409 AutoAllocationFailure: Deployment error: Unable to provide tenant private network.",
  );
  await createDefaultPool();
  for (const project of ["demo", "None"]) {
    expect(await network.get("GET", `/auto-allocated-topology/${project}?fields=dry-run`)).toEqual({
      id: "dry-run=pass",
      tenant_id: "demo",
      project_id: "demo",
    });
  }
});

function createDefaultPool(): Promise<Body> {
  const pool = { name: "pool", prefixes: ["10.0.0.0/22"], default_prefixlen: 26, is_default: true, shared: true };
  return network.get("POST", "/subnetpools", { subnetpool: pool }, "admin");
}

test("an auto-allocated topology is a network with a router, once for each project", async () => {
  const external = await createNetwork({ name: "public", "router:external": true, is_default: true });
  await createSubnet({ network_id: external.id, cidr: "172.24.4.0/24" });
  await createDefaultPool();
  const topology = await network.get("GET", "/auto-allocated-topology/demo");
  expect(topology).toMatchObject({ project_id: "demo", tenant_id: "demo" });
  expect(await network.get("GET", "/auto-allocated-topology/None")).toEqual(topology);
  expect(await network.get("GET", `/networks/${topology.id}`)).toMatchObject({
    name: "auto_allocated_network",
    admin_state_up: true,
    project_id: "demo",
  });
  const [subnet] = await network.list(`/subnets?network_id=${topology.id}`);
  expect(subnet).toMatchObject({ name: "auto_allocated_subnet_v4", cidr: "10.0.0.0/26" });
  const [router] = await network.list("/routers");
  expect(router).toMatchObject({
    name: "auto_allocated_router",
    external_gateway_info: { network_id: external.id },
  });
  expect(await network.list(`/ports?device_id=${router?.id}`)).toMatchObject([
    { device_owner: "network:router_interface", fixed_ips: [{ subnet_id: subnet?.id, ip_address: "10.0.0.1" }] },
  ]);
});

test("deleting an auto-allocated topology removes its network and router", async () => {
  const external = await createNetwork({ name: "public", "router:external": true, is_default: true });
  await createSubnet({ network_id: external.id, cidr: "172.24.4.0/24" });
  await createDefaultPool();
  await network.get("GET", "/auto-allocated-topology/demo");
  expect(await network.rejection("DELETE", "/auto-allocated-topology/demo", undefined, "alt")).toBe(
    "403 NotAuthorized: Not authorized.",
  );
  await network.get("DELETE", "/auto-allocated-topology/demo");
  expect(await network.list("/networks?name=auto_allocated_network", "admin")).toEqual([]);
  expect(await network.list("/routers", "admin")).toEqual([]);
  await network.get("DELETE", "/auto-allocated-topology/demo");
});

test("only the project itself gets its topology, with no other fields", async () => {
  expect(await network.rejection("GET", "/auto-allocated-topology/alt")).toBe("403 NotAuthorized: Not authorized.");
  expect(await network.rejection("GET", "/auto-allocated-topology/demo?fields=id")).toBe(
    "400 BadRequest: Bad auto_allocate request: Unrecognized field.",
  );
});
