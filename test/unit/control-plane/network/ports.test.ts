import { describe, expect, test } from "vitest";
import { NetworkHarness } from "./network-harness.js";
import {
  addHosts,
  createNetwork,
  createPort,
  OF_SERVER,
  rejectedPort,
  rejectedUpdate,
  SERVER,
  updatePort,
} from "./port-fixtures.js";

const MISSING = "00000000-0000-4000-8000-000000000000";

describe("a new port", () => {
  test("has an address, a MAC address and the default group of its project", async () => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness);
    const port = await createPort(harness, network, { name: "one", tags: ["red"] });
    const [group] = await harness.list("/security-groups?name=default");
    expect(port).toMatchObject({
      name: "one",
      network_id: network,
      project_id: "demo",
      tenant_id: "demo",
      admin_state_up: true,
      status: "DOWN",
      device_id: "",
      device_owner: "",
      fixed_ips: [{ ip_address: "10.0.0.2" }],
      port_security_enabled: true,
      security_groups: [group?.id],
      allowed_address_pairs: [],
      extra_dhcp_opts: [],
      qos_policy_id: null,
      qos_network_policy_id: null,
      propagate_uplink_status: true,
      "binding:vnic_type": "normal",
      dns_name: "",
      dns_domain: "",
      dns_assignment: [{ ip_address: "10.0.0.2", hostname: "host-10-0-0-2", fqdn: "host-10-0-0-2.openstacklocal." }],
      ip_allocation: "immediate",
      numa_affinity_policy: null,
      device_profile: null,
      tags: ["red"],
      revision_number: 1,
    });
    expect(port.mac_address).toMatch(/^fa:16:3e:(?:[0-9a-f]{2}:){2}[0-9a-f]{2}$/);
    expect(await harness.get("GET", `/ports/${port.id}`)).toEqual(port);
  });

  test("shows its binding to administrators only", async () => {
    const harness = new NetworkHarness();
    const port = await createPort(harness, await createNetwork(harness));
    const binding = {
      "binding:host_id": "",
      "binding:vif_type": "unbound",
      "binding:vif_details": {},
      "binding:profile": {},
      resource_request: null,
    };
    expect(await harness.get("GET", `/ports/${port.id}`, undefined, "admin")).toMatchObject(binding);
    expect(Object.keys(port)).not.toEqual(expect.arrayContaining([expect.stringMatching("binding:(?!vnic)")]));
    expect(port).not.toHaveProperty("resource_request");
    expect(port).not.toHaveProperty("made_for_server");
  });

  test("has no address if the request says so", async () => {
    const harness = new NetworkHarness();
    const port = await createPort(harness, await createNetwork(harness), { fixed_ips: [] });
    expect(port).toMatchObject({ fixed_ips: [], ip_allocation: "none", dns_assignment: [] });
  });

  test.each([true, 5, ["devstack1"]])("cannot be bound to the host %j", async (host) => {
    const harness = new NetworkHarness();
    const body = { port: { network_id: await createNetwork(harness), "binding:host_id": host } };
    expect(await harness.rejection("POST", "/ports", body, "admin")).toBe(
      "400 HTTPBadRequest: The request has a value of an unexpected type.",
    );
  });

  test("of the network itself has neither port security nor groups", async () => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness);
    const [group] = await harness.list("/security-groups");
    const trusted = { network_id: network, device_owner: "network:dhcp", security_groups: [group?.id] };
    expect(await harness.rejection("POST", "/ports", { port: trusted })).toContain(
      "400 PortSecurityAndIPRequiredForSecurityGroups",
    );
    const port = await createPort(harness, network, { device_owner: "network:dhcp" });
    expect(port).toMatchObject({ port_security_enabled: false, security_groups: [] });
  });

  test("takes port security from its network", async () => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness, { port_security_enabled: false });
    expect(await createPort(harness, network)).toMatchObject({ port_security_enabled: false, security_groups: [] });
    expect(await createPort(harness, network, { port_security_enabled: true })).toMatchObject({
      security_groups: [expect.any(String)],
    });
  });

  const ADDRESS = { fixed_ips: [{ ip_address: "192.0.2.4" }] };
  const POLICY = { qos_policy_id: MISSING };
  const PAIRS = { port_security_enabled: false, allowed_address_pairs: [{ ip_address: "10.1.1.1" }] };
  const GROUPS = { security_groups: [MISSING] };
  test.each([
    ["addresses", { ...ADDRESS, ...POLICY, ...PAIRS, ...GROUPS }, "400 InvalidIpForNetwork"],
    ["its QoS policy", { ...POLICY, ...PAIRS, ...GROUPS }, "404 QosPolicyNotFound"],
    ["its address pairs", { ...PAIRS, ...GROUPS }, "409 AddressPairAndPortSecurityRequired"],
  ])("with several errors is rejected for %s first", async (_name, attributes, rejection) => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness);
    const body = { port: { network_id: network, ...attributes } };
    expect(await harness.rejection("POST", "/ports", body)).toContain(rejection);
    const port = await createPort(harness, network);
    expect(await rejectedUpdate(harness, port.id, attributes)).toContain(rejection);
  });

  test.each([
    ["an unknown network", { network_id: MISSING }, `404 NetworkNotFound: Network ${MISSING} could not be found.`],
    [
      "an unknown group",
      { security_groups: [MISSING] },
      `404 SecurityGroupNotFound: Security group ${MISSING} does not exist`,
    ],
    [
      "an address of another network",
      { fixed_ips: [{ ip_address: "192.0.2.4" }] },
      "400 InvalidIpForNetwork: IP address 192.0.2.4 is not a valid IP for any of the subnets on the specified network.",
    ],
    [
      "address pairs without port security",
      { port_security_enabled: false, allowed_address_pairs: [{ ip_address: "10.1.1.1" }] },
      "409 AddressPairAndPortSecurityRequired: Port Security must be enabled in order to have allowed address pairs on a port.",
    ],
    [
      "groups without port security",
      { port_security_enabled: false, security_groups: [MISSING] },
      "400 PortSecurityAndIPRequiredForSecurityGroups: Port security must be enabled and port must have an IP address in order to use security groups.",
    ],
    [
      "a host",
      { "binding:host_id": "devstack1" },
      "403 PolicyNotAuthorized: (rule:create_port and rule:create_port:binding:host_id) is disallowed by policy",
    ],
    [
      "an invalid type of interface",
      { "binding:vnic_type": "fast" },
      "400 HTTPBadRequest: Invalid input for binding:vnic_type. Reason: fast is not in valid_values.",
    ],
    [
      "a hidden attribute",
      { made_for_server: true },
      "400 HTTPBadRequest: Unrecognized attribute(s) 'made_for_server'",
    ],
    [
      "an unknown QoS policy",
      { qos_policy_id: MISSING },
      `404 QosPolicyNotFound: QoS policy ${MISSING} could not be found.`,
    ],
  ])("is rejected with %s", async (_what, attributes, rejection) => {
    const harness = new NetworkHarness();
    expect(await rejectedPort(harness, await createNetwork(harness), attributes)).toBe(rejection);
  });

  test("is rejected without a network, and beyond the quota", async () => {
    const harness = new NetworkHarness({ quotas: { port: 1 } });
    expect(await harness.rejection("POST", "/ports", { port: {} })).toBe(
      "400 HTTPBadRequest: Failed to parse request. Required attribute 'network_id' not specified",
    );
    const network = await createNetwork(harness);
    await createPort(harness, network);
    expect(await rejectedPort(harness, network, {})).toBe("409 OverQuota: Quota exceeded for resources: ['port'].");
  });

  test("can be created together with others, all or none", async () => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness);
    const bulk = (...ports: readonly object[]) => ({ ports: ports.map((port) => ({ network_id: network, ...port })) });
    const reply = await harness.send("POST", "/ports", bulk({ name: "a" }, { name: "b" }));
    expect(reply.json("ports")).toMatchObject([{ name: "a" }, { name: "b" }]);
    const address = { fixed_ips: [{ ip_address: "10.0.0.9" }] };
    expect(await harness.rejection("POST", "/ports", bulk(address, address))).toContain(
      "409 IpAddressAlreadyAllocated",
    );
    expect(await harness.list("/ports?fields=name")).toEqual([{ name: "a" }, { name: "b" }]);
  });
});

