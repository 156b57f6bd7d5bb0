import { describe, expect, test } from "vitest";
import { createServerPorts } from "../../../../src/control-plane/network/ports/server-ports.js";
import { NetworkHarness } from "./network-harness.js";
import { addHosts, attach, createNetwork, createPort, SERVER } from "./port-fixtures.js";

const ON_HOST = {
  uuid: SERVER,
  projectId: "demo",
  host: "devstack1",
  availabilityZone: "nova",
  hostname: "vm",
} as const;

/** The ports for Compute, with a network of project `demo`. */
async function start(options = {}) {
  const harness = new NetworkHarness(options);
  addHosts(harness, "devstack1", "devstack2");
  const network = await createNetwork(harness, { name: "net" });
  return { harness, network, ports: createServerPorts(harness.context) };
}

/** Returns Neutron's exception. */
function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return String(Reflect.get(error as object, "code"));
  }
  return "none";
}

describe("attached ports", () => {
  test("are created for the server, bound to its host, and shown with their network", async () => {
    const { harness, network, ports } = await start();
    const [port, second] = attach(
      ports,
      ON_HOST,
      [
        { network, tag: "nic1" },
        { network, address: "10.0.0.50" },
      ],
      [],
    );
    const [group] = await harness.list("/security-groups?name=default");
    expect(port).toMatchObject({
      networkId: network,
      networkName: "net",
      mtu: 1450,
      projectId: "demo",
      deviceId: SERVER,
      deviceOwner: "compute:nova",
      status: "DOWN",
      fixedIps: [{ address: expect.stringMatching(/^10\.0\.0\./), version: 4, subnetId: expect.any(String) }],
      floatingIps: [],
      securityGroupIds: [group?.id],
      tag: "nic1",
      madeForServer: true,
      vnicType: "normal",
      host: "devstack1",
      vifType: "ovs",
      vifDetails: { port_filter: true },
      profile: {},
      pluggedOn: [],
    });
    expect(second).toMatchObject({ fixedIps: [{ address: "10.0.0.50" }], tag: null });
    expect(ports.ofServer(SERVER)).toEqual([port, second]);
    expect(ports.get(String(port?.id))).toEqual(port);
    expect(ports.withAddress(network, "10.0.0.50")).toEqual(second);
    expect(harness.events).toEqual([]);
  });

  test("may be existing ones, which keep their groups and are returned when the server goes", async () => {
    const { harness, network, ports } = await start({ dnsDomain: "example.org." });
    const { id, security_groups: groups } = await createPort(harness, network, { name: "own" });
    const [port] = attach(ports, ON_HOST, [{ port: String(id), profile: { allocation: { a: "b" } } }], ["ignored"]);
    expect(port).toMatchObject({ id, host: "devstack1", madeForServer: false, securityGroupIds: groups });
    expect(port?.profile).toEqual({ allocation: { a: "b" } });
    expect(await harness.get("GET", `/ports/${id}`)).toMatchObject({ dns_name: "vm" });
    attach(ports, ON_HOST, [{ network }], []);
    ports.release(SERVER);
    expect(await harness.list("/ports", "admin")).toMatchObject([
      {
        id,
        device_id: "",
        device_owner: "",
        dns_name: "",
        "binding:host_id": "",
        "binding:vif_type": "unbound",
        "binding:profile": {},
        security_groups: groups,
      },
    ]);
    expect(ports.ofServer(SERVER)).toEqual([]);
  });

  test("have the requested groups, and none without port security", async () => {
    const { harness, network, ports } = await start();
    const { id: group } = await harness.get("POST", "/security-groups", { security_group: { name: "web" } });
    const open = await createNetwork(harness, { port_security_enabled: false });
    const made = attach(ports, ON_HOST, [{ network }, { network: open }], [String(group)]);
    expect(made.map(({ securityGroupIds }) => securityGroupIds)).toEqual([[group], []]);
    ports.setSecurityGroups(String(made[0]?.id), []);
    expect(ports.ofServer(SERVER)[0]?.securityGroupIds).toEqual([]);
    expect(codeOf(() => ports.setSecurityGroups(String(made[1]?.id), [String(group)]))).toBe(
      "PortSecurityAndIPRequiredForSecurityGroups",
    );
  });

  test.each([
    ["an unknown port", { port: SERVER }, "PortNotFound"],
    ["an unknown network", { network: SERVER }, "NetworkNotFound"],
    ["a used address", { address: "10.0.0.2" }, "IpAddressAlreadyAllocated"],
    ["an address of another network", { address: "192.0.2.1" }, "InvalidIpForNetwork"],
  ])("are all or none: the request of %s undoes the others", async (_what, request, code) => {
    const { harness, network, ports } = await start();
    await createPort(harness, network, { fixed_ips: [{ ip_address: "10.0.0.2" }] });
    expect(codeOf(() => attach(ports, ON_HOST, [{ network }, { network, ...request }], []))).toBe(code);
    expect(ports.ofServer(SERVER)).toEqual([]);
  });

  test("are not taken from another server, need an address, and a network with a subnet", async () => {
    const { harness, network, ports } = await start();
    const empty = await createNetwork(harness, { cidrs: [] });
    const [used] = attach(ports, ON_HOST, [{ network }], []);
    const bare = await createPort(harness, empty);
    const unaddressed = await createPort(harness, network, { fixed_ips: [] });
    const attachOther = (request: object) => codeOf(() => attach(ports, { ...ON_HOST, uuid: "other" }, [request], []));
    expect(attachOther({ port: used?.id })).toBe("PortInUse");
    expect(attachOther({ network: empty })).toBe("NetworkRequiresSubnet");
    expect(attachOther({ port: bare.id })).toBe("PortRequiresFixedIP");
    expect(attachOther({ port: unaddressed.id })).toBe("none");
  });

  test("stay within the quota of the project, which existing ones do not use again", async () => {
    const { harness, network, ports } = await start({ quotas: { port: 2 } });
    const { id } = await createPort(harness, network);
    expect(ports.portLimit("demo")).toEqual({ limit: 2, used: 1 });
    expect(codeOf(() => attach(ports, ON_HOST, [{ network }, { network }], []))).toBe("OverQuota");
    attach(ports, ON_HOST, [{ port: String(id) }, { network }], []);
    expect(ports.portLimit("demo")).toEqual({ limit: 2, used: 2 });
  });

  test("report a host that cannot bind them", async () => {
    const { network, ports } = await start();
    expect(attach(ports, { ...ON_HOST, host: "nohost" }, [{ network }], [])).toMatchObject([
      { host: "nohost", vifType: "binding_failed" },
    ]);
  });
});

