import { beforeEach, describe, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

let network: NetworkHarness;
let networkId: string;

beforeEach(async () => {
  network = new NetworkHarness();
  networkId = await createNetwork();
});

async function createNetwork(attributes: Body = {}, caller: "demo" | "admin" = "demo"): Promise<string> {
  return String((await network.get("POST", "/networks", { network: { name: "net", ...attributes } }, caller)).id);
}

function createSubnet(attributes: Body): Promise<Body> {
  return network.get("POST", "/subnets", { subnet: { network_id: networkId, ip_version: 4, ...attributes } });
}

function rejectSubnet(attributes: Body): Promise<string> {
  return network.rejection("POST", "/subnets", { subnet: { network_id: networkId, ip_version: 4, ...attributes } });
}

function rejectUpdate({ id }: Body, changes: Body): Promise<string> {
  return network.rejection("PUT", `/subnets/${id}`, { subnet: changes });
}

function update({ id }: Body, changes: Body): Promise<Body> {
  return network.get("PUT", `/subnets/${id}`, { subnet: changes });
}

function createPort(attributes: Body = {}): Promise<Body> {
  return network.get("POST", "/ports", { port: { network_id: networkId, ...attributes } });
}

async function revisionOfNetwork(): Promise<number> {
  return Number((await network.get("GET", `/networks/${networkId}`)).revision_number);
}

test.each([
  ["dns_nameservers", ""],
  ["dns_nameservers", {}],
  ["service_types", ""],
  ["service_types", {}],
  ["service_types", 0],
])("%s %j is an empty list, as for Neutron, and ports get addresses", async (name, value) => {
  const subnet = await createSubnet({ cidr: "10.20.0.0/24" });
  await network.get("PUT", `/subnets/${subnet.id}`, { subnet: { [name]: value } }, "admin");
  expect((await network.get("GET", `/subnets/${subnet.id}`))[name]).toEqual([]);
  expect((await createPort()).fixed_ips).toHaveLength(1);
});

test("a subnet gets the attributes that the request leaves out", async () => {
  const subnet = await createSubnet({ name: "sub1", cidr: "10.20.0.0/24" });
  expect(subnet).toEqual({
    id: expect.any(String),
    name: "sub1",
    tenant_id: "demo",
    project_id: "demo",
    network_id: networkId,
    ip_version: 4,
    subnetpool_id: null,
    enable_dhcp: true,
    ipv6_ra_mode: null,
    ipv6_address_mode: null,
    gateway_ip: "10.20.0.1",
    cidr: "10.20.0.0/24",
    allocation_pools: [{ start: "10.20.0.2", end: "10.20.0.254" }],
    host_routes: [],
    dns_nameservers: [],
    description: "",
    service_types: [],
    "router:external": false,
    tags: [],
    created_at: expect.any(String),
    updated_at: expect.any(String),
    revision_number: 0,
  });
});

describe("gateway and pools of a new subnet", () => {
  test.each([
    [
      "IPv6 has the anycast address as gateway",
      { ip_version: 6, cidr: "fd00:20::/64" },
      "fd00:20::",
      ["fd00:20::1-fd00:20::ffff:ffff:ffff:ffff"],
    ],
    [
      "a gateway in the middle splits the pool",
      { cidr: "10.1.0.0/28", gateway_ip: "10.1.0.5" },
      "10.1.0.5",
      ["10.1.0.1-10.1.0.4", "10.1.0.6-10.1.0.14"],
    ],
    [
      "a gateway may lie outside",
      { cidr: "10.1.0.0/28", gateway_ip: "192.168.1.1" },
      "192.168.1.1",
      ["10.1.0.1-10.1.0.14"],
    ],
    ["null is no gateway", { cidr: "10.1.0.0/28", gateway_ip: null }, null, ["10.1.0.1-10.1.0.14"]],
    [
      "a /31 has two addresses",
      { cidr: "10.1.0.0/31", gateway_ip: null, enable_dhcp: false },
      null,
      ["10.1.0.0-10.1.0.1"],
    ],
    ["a /32 has one address", { cidr: "10.1.0.4/32", enable_dhcp: false }, "10.1.0.5", ["10.1.0.4-10.1.0.4"]],
    ["host bits are dropped", { cidr: "10.5.0.7/24" }, "10.5.0.1", ["10.5.0.2-10.5.0.254"]],
    [
      "pools are sorted",
      {
        cidr: "10.6.0.0/24",
        allocation_pools: [
          { start: "10.6.0.100", end: "10.6.0.110" },
          { start: "10.6.0.50", end: "10.6.0.60" },
        ],
      },
      "10.6.0.1",
      ["10.6.0.50-10.6.0.60", "10.6.0.100-10.6.0.110"],
    ],
    [
      "an empty list of pools means the default",
      { cidr: "10.7.0.0/24", allocation_pools: [] },
      "10.7.0.1",
      ["10.7.0.2-10.7.0.254"],
    ],
  ])("%s", async (_name, attributes, gateway, pools) => {
    const subnet = await createSubnet(attributes);
    expect(subnet.gateway_ip).toBe(gateway);
    const created = subnet.allocation_pools as readonly { start: string; end: string }[];
    expect(created.map(({ start, end }) => `${start}-${end}`)).toEqual(pools);
  });
});

describe("a new subnet is rejected", () => {
  const INVALID = "400 InvalidInput: Invalid input for operation:";
  test.each([
    [{}, "400 BadRequest: Bad subnets request: a subnetpool must be specified in the absence of a cidr."],
    [
      { cidr: "10.0.0.0/24", prefixlen: 24 },
      "400 BadRequest: Bad subnets request: cidr and prefixlen must not be supplied together.",
    ],
    [{ cidr: "0.0.0.0/0", enable_dhcp: false }, `${INVALID} 0 is not allowed as CIDR prefix length.`],
    [{ cidr: "224.0.0.0/24" }, `${INVALID} Multicast IP subnet is not supported if enable_dhcp is True.`],
    [{ cidr: "127.0.0.0/24" }, `${INVALID} Loopback IP subnet is not supported if enable_dhcp is True.`],
    [{ cidr: "0.0.0.0/24" }, `${INVALID} First IP '0.0.0.0' of network is not supported if enable_dhcp is True..`],
    [{ cidr: "10.4.0.0/31" }, `${INVALID} Subnet has a prefix length that is incompatible with DHCP service enabled.`],
    [
      { cidr: "10.4.0.0/31", enable_dhcp: false },
      "409 IpamValueInvalid: Gateway IP 10.4.0.1 cannot be allocated in CIDR 10.4.0.0/31",
    ],
    [{ cidr: "10.6.0.0/24", ip_version: 6 }, `${INVALID} cidr '10.6.0.0/24' does not match the ip_version '6'.`],
    [
      { cidr: "10.6.0.0/24", gateway_ip: "fd00::1" },
      `${INVALID} gateway_ip 'fd00::1' does not match the ip_version '4'.`,
    ],
    [{ cidr: "10.6.0.0/24", gateway_ip: "10.6.0.0" }, `${INVALID} Gateway is not valid on subnet.`],
    [{ cidr: "10.6.0.0/24", gateway_ip: "10.6.0.255" }, `${INVALID} Gateway is not valid on subnet.`],
    [
      { cidr: "10.6.0.0/24", dns_nameservers: ["fd00::1"] },
      `${INVALID} dns_nameserver 'fd00::1' does not match the ip_version '4'.`,
    ],
    [
      { cidr: "10.6.0.0/24", dns_nameservers: ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "1.1.1.5", "1.1.1.6"] },
      "400 DNSNameServersExhausted: Unable to complete operation for new subnet. The number of DNS nameservers exceeds the limit 5.",
    ],
    [
      { cidr: "10.6.0.0/24", host_routes: [{ destination: "fd00::/64", nexthop: "10.6.0.1" }] },
      `${INVALID} destination 'fd00::/64' does not match the ip_version '4'.`,
    ],
    [{ cidr: "10.6.0.0/24", ipv6_ra_mode: "slaac" }, `${INVALID} ipv6_ra_mode is not valid when ip_version is 4.`],
    [
      { cidr: "fd00:1::/64", ip_version: 6, ipv6_ra_mode: "slaac", ipv6_address_mode: "dhcpv6-stateless" },
      `${INVALID} ipv6_ra_mode set to 'slaac' with ipv6_address_mode set to 'dhcpv6-stateless' is not valid. If both attributes are set, they must be the same value.`,
    ],
    [
      { cidr: "fd00:1::/80", ip_version: 6, ipv6_ra_mode: "slaac" },
      `${INVALID} Invalid CIDR fd00:1::/80 for IPv6 address mode. OpenStack uses the EUI-64 address format, which requires the prefix to be /64.`,
    ],
    [
      { cidr: "fd00:1::/64", ip_version: 6, ipv6_ra_mode: "slaac", enable_dhcp: false },
      `${INVALID} ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False.`,
    ],
    [
      { cidr: "10.6.0.0/24", allocation_pools: [{ start: "10.7.0.2", end: "10.7.0.9" }] },
      "400 OutOfBoundsAllocationPool: The allocation pool 10.7.0.2-10.7.0.9 spans beyond the subnet cidr 10.6.0.0/24.",
    ],
    [
      { cidr: "10.6.0.0/24", allocation_pools: [{ start: "fd00::1", end: "fd00::2" }] },
      "400 InvalidAllocationPool: The allocation pool fd00::1-fd00::2 is not valid.",
    ],
    [
      {
        cidr: "10.6.0.0/24",
        allocation_pools: [
          { start: "10.6.0.2", end: "10.6.0.9" },
          { start: "10.6.0.5", end: "10.6.0.19" },
        ],
      },
      "409 OverlappingAllocationPools: Found overlapping allocation pools: 10.6.0.2-10.6.0.9 10.6.0.5-10.6.0.19 for subnet 10.6.0.0/24.",
    ],
    [
      { cidr: "10.6.0.0/24", gateway_ip: "10.6.0.4", allocation_pools: [{ start: "10.6.0.2", end: "10.6.0.9" }] },
      "409 GatewayConflictWithAllocationPools: Gateway ip 10.6.0.4 conflicts with allocation pool 10.6.0.2-10.6.0.9.",
    ],
  ])("with %o", async (attributes, error) => {
    expect(await rejectSubnet(attributes)).toBe(error);
    expect(await network.list(`/subnets?network_id=${networkId}`)).toEqual([]);
  });
});