describe("the MAC address of a port", () => {
  test("is unique in its network", async () => {
    const harness = new NetworkHarness();
    const [network, other] = [await createNetwork(harness), await createNetwork(harness)];
    const mac = { mac_address: "FA:16:3E:00:00:22" };
    expect(await createPort(harness, network, mac)).toMatchObject({ mac_address: "fa:16:3e:00:00:22" });
    expect(await rejectedPort(harness, network, mac)).toBe(
      `409 MacAddressInUse: Unable to complete operation for network ${network}. The mac address fa:16:3e:00:00:22 is in use.`,
    );
    expect(await createPort(harness, other, mac)).toMatchObject({ mac_address: "fa:16:3e:00:00:22" });
  });

  test("is changed by administrators, and regenerated by null", async () => {
    const harness = new NetworkHarness();
    const port = await createPort(harness, await createNetwork(harness));
    const mac = "fa:16:3e:00:11:22";
    expect(await rejectedUpdate(harness, port.id, { mac_address: mac })).toBe(
      "403 PolicyNotAuthorized: (rule:update_port and rule:update_port:mac_address) is disallowed by policy",
    );
    expect(await updatePort(harness, port.id, { mac_address: mac }, "admin")).toMatchObject({ mac_address: mac });
    const { mac_address: regenerated } = await updatePort(harness, port.id, { mac_address: null }, "admin");
    expect(regenerated).toMatch(/^fa:16:3e/);
    expect(regenerated).not.toBe(mac);
  });

  test("does not change while a host has the port, or if the network owns it", async () => {
    const harness = new NetworkHarness();
    addHosts(harness, "devstack1");
    const network = await createNetwork(harness);
    const port = await createPort(harness, network, { "binding:host_id": "devstack1" }, "admin");
    expect(await rejectedUpdate(harness, port.id, { mac_address: "fa:16:3e:00:11:22" }, "admin")).toBe(
      `409 PortBound: Unable to complete operation on port ${port.id}, port is already bound, port type: ovs, old_mac ${port.mac_address}, new_mac fa:16:3e:00:11:22.`,
    );
    const dhcp = await createPort(harness, network, { device_owner: "network:dhcp" });
    expect(await rejectedUpdate(harness, dhcp.id, { mac_address: "fa:16:3e:00:11:23" }, "admin")).toBe(
      `409 UnsupportedPortDeviceOwner: Operation mac address update is not supported for device_owner network:dhcp on port ${dhcp.id}.`,
    );
    const own = await createPort(harness, network);
    const taken = { mac_address: "fa:16:3e:00:11:23", device_owner: "network:dhcp" };
    expect(await rejectedUpdate(harness, own.id, taken, "admin")).toContain("409 UnsupportedPortDeviceOwner");
  });
});