describe("detaching a port", () => {
  test("deletes one that Compute has created, without an event", async () => {
    const { harness, network, ports } = await start();
    const [port] = attach(ports, ON_HOST, [{ network }], []);
    ports.detach(String(port?.id));
    ports.detach(String(port?.id));
    expect(await harness.list("/ports", "admin")).toEqual([]);
    expect(harness.events).toEqual([]);
  });
});

describe("releasing a server", () => {
  test("leaves a port that a user has made the parent of a trunk", async () => {
    const { harness, network, ports } = await start();
    const [port] = attach(ports, { ...ON_HOST, host: null }, [{ network }], []);
    await harness.get("POST", "/trunks", { trunk: { port_id: port?.id } }, "admin");
    ports.release(SERVER);
    expect(ports.get(String(port?.id))).toMatchObject({ deviceId: "", host: null, madeForServer: false });
  });
});

describe("the ports of many servers", () => {
  test("are read with the same number of queries as those of one", async () => {
    const { harness, network, ports } = await start();
    const uuids = Array.from(
      { length: 20 },
      (_, index) => `11111111-2222-4333-8444-${String(index).padStart(12, "0")}`,
    );
    for (const uuid of uuids) {
      attach(ports, { ...ON_HOST, uuid }, [{ network }], []);
    }
    const { sql } = harness.context;
    let queries = 0;
    const all = sql.all.bind(sql);
    sql.all = (...query) => {
      queries += 1;
      return all(...query);
    };
    expect([...ports.ofServers(uuids.slice(0, 1)).keys()]).toEqual(uuids.slice(0, 1));
    const queriesOfOne = queries;
    expect([...ports.ofServers([...uuids, "unknown"]).keys()]).toEqual(uuids);
    expect(queries).toBe(2 * queriesOfOne);
  });

  test("are found by a part of their address", async () => {
    const { network, ports } = await start();
    attach(ports, ON_HOST, [{ network, address: "10.0.0.77" }], []);
    expect(ports.serversWithAddress("0.77", 4)).toEqual([SERVER]);
    expect(ports.serversWithAddress("0.78", 4)).toEqual([]);
    expect(ports.serversWithAddress("0.77", 6)).toEqual([]);
    expect(ports.isAddressOf(network, "10.0.0.200")).toBe(true);
    expect(ports.isAddressOf(network, "10.0.1.1")).toBe(false);
  });
});

