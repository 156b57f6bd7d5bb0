import { beforeEach, describe, expect, test } from "vitest";
import { allocateAddresses } from "../../../../src/control-plane/network/ipam/allocate-addresses.js";
import { PORTS } from "../../../../src/control-plane/network/resources/ports.js";
import type { Caller } from "../../../fixtures/callers.js";
import { type Body, NetworkHarness } from "./network-harness.js";

let network: NetworkHarness;
let networkId: string;

beforeEach(async () => {
  network = new NetworkHarness();
  networkId = String((await network.get("POST", "/networks", { network: { name: "net" } })).id);
});

function createSubnet(attributes: Body, caller: Caller = "demo"): Promise<Body> {
  return network.get("POST", "/subnets", { subnet: { network_id: networkId, ip_version: 4, ...attributes } }, caller);
}

function createPort(attributes: Body = {}, caller: Caller = "demo"): Promise<Body> {
  return network.get("POST", "/ports", { port: { network_id: networkId, ...attributes } }, caller);
}

function rejectPort(attributes: Body): Promise<string> {
  return network.rejection("POST", "/ports", { port: { network_id: networkId, ...attributes } });
}

function changeIps(port: Body, fixed_ips: readonly Body[]): Promise<Body> {
  return network.get("PUT", `/ports/${port.id}`, { port: { fixed_ips } });
}

function addressesOf(port: Body): readonly unknown[] {
  return (port.fixed_ips as readonly Body[]).map(({ ip_address: address }) => address);
}

const SLAAC = { ip_version: 6, ipv6_ra_mode: "slaac", ipv6_address_mode: "slaac" };
const MAC = "fa:16:3e:02:8e:3a";

test("ports get different addresses of the pool in ascending order", async () => {
  await createSubnet({ cidr: "10.0.0.0/29" });
  const ports = [await createPort(), await createPort(), await createPort()];
  expect(ports.flatMap(addressesOf)).toEqual(["10.0.0.2", "10.0.0.3", "10.0.0.4"]);
});

test("a port gets one IPv4 address, one IPv6 address and one of each SLAAC subnet", async () => {
  await createSubnet({ cidr: "10.0.0.0/24" });
  await createSubnet({ cidr: "10.1.0.0/24" });
  await createSubnet({
    ip_version: 6,
    cidr: "fd00:1::/64",
    ipv6_ra_mode: "dhcpv6-stateful",
    ipv6_address_mode: "dhcpv6-stateful",
  });
  await createSubnet({ ...SLAAC, cidr: "fd00:2::/64" });
  await createSubnet({ ip_version: 6, cidr: "fd00:3::/64", ipv6_address_mode: "dhcpv6-stateless" });
  expect(addressesOf(await createPort({ mac_address: MAC }))).toEqual([
    "10.0.0.2",
    "fd00:1::1",
    "fd00:2::f816:3eff:fe02:8e3a",
    "fd00:3::f816:3eff:fe02:8e3a",
  ]);
});

test("a port takes an address of the second subnet when the first is full", async () => {
  await createSubnet({ cidr: "10.0.0.0/30" });
  await createSubnet({ cidr: "10.1.0.0/30" });
  expect(addressesOf(await createPort())).toEqual(["10.0.0.2"]);
  expect(addressesOf(await createPort())).toEqual(["10.1.0.2"]);
  expect(await rejectPort({})).toBe(
    `409 IpAddressGenerationFailure: No more IP addresses available on network ${networkId}.`,
  );
});

test("a released address is used again when no other is left", async () => {
  await createSubnet({ cidr: "10.0.0.0/29" });
  const first = await createPort();
  await createPort();
  await network.get("DELETE", `/ports/${first.id}`);
  const later = [await createPort(), await createPort(), await createPort(), await createPort()];
  expect(later.flatMap(addressesOf)).toEqual(["10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.2"]);
});

test("a port that fails gives its address back, also within a transaction that goes on", async () => {
  await createSubnet({ cidr: "10.0.0.0/30" });
  const { store, context } = network;
  const { database } = store;
  const port = context.table(PORTS).get(String((await createPort({ fixed_ips: [] })).id)) ?? never();
  const fail = () =>
    database.transaction(() => {
      allocateAddresses(context, port, undefined);
      throw new Error("the rest of the transaction fails");
    });
  expect(fail).toThrow("the rest of the transaction fails");
  database.transaction(() => {
    expect(fail).toThrow("the rest of the transaction fails");
    expect(allocateAddresses(context, port, undefined)).toMatchObject([{ ip_address: "10.0.0.2" }]);
  });
  expect(await rejectPort({})).toContain("409 IpAddressGenerationFailure");
});