describe("an update of a port", () => {
  test("changes addresses and raises the revision", async () => {
    const harness = new NetworkHarness();
    const port = await createPort(harness, await createNetwork(harness));
    const changed = await updatePort(harness, port.id, { name: "b", fixed_ips: [{ ip_address: "10.0.0.77" }] });
    expect(changed).toMatchObject({ name: "b", fixed_ips: [{ ip_address: "10.0.0.77" }] });
    expect(changed.revision_number).toBeGreaterThan(Number(port.revision_number));
    expect(await updatePort(harness, port.id, { fixed_ips: [] })).toMatchObject({
      fixed_ips: [],
      ip_allocation: "immediate",
    });
  });

  test("of another project's router is changed only with the router's id", async () => {
    const harness = new NetworkHarness();
    const port = await createPort(harness, await createNetwork(harness));
    const router = await harness.get("POST", "/routers", { router: {} }, "admin");
    const url = `/routers/${router.id}/add_router_interface`;
    await harness.send("PUT", url, { port_id: port.id }, "admin");
    for (const changes of [{ name: "x" }, {}, { device_id: "" }, { device_id: router.id, device_owner: "" }]) {
      expect(await rejectedUpdate(harness, port.id, changes)).toBe(
        `409 DeviceIDNotOwnedByTenant: The following device_id ${router.id} is not owned by your tenant or matches another tenants router.`,
      );
    }
    expect(await updatePort(harness, port.id, { device_id: router.id, name: "x" })).toMatchObject({ name: "x" });
  });

  test("disables port security only without groups and address pairs", async () => {
    const harness = new NetworkHarness();
    const port = await createPort(harness, await createNetwork(harness), {
      allowed_address_pairs: [{ ip_address: "10.0.0.201" }],
    });
    const pairs = "409 AddressPairAndPortSecurityRequired";
    expect(await rejectedUpdate(harness, port.id, { port_security_enabled: false })).toContain(pairs);
    expect(await rejectedUpdate(harness, port.id, { port_security_enabled: false, allowed_address_pairs: [] })).toBe(
      "409 PortSecurityPortHasSecurityGroup: Port has security group associated. Cannot disable port security or IP address until security group is removed.",
    );
    const open = { port_security_enabled: false, allowed_address_pairs: [], security_groups: [] };
    expect(await updatePort(harness, port.id, open)).toMatchObject(open);
    expect(await rejectedUpdate(harness, port.id, { security_groups: port.security_groups })).toContain(
      "400 PortSecurityAndIPRequiredForSecurityGroups",
    );
    expect(await rejectedUpdate(harness, port.id, { allowed_address_pairs: [{ ip_address: "10.0.0.1" }] })).toContain(
      pairs,
    );
  });

  test("replaces groups and address pairs", async () => {
    const harness = new NetworkHarness();
    const port = await createPort(harness, await createNetwork(harness));
    const group = await harness.get("POST", "/security-groups", { security_group: { name: "web" } });
    const pairs = [{ ip_address: "10.0.0.5", mac_address: "aa:bb:cc:00:11:22" }, { ip_address: "10.0.0.0/28" }];
    expect(
      await updatePort(harness, port.id, { security_groups: [group.id], allowed_address_pairs: pairs }),
    ).toMatchObject({
      security_groups: [group.id],
      allowed_address_pairs: [
        { mac_address: "aa:bb:cc:00:11:22", ip_address: "10.0.0.5" },
        { mac_address: port.mac_address, ip_address: "10.0.0.0/28" },
      ],
    });
    const duplicate = [{ ip_address: "10.0.0.1" }, { ip_address: "10.0.0.1", mac_address: port.mac_address }];
    expect(await rejectedUpdate(harness, port.id, { allowed_address_pairs: duplicate })).toBe(
      `400 DuplicateAddressPairInRequest: Request contains duplicate address pair: mac_address ${port.mac_address} ip_address 10.0.0.1.`,
    );
    expect(await updatePort(harness, port.id, { security_groups: [], allowed_address_pairs: null })).toMatchObject({
      security_groups: [],
      allowed_address_pairs: [],
    });
  });

  test("merges DHCP options, of which null removes one", async () => {
    const harness = new NetworkHarness();
    const port = await createPort(harness, await createNetwork(harness), {
      extra_dhcp_opts: [
        { opt_name: "a", opt_value: "1" },
        { opt_name: "b", opt_value: "2", ip_version: 6 },
      ],
    });
    const changes = [
      { opt_name: "a", opt_value: null },
      { opt_name: "b", opt_value: "9", ip_version: 6 },
      { opt_name: "c", opt_value: "3" },
    ];
    const merged = [
      { opt_name: "b", opt_value: "9", ip_version: 6 },
      { opt_name: "c", opt_value: "3", ip_version: 4 },
    ];
    expect(await updatePort(harness, port.id, { extra_dhcp_opts: changes })).toMatchObject({ extra_dhcp_opts: merged });
    expect(await updatePort(harness, port.id, { extra_dhcp_opts: null })).toMatchObject({ extra_dhcp_opts: merged });
  });

  test("sets a NUMA policy only while no host has the port", async () => {
    const harness = new NetworkHarness();
    addHosts(harness, "devstack1");
    const port = await createPort(harness, await createNetwork(harness), { numa_affinity_policy: "required" });
    const changed = await updatePort(
      harness,
      port.id,
      { numa_affinity_policy: null, "binding:host_id": "devstack1" },
      "admin",
    );
    expect(changed).toMatchObject({ numa_affinity_policy: null });
    expect(await rejectedUpdate(harness, port.id, { numa_affinity_policy: "legacy" })).toBe(
      `409 PortBoundNUMAAffinityPolicy: Unable to complete operation on port ${port.id}, port is already bound to host devstack1, numa_affinity_policy value given legacy.`,
    );
  });

  test.each([["network_id"], ["propagate_uplink_status"], ["tags"], ["device_profile"]])(
    "cannot contain %s",
    async (name) => {
      const harness = new NetworkHarness();
      const port = await createPort(harness, await createNetwork(harness));
      expect(await rejectedUpdate(harness, port.id, { [name]: port[name] })).toBe(
        `400 HTTPBadRequest: Cannot update read-only attribute ${name}`,
      );
    },
  );
});