describe("floating addresses", () => {
  test("are shown with the fixed address of the port", async () => {
    const { harness, network, ports } = await start();
    const external = await createNetwork(harness, { cidrs: [] });
    const ipv4 = { ip_version: 4, cidr: "203.0.113.0/24" };
    await harness.get("PUT", `/networks/${external}`, { network: { "router:external": true } }, "admin");
    const subnet = await harness.get("POST", "/subnets", { subnet: { network_id: external, ...ipv4 } });
    const gateway = { external_gateway_info: { network_id: external } };
    const router = await harness.get("POST", "/routers", { router: gateway });
    const [{ id: inner } = {}] = await harness.list(`/subnets?network_id=${network}`);
    await harness.send("PUT", `/routers/${router.id}/add_router_interface`, { subnet_id: inner });
    const [port] = attach(ports, ON_HOST, [{ network }], []);
    const floating = { floating_network_id: external, port_id: port?.id, subnet_id: subnet.id };
    const { floating_ip_address: address } = await harness.get("POST", "/floatingips", { floatingip: floating });
    const fixedAddress = port?.fixedIps[0]?.address;
    expect(ports.ofServer(SERVER)[0]?.floatingIps).toEqual([{ address, fixedAddress }]);
    expect(harness.events).toMatchObject([{ name: "network-changed", tag: port?.id }]);
    ports.release(SERVER);
    expect(await harness.list("/floatingips")).toMatchObject([{ port_id: null, fixed_ip_address: null }]);
  });
});

describe("addresses of a server", () => {
  test("are added to its port on a network, and removed again", async () => {
    const { harness, network, ports } = await start();
    const [port] = attach(ports, ON_HOST, [{ network }], []);
    const added = ports.addFixedIp(SERVER, network);
    expect(added?.fixedIps).toHaveLength(2);
    const [first] = port?.fixedIps ?? [];
    const remaining = ports.removeFixedIp(SERVER, String(first?.address));
    expect(remaining?.fixedIps).toHaveLength(1);
    expect(remaining?.fixedIps).not.toContainEqual(first);
    expect(ports.addFixedIp(SERVER, await createNetwork(harness))).toBeUndefined();
    expect(ports.removeFixedIp(SERVER, "192.0.2.1")).toBeUndefined();
  });
});

describe("networks for servers", () => {
  test("are the project's own, then shared ones, without external ones", async () => {
    const { harness, network, ports } = await start();
    const create = (attributes: object) => harness.get("POST", "/networks", { network: attributes }, "admin");
    const shared = await create({ name: "shared", shared: true });
    const external = await create({ name: "external", "router:external": true });
    const foreign = await create({ name: "foreign" });
    await create({ name: "own external", project_id: "demo", "router:external": true });
    expect(ports.networksFor("demo")).toEqual([
      {
        id: network,
        name: "net",
        projectId: "demo",
        isAdminStateUp: true,
        isShared: false,
        isExternal: false,
        hasSubnets: true,
        isPortSecurityEnabled: true,
        qosPolicyId: null,
        mtu: 1450,
      },
      expect.objectContaining({ id: shared.id, isShared: true, hasSubnets: false }),
    ]);
    const demo = { projectId: "demo" };
    expect(ports.network(String(external.id), demo)).toMatchObject({ isExternal: true, isShared: false });
    expect(ports.network(String(foreign.id), demo)).toBeUndefined();
    expect(ports.network(String(foreign.id), { ...demo, isAdmin: true })).toMatchObject({ name: "foreign" });
  });
});

describe("the resource request of a port", () => {
  test("has a group for bandwidth and one for packet rates, of its own or its network's policy", async () => {
    const { harness, ports } = await start();
    const policy = await harness.get("POST", "/qos/policies", { policy: { name: "q" } }, "admin");
    const rules = `/qos/policies/${policy.id}`;
    const create = (kind: string, rule: object) => harness.get("POST", `${rules}/${kind}s`, { [kind]: rule }, "admin");
    await create("minimum_bandwidth_rule", { min_kbps: 100, direction: "egress" });
    const provider = { "provider:network_type": "vlan", "provider:physical_network": "physnet1" };
    const network = await harness.get("POST", "/networks", { network: { project_id: "demo", ...provider } }, "admin");
    await harness.get("POST", "/subnets", { subnet: { network_id: network.id, ip_version: 4, cidr: "10.9.0.0/24" } });
    const port = await createPort(harness, String(network.id), { qos_policy_id: policy.id }, "admin");
    const request = ports.resourceRequests(null, [String(port.id)]).get(String(port.id));
    expect(request).toEqual({
      request_groups: [
        {
          id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
          required: ["CUSTOM_PHYSNET_PHYSNET1", "CUSTOM_VNIC_TYPE_NORMAL"],
          resources: { NET_BW_EGR_KILOBIT_PER_SEC: 100 },
        },
      ],
      same_subtree: [request?.request_groups[0]?.id],
    });
    expect(port.resource_request).toEqual(request);
    const plain = await createPort(harness, String(network.id));
    expect(ports.resourceRequests(null, [String(plain.id)]).size).toBe(0);
    await harness.get("PUT", `/networks/${network.id}`, { network: { qos_policy_id: policy.id } }, "admin");
    expect(await harness.get("GET", `/ports/${plain.id}`, undefined, "admin")).toMatchObject({
      qos_network_policy_id: policy.id,
      resource_request: { request_groups: [{ resources: { NET_BW_EGR_KILOBIT_PER_SEC: 100 } }] },
    });
  });
});