test("subnets of a network do not overlap, those of different networks may", async () => {
  await createSubnet({ cidr: "10.20.0.0/24" });
  expect(await rejectSubnet({ cidr: "10.20.0.0/25" })).toBe(
    `400 InvalidInput: Invalid input for operation: Requested subnet with cidr: 10.20.0.0/25 for network: ${networkId} overlaps with another subnet.`,
  );
  const other = await createNetwork();
  await createSubnet({ network_id: other, cidr: "10.20.0.0/25" });
});

test("an update changes pools, gateway, routes and name servers", async () => {
  const subnet = await createSubnet({ cidr: "10.20.0.0/24" });
  const changes = {
    dns_nameservers: ["9.9.9.9", "8.8.8.8"],
    host_routes: [{ destination: "10.99.0.0/16", nexthop: "10.20.0.9" }],
    allocation_pools: [{ start: "10.20.0.10", end: "10.20.0.99" }],
    gateway_ip: "10.20.0.2",
  };
  expect(await update(subnet, changes)).toMatchObject({ ...changes, revision_number: 1 });
  expect(await update(subnet, { gateway_ip: null })).toMatchObject({ gateway_ip: null });
});

test("an update is rejected in Neutron's words", async () => {
  const subnet = await createSubnet({ cidr: "10.20.0.0/24" });
  expect(await rejectUpdate(subnet, { gateway_ip: "10.20.0.55" })).toBe(
    "409 GatewayConflictWithAllocationPools: Gateway ip 10.20.0.55 conflicts with allocation pool 10.20.0.2-10.20.0.254.",
  );
  expect(await rejectUpdate(subnet, { cidr: "10.20.0.0/25" })).toBe(
    "400 HTTPBadRequest: Cannot update read-only attribute cidr",
  );
  const routes = Array.from({ length: 21 }, (_, index) => ({ destination: `10.9.${index}.0/24`, nexthop: "10.8.0.1" }));
  expect(await rejectUpdate(subnet, { host_routes: routes })).toBe(
    `400 HostRoutesExhausted: Unable to complete operation for ${subnet.id}. The number of host routes exceeds the limit 20.`,
  );
  const slaac = await createSubnet({ ip_version: 6, cidr: "fd00::/64", ipv6_ra_mode: "slaac" });
  expect(await rejectUpdate(slaac, { enable_dhcp: false })).toBe(
    "400 InvalidInput: Invalid input for operation: Cannot disable enable_dhcp with ipv6 attributes set.",
  );
});