describe("names of ports", () => {
  test("are those of the domain that the operator has configured", async () => {
    const harness = new NetworkHarness({ dnsDomain: "example.org" });
    const port = await createPort(harness, await createNetwork(harness), { dns_name: "MyHost", dns_domain: "a.b." });
    expect(port).toMatchObject({
      dns_name: "myhost",
      dns_domain: "a.b.",
      dns_assignment: [{ ip_address: "10.0.0.2", hostname: "myhost", fqdn: "myhost.example.org." }],
    });
    expect(await updatePort(harness, port.id, { dns_name: "" })).toMatchObject({
      dns_assignment: [{ fqdn: "host-10-0-0-2.example.org." }],
    });
  });

  test("are ignored in Neutron's default domain", async () => {
    const harness = new NetworkHarness();
    expect(await createPort(harness, await createNetwork(harness), { dns_name: "a" })).toMatchObject({ dns_name: "" });
  });
});

describe("a deleted port", () => {
  test("releases its address", async () => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness);
    const fixed = { fixed_ips: [{ ip_address: "10.0.0.9" }] };
    const port = await createPort(harness, network, fixed);
    await harness.get("DELETE", `/ports/${port.id}`);
    expect(await harness.rejection("DELETE", `/ports/${port.id}`)).toBe(
      `404 PortNotFound: Port ${port.id} could not be found.`,
    );
    expect(await createPort(harness, network, fixed)).toMatchObject(fixed);
  });

  test("is none that a router has", async () => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness);
    const router = await harness.get("POST", "/routers", { router: {} });
    const port = await createPort(harness, network, { device_owner: "network:router_interface", device_id: router.id });
    expect(await harness.rejection("DELETE", `/ports/${port.id}`)).toBe(
      `409 ServicePortInUse: Port ${port.id} cannot be deleted directly via the port API: has device owner network:router_interface.`,
    );
    expect(
      await harness.rejection(
        "POST",
        "/ports",
        {
          port: {
            network_id: await createNetwork(harness),
            device_owner: "network:router_interface",
            device_id: router.id,
          },
        },
        "alt",
      ),
    ).toContain("404 NetworkNotFound");
  });
});

describe("Compute", () => {
  test("is notified of changed and deleted ports of servers", async () => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness);
    const port = await createPort(harness, network, OF_SERVER);
    const other = await createPort(harness, network);
    expect(harness.events).toEqual([]);
    await updatePort(harness, other.id, { security_groups: [] });
    await updatePort(harness, port.id, { security_groups: [] });
    await harness.get("DELETE", `/ports/${other.id}`);
    await harness.get("DELETE", `/ports/${port.id}`);
    expect(harness.events).toEqual([
      { name: "network-changed", serverUuid: SERVER, tag: port.id, status: "completed" },
      { name: "network-vif-deleted", serverUuid: SERVER, tag: port.id, status: "completed" },
    ]);
  });
});