function never(): never {
  throw new Error("no port");
}

test("an address that another connection has allocated is not chosen again", async () => {
  const subnet = await createSubnet({ cidr: "10.0.0.0/29" });
  const port = await createPort();
  network.store.database.run(
    "INSERT INTO network_ip_allocations (port_id, subnet_id, network_id, address, address_key) VALUES (?, ?, ?, ?, ?)",
    String(port.id),
    String(subnet.id),
    networkId,
    "10.0.0.3",
    "40a000003",
  );
  expect(addressesOf(await createPort())).toEqual(["10.0.0.4"]);
});

describe("explicit addresses", () => {
  test("may lie outside the pools, and are never chosen for another port", async () => {
    const subnet = await createSubnet({
      cidr: "10.0.0.0/24",
      allocation_pools: [{ start: "10.0.0.2", end: "10.0.0.4" }],
    });
    const port = await createPort({
      fixed_ips: [{ ip_address: "10.0.0.2" }, { subnet_id: subnet.id, ip_address: "10.0.0.200" }],
    });
    expect(port.fixed_ips).toEqual([
      { subnet_id: subnet.id, ip_address: "10.0.0.2" },
      { subnet_id: subnet.id, ip_address: "10.0.0.200" },
    ]);
    expect(addressesOf(await createPort())).toEqual(["10.0.0.3"]);
  });

  test("of a subnet may be several", async () => {
    const { id } = await createSubnet({ cidr: "10.0.0.0/24" });
    const port = await createPort({ fixed_ips: Array.from({ length: 7 }, () => ({ subnet_id: id })) });
    expect(new Set(addressesOf(port)).size).toBe(7);
  });

  test("are rejected in Neutron's words", async () => {
    const { id } = await createSubnet({ cidr: "10.0.0.0/24" });
    const slaac = await createSubnet({ ...SLAAC, cidr: "fd00::/64" });
    await createPort({ fixed_ips: [{ ip_address: "10.0.0.200" }] });
    const unknown = "00000000-0000-4000-8000-000000000000";
    const cases: readonly (readonly [Body, string])[] = [
      [
        { ip_address: "10.0.0.200" },
        `409 IpAddressAlreadyAllocated: IP address 10.0.0.200 already allocated in subnet ${id}`,
      ],
      [
        { ip_address: "192.0.2.4" },
        "400 InvalidIpForNetwork: IP address 192.0.2.4 is not a valid IP for any of the subnets on the specified network.",
      ],
      [
        { ip_address: "10.0.0.255" },
        "400 InvalidIpForNetwork: IP address 10.0.0.255 is not a valid IP for any of the subnets on the specified network.",
      ],
      [
        { subnet_id: id, ip_address: "10.1.0.3" },
        "400 InvalidIpForSubnet: IP address 10.1.0.3 is not a valid IP for the specified subnet.",
      ],
      [{ subnet_id: unknown }, `404 SubnetNotFound: Subnet ${unknown} could not be found.`],
      [
        { subnet_id: slaac.id, ip_address: "fd00::5" },
        `400 AllocationOnAutoAddressSubnet: IPv6 address fd00::5 cannot be directly assigned to a port on subnet ${slaac.id} as the subnet is configured for automatic addresses`,
      ],
    ];
    for (const [ip, error] of cases) {
      expect(await rejectPort({ fixed_ips: [ip] })).toBe(error);
    }
  });

  test("need a subnet", async () => {
    expect((await createPort()).fixed_ips).toEqual([]);
    expect(await rejectPort({ fixed_ips: [{ ip_address: "10.0.0.2" }] })).toBe(
      "400 InvalidInput: Invalid input for operation: IP allocation requires subnets for network.",
    );
  });
});

test("a port without requested addresses has those of SLAAC only", async () => {
  await createSubnet({ cidr: "10.0.0.0/24" });
  await createSubnet({ ...SLAAC, cidr: "fd00:2::/64" });
  const port = await createPort({ mac_address: MAC, fixed_ips: [] });
  expect(addressesOf(port)).toEqual(["fd00:2::f816:3eff:fe02:8e3a"]);
  expect(port.ip_allocation).toBe("none");
});