test("new pools decide about later addresses", async () => {
  const subnet = await createSubnet({ cidr: "10.20.0.0/24" });
  await createPort();
  await update(subnet, { allocation_pools: [{ start: "10.20.0.77", end: "10.20.0.77" }] });
  expect((await createPort()).fixed_ips).toEqual([{ subnet_id: subnet.id, ip_address: "10.20.0.77" }]);
});

test("a network grows with its subnets", async () => {
  const before = await revisionOfNetwork();
  const subnet = await createSubnet({ cidr: "10.20.0.0/24" });
  const created = await revisionOfNetwork();
  await update(subnet, { name: "x" });
  const updated = await revisionOfNetwork();
  await network.get("DELETE", `/subnets/${subnet.id}`);
  expect([created - before, updated - created, (await revisionOfNetwork()) - updated]).toEqual([1, 1, 1]);
});

test("a subnet with addresses of ports cannot be deleted", async () => {
  const subnet = await createSubnet({ cidr: "10.20.0.0/24" });
  const port = await createPort();
  expect(await network.rejection("DELETE", `/subnets/${subnet.id}`)).toBe(
    `409 SubnetInUse: Unable to complete operation on subnet ${subnet.id}: One or more ports have an IP allocation from this subnet.`,
  );
  await network.get("DELETE", `/ports/${port.id}`);
  await network.get("DELETE", `/subnets/${subnet.id}`);
});

test("addresses of SLAAC come and go with their subnet", async () => {
  await createSubnet({ cidr: "10.20.0.0/24" });
  const port = await createPort({ mac_address: "fa:16:3e:02:8e:3a" });
  const slaac = await createSubnet({
    ip_version: 6,
    cidr: "fd00:61::/64",
    ipv6_ra_mode: "slaac",
    ipv6_address_mode: "slaac",
  });
  const changed = await network.get("GET", `/ports/${port.id}`);
  expect(changed.fixed_ips).toContainEqual({ subnet_id: slaac.id, ip_address: "fd00:61::f816:3eff:fe02:8e3a" });
  expect(Number(changed.revision_number)).toBeGreaterThan(Number(port.revision_number));
  await network.get("DELETE", `/subnets/${slaac.id}`);
  expect((await network.get("GET", `/ports/${port.id}`)).fixed_ips).toEqual(port.fixed_ips);
});

test("other projects see the subnets of shared networks only", async () => {
  const shared = await createNetwork({ shared: true }, "admin");
  const external = await createNetwork({ "router:external": true }, "admin");
  const hidden = await createNetwork({}, "admin");
  for (const [index, id] of [shared, external, hidden].entries()) {
    const subnet = { network_id: id, ip_version: 4, cidr: `10.${index}.0.0/24`, name: `of ${index}` };
    await network.get("POST", "/subnets", { subnet }, "admin");
  }
  const visible = await network.list("/subnets?sort_key=cidr&sort_dir=asc");
  expect(visible.map(({ name }) => name)).toEqual(["of 0"]);
  expect((await network.list("/subnets?shared=True")).map(({ name }) => name)).toEqual(["of 0"]);
  const ofExternal = await network.list("/subnets?router:external=True", "admin");
  expect(ofExternal.map(({ name }) => name)).toEqual(["of 1"]);
  expect(await rejectUpdate(visible[0] ?? {}, { name: "x" })).toBe(
    "403 PolicyNotAuthorized: rule:update_subnet is disallowed by policy",
  );
  expect(await rejectSubnet({ network_id: shared, cidr: "10.9.0.0/24" })).toBe(
    "403 PolicyNotAuthorized: rule:create_subnet is disallowed by policy",
  );
});