test("an update keeps the addresses that it names, by address or by subnet", async () => {
  const subnet = await createSubnet({ cidr: "10.0.0.0/24" });
  const other = await createSubnet({ cidr: "10.1.0.0/24" });
  const port = await createPort({ fixed_ips: [{ subnet_id: subnet.id }, { subnet_id: other.id }] });
  expect(addressesOf(port)).toEqual(["10.0.0.2", "10.1.0.2"]);
  expect(addressesOf(await changeIps(port, [{ subnet_id: other.id }]))).toEqual(["10.1.0.2"]);
  expect(addressesOf(await changeIps(port, [{ subnet_id: other.id }, { ip_address: "10.0.0.9" }]))).toEqual([
    "10.0.0.9",
    "10.1.0.2",
  ]);
  expect(await changeIps(port, [])).toMatchObject({ fixed_ips: [] });
  expect(addressesOf(await createPort({ fixed_ips: [{ ip_address: "10.0.0.9" }] }))).toEqual(["10.0.0.9"]);
});

test("SLAAC addresses stay in an update, and follow the MAC address", async () => {
  await createSubnet({ cidr: "10.0.0.0/24" });
  await createSubnet({ ...SLAAC, cidr: "fd00:2::/64" });
  const port = await createPort({ mac_address: MAC });
  expect(addressesOf(await changeIps(port, []))).toEqual(["fd00:2::f816:3eff:fe02:8e3a"]);
  const moved = { port: { mac_address: "fa:16:3e:11:22:33" } };
  expect(addressesOf(await network.get("PUT", `/ports/${port.id}`, moved, "admin"))).toEqual([
    "fd00:2::f816:3eff:fe11:2233",
  ]);
});

test("service types of subnets restrict them to device owners", async () => {
  await createSubnet({ cidr: "10.0.0.0/24", service_types: ["compute:nova"] }, "admin");
  expect(await rejectPort({})).toBe(
    `409 IpAddressGenerationFailureNoMatchingSubnet: No valid service subnet for the given device owner, network ${networkId}, service type .`,
  );
  await createSubnet({ cidr: "10.1.0.0/24" });
  expect(addressesOf(await createPort({ device_owner: "compute:nova" }))).toEqual(["10.0.0.2"]);
  expect(addressesOf(await createPort())).toEqual(["10.1.0.2"]);
});

test("an update chooses addresses for the device owner that the port had", async () => {
  const port = await createPort({ fixed_ips: [] });
  const { id: subnet } = await createSubnet({ cidr: "10.0.0.0/24", service_types: ["compute:nova"] }, "admin");
  const changes = { device_owner: "compute:nova", fixed_ips: [{ subnet_id: subnet }] };
  const update = () => network.send("PUT", `/ports/${port.id}`, { port: changes });
  expect((await update()).json("NeutronError", "type")).toBe("IpAddressGenerationFailureNoMatchingSubnet");
  await network.get("PUT", `/ports/${port.id}`, { port: { device_owner: "compute:nova" } });
  expect((await update()).status).toBe(200);
});

describe("a network with subnets on its segment", () => {
  let segmentId: string;

  beforeEach(async () => {
    const routed = {
      name: "routed",
      "provider:network_type": "vlan",
      "provider:physical_network": "physnet1",
      "provider:segmentation_id": 150,
    };
    networkId = String((await network.get("POST", "/networks", { network: routed }, "admin")).id);
    const [segment] = await network.list(`/segments?network_id=${networkId}`, "admin");
    segmentId = String(segment?.id);
  });

  test("gives addresses to ports when their host is known", async () => {
    network.store.services.create({ host: "host1", binary: "nova-compute", topic: "compute", version: 73 });
    await createSubnet({ cidr: "10.0.0.0/24", segment_id: segmentId }, "admin");
    const port = await createPort({}, "admin");
    expect(port).toMatchObject({ fixed_ips: [], ip_allocation: "deferred" });
    const bind = { port: { "binding:host_id": "host1" } };
    expect(addressesOf(await network.get("PUT", `/ports/${port.id}`, bind, "admin"))).toEqual(["10.0.0.2"]);
  });

  test("rejects ports of hosts that its segments do not reach", async () => {
    await createSubnet({ cidr: "10.0.0.0/24", segment_id: segmentId }, "admin");
    const port = { network_id: networkId, "binding:host_id": "elsewhere" };
    expect(await network.rejection("POST", "/ports", { port }, "admin")).toBe(
      `409 HostNotConnectedToAnySegment: Host elsewhere is not connected to any segments on routed provider network '${networkId}'.  It should be connected to one.`,
    );
  });

  test("takes no subnet without a segment", async () => {
    await createSubnet({ cidr: "10.0.0.0/24", segment_id: segmentId }, "admin");
    const subnet = { network_id: networkId, ip_version: 4, cidr: "10.1.0.0/24" };
    expect(await network.rejection("POST", "/subnets", { subnet }, "admin")).toBe(
      `400 SubnetsNotAllAssociatedWithSegments: All of the subnets on network '${networkId}' must either all be associated with segments or all not associated with any segment.`,
    );
  });
});