test("only an administrator sees the segment", async () => {
  const { id } = await createSubnet({ cidr: "10.20.0.0/24" });
  expect(await network.get("GET", `/subnets/${id}`)).not.toHaveProperty("segment_id");
  expect(await network.get("GET", `/subnets/${id}`, undefined, "admin")).toMatchObject({ segment_id: null });
});

test("the gateway stays while a router's interface has its address", async () => {
  const subnet = await createSubnet({ cidr: "10.20.0.0/24" });
  const router = await network.get("POST", "/routers", { router: { name: "router" } });
  await network.get("PUT", `/routers/${router.id}/add_router_interface`, { subnet_id: subnet.id });
  const [port] = await network.list(`/ports?device_id=${router.id}`);
  expect(await rejectUpdate(subnet, { gateway_ip: "10.20.0.254", allocation_pools: [] })).toBe(
    `409 GatewayIpInUse: Current gateway ip 10.20.0.1 already in use by port ${port?.id}. Unable to update.`,
  );
  expect(await network.rejection("DELETE", `/subnets/${subnet.id}`)).toContain("409 SubnetInUse");
});

test("gateways of routers get an address of a new subnet of the other IP version", async () => {
  const external = await createNetwork({ "router:external": true }, "admin");
  const create = (attributes: Body): Promise<Body> =>
    network.get("POST", "/subnets", { subnet: { network_id: external, ...attributes } }, "admin");
  const v4 = await create({ ip_version: 4, cidr: "172.24.4.0/24" });
  const { id } = await network.get("POST", "/routers", { router: { external_gateway_info: { network_id: external } } });
  await create({ ip_version: 4, cidr: "172.24.5.0/24" });
  const v6 = await create({ ip_version: 6, cidr: "2001:db8::/64" });
  const router = await network.get("GET", `/routers/${id}`);
  expect(router.external_gateway_info).toMatchObject({
    external_fixed_ips: [
      { subnet_id: v4.id, ip_address: "172.24.4.2" },
      { subnet_id: v6.id, ip_address: "2001:db8::1" },
    ],
  });
});

test("subnets of a routed network have routes to each other's segments", async () => {
  const segments = [
    { "provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 150 },
    { "provider:network_type": "flat", "provider:physical_network": "public" },
  ];
  const routed = await createNetwork({ segments }, "admin");
  const [first, second] = await network.list(`/segments?network_id=${routed}`, "admin");
  const create = (cidr: string, segment: Body | undefined, gateway: string): Promise<Body> => {
    const subnet = { network_id: routed, ip_version: 4, cidr, segment_id: segment?.id, gateway_ip: gateway };
    return network.get("POST", "/subnets", { subnet }, "admin");
  };
  const one = await create("10.1.0.0/24", first, "10.1.0.1");
  const other = await create("10.2.0.0/24", second, "10.2.0.1");
  const routesOf = async ({ id }: Body) => (await network.get("GET", `/subnets/${id}`, undefined, "admin")).host_routes;
  expect(await routesOf(one)).toEqual([{ destination: "10.2.0.0/24", nexthop: "10.1.0.1" }]);
  expect(await routesOf(other)).toEqual([{ destination: "10.1.0.0/24", nexthop: "10.2.0.1" }]);
  await network.get(
    "PUT",
    `/subnets/${one.id}`,
    { subnet: { gateway_ip: "10.1.0.254", allocation_pools: [] } },
    "admin",
  );
  expect(await routesOf(one)).toEqual([{ destination: "10.2.0.0/24", nexthop: "10.1.0.254" }]);
  await network.get("DELETE", `/subnets/${other.id}`, undefined, "admin");
  expect(await routesOf(one)).toEqual([]);
});
