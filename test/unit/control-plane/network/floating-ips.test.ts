import { expect, test } from "vitest";
import { RouterHarness, UNKNOWN } from "./l3-fixtures.js";
import type { Body } from "./network-harness.js";
import { createNetwork, createPort, OF_SERVER, SERVER } from "./port-fixtures.js";

test("a free floating IP has an address, and a port that only administrators see", async () => {
  const harness = await RouterHarness.create();
  const floatingIp = await harness.createFloatingIp({ description: "d" });
  expect(floatingIp).toMatchObject({
    floating_network_id: harness.external,
    floating_ip_address: expect.stringMatching(/^172\.24\.4\./),
    port_id: null,
    fixed_ip_address: null,
    router_id: null,
    status: "DOWN",
    description: "d",
    port_details: null,
    port_forwardings: [],
    qos_policy_id: null,
    dns_name: "",
    dns_domain: "",
    project_id: "demo",
  });
  const [port] = await harness.list(`/ports?device_id=${floatingIp.id}`, "admin");
  expect(port).toMatchObject({ device_owner: "network:floatingip", status: "N/A", project_id: "" });
  expect(await harness.list(`/ports?device_id=${floatingIp.id}`)).toEqual([]);
  expect(await harness.rejection("DELETE", `/ports/${port?.id}`, undefined, "admin")).toBe(
    `409 ServicePortInUse: Port ${port?.id} cannot be deleted directly via the port API: has device owner network:floatingip.`,
  );
  await harness.get("DELETE", `/floatingips/${floatingIp.id}`);
  expect(await harness.list(`/ports?device_id=${floatingIp.id}`, "admin")).toEqual([]);
  expect(await harness.rejection("GET", `/floatingips/${floatingIp.id}`)).toBe(
    `404 FloatingIPNotFound: Floating IP ${floatingIp.id} could not be found`,
  );
});

test("a floating IP is associated through the router of the port's subnet, and disassociated", async () => {
  const harness = await RouterHarness.create();
  const port = await createPort(harness, harness.internal, { name: "p", fixed_ips: [{ ip_address: "10.0.0.9" }] });
  const floatingIp = await harness.createFloatingIp({ port_id: port.id });
  expect(floatingIp).toMatchObject({
    port_id: port.id,
    fixed_ip_address: "10.0.0.9",
    router_id: harness.router,
    status: "ACTIVE",
    port_details: {
      name: "p",
      network_id: harness.internal,
      mac_address: port.mac_address,
      admin_state_up: true,
      status: "DOWN",
      device_id: "",
      device_owner: "",
    },
  });
  expect(await harness.updateFloatingIp(floatingIp, { description: "same port" })).toMatchObject({
    port_id: port.id,
    description: "same port",
  });
  expect(await harness.updateFloatingIp(floatingIp, { port_id: null })).toMatchObject({
    port_id: null,
    fixed_ip_address: null,
    router_id: null,
    status: "DOWN",
  });
});

test("a deleted port releases its floating IP", async () => {
  const harness = await RouterHarness.create();
  const port = await createPort(harness, harness.internal);
  const floatingIp = await harness.createFloatingIp({ port_id: port.id });
  await harness.get("DELETE", `/ports/${port.id}`);
  expect(await harness.get("GET", `/floatingips/${floatingIp.id}`)).toMatchObject({
    port_id: null,
    router_id: null,
    status: "DOWN",
    revision_number: Number(floatingIp.revision_number) + 1,
  });
});

test("an address of a port has one floating IP of an external network", async () => {
  const harness = await RouterHarness.create();
  const ips = [{ ip_address: "10.0.0.8" }, { ip_address: "10.0.0.9" }];
  const port = await createPort(harness, harness.internal, { fixed_ips: ips });
  const first = await harness.createFloatingIp({ port_id: port.id, fixed_ip_address: "10.0.0.8" });
  const second = await harness.createFloatingIp();
  const associate = (address: string) => ({ port_id: port.id, fixed_ip_address: address });
  expect(await harness.rejection("PUT", `/floatingips/${second.id}`, { floatingip: associate("10.0.0.8") })).toBe(
    `409 FloatingIPPortAlreadyAssociated: Cannot associate floating IP ${second.floating_ip_address} (${second.id}) with port ${port.id} using fixed IP 10.0.0.8, as that fixed IP already has a floating IP on external network ${harness.external}.`,
  );
  expect(await harness.updateFloatingIp(second, associate("10.0.0.9"))).toMatchObject(associate("10.0.0.9"));
  expect(await harness.list(`/floatingips?port_id=${port.id}&fixed_ip_address=10.0.0.8`)).toMatchObject([
    { id: first.id },
  ]);
});

test("associations that no router can serve are rejected", async () => {
  const harness = await RouterHarness.create();
  const { external, internal } = harness;
  const isolated = await createNetwork(harness, { cidrs: ["10.7.0.0/24"] });
  const ips = [{ ip_address: "10.0.0.8" }, { ip_address: "10.0.0.9" }];
  const two = await createPort(harness, internal, { fixed_ips: ips });
  const none = await createPort(harness, internal, { fixed_ips: [] });
  const unreachable = await createPort(harness, isolated);
  const foreign = await createPort(harness, internal, { project_id: "alt" }, "admin");
  const bad = "400 BadRequest: Bad floatingip request:";
  const reject = (attributes: Body) => harness.rejectedFloatingIp(attributes);
  expect(await reject({ port_id: two.id })).toBe(
    `${bad} Port ${two.id} has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP.`,
  );
  expect(await reject({ port_id: two.id, fixed_ip_address: "10.0.0.7" })).toBe(
    `${bad} Port ${two.id} does not have fixed ip 10.0.0.7.`,
  );
  expect(await reject({ port_id: two.id, fixed_ip_address: "fe80::1" })).toBe(
    `${bad} Cannot process floating IP association with fe80::1, since that is not an IPv4 address.`,
  );
  expect(await reject({ port_id: none.id })).toBe(
    `${bad} Cannot add floating IP to port ${none.id} that has no fixed IPv4 addresses.`,
  );
  expect(await reject({ port_id: foreign.id })).toBe(
    `${bad} Cannot process floating IP association with Port ${foreign.id}, since that port is owned by a different tenant.`,
  );
  expect(await reject({ fixed_ip_address: "10.0.0.8" })).toBe(
    `${bad} fixed_ip_address cannot be specified without a port_id.`,
  );
  expect(await reject({ port_id: UNKNOWN })).toBe(`404 PortNotFound: Port ${UNKNOWN} could not be found.`);
  const [subnet] = await harness.subnetsOf(isolated);
  expect(await reject({ port_id: unreachable.id })).toBe(
    `404 ExternalGatewayForFloatingIPNotFound: External network ${external} is not reachable from subnet ${subnet}.  Therefore, cannot associate Port ${unreachable.id} with a Floating IP.`,
  );
  expect(await harness.list(`/ports?device_owner=network:floatingip`, "admin")).toEqual([]);
});

test("addresses and networks that have no floating IPs are rejected", async () => {
  const harness = await RouterHarness.create();
  const { external, internal } = harness;
  expect(await harness.rejectedFloatingIp({ floating_network_id: internal })).toBe(
    `400 BadRequest: Bad floatingip request: Network ${internal} is not a valid external network.`,
  );
  const ipv6 = await harness.createExternal("ipv6", "2001:db9::/64");
  expect(await harness.rejectedFloatingIp({ floating_network_id: ipv6 })).toBe(
    `400 BadRequest: Bad floatingip request: Network ${ipv6} does not contain any IPv4 subnet.`,
  );
  expect(await harness.rejectedFloatingIp({ floating_network_id: UNKNOWN })).toContain("404 NetworkNotFound");
  expect(await harness.rejectedFloatingIp({ subnet_id: harness.ipv6 })).toBe(
    `400 ExternalIpAddressExhausted: Unable to find any IP address on external network ${external}.`,
  );
  expect(await harness.rejectedFloatingIp({ floating_ip_address: "172.24.4.9" })).toBe(
    "403 PolicyNotAuthorized: (rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy",
  );
  const chosen = { floatingip: { floating_network_id: external, floating_ip_address: "172.24.4.9" } };
  expect(await harness.get("POST", "/floatingips", chosen, "admin")).toMatchObject({
    floating_ip_address: "172.24.4.9",
  });
  expect(await harness.rejection("POST", "/floatingips", chosen, "admin")).toContain("409 IpAddressAlreadyAllocated");
  expect(await harness.createFloatingIp({ subnet_id: harness.ipv4 })).toMatchObject({ project_id: "demo" });
});

test("a floating IP keeps the interface of its router", async () => {
  const harness = await RouterHarness.create();
  const port = await createPort(harness, harness.internal);
  await harness.createFloatingIp({ port_id: port.id });
  expect(await harness.rejectedAction("remove_router_interface", { subnet_id: harness.subnet })).toBe(
    `409 RouterInterfaceInUseByFloatingIP: Router interface for subnet ${harness.subnet} on router ${harness.router} cannot be deleted, as it is required by one or more floating IPs.`,
  );
});

test("of several routers the one with the gateway address of the subnet serves a floating IP", async () => {
  const harness = await RouterHarness.create();
  const network = await createNetwork(harness, { cidrs: ["10.8.0.0/24"] });
  const [subnet] = await harness.subnetsOf(network);
  const second = await harness.createRouter({ external_gateway_info: { network_id: harness.external } });
  const port = await createPort(harness, network, { fixed_ips: [{ ip_address: "10.8.0.200" }] });
  await harness.addInterface({ port_id: port.id });
  await harness.addInterface({ subnet_id: subnet }, second);
  const target = await createPort(harness, network);
  expect(await harness.createFloatingIp({ port_id: target.id })).toMatchObject({ router_id: second });
});

test("an update without a QoS policy removes it, and an empty one disassociates", async () => {
  const harness = await RouterHarness.create();
  const policy = await harness.get("POST", "/qos/policies", { policy: { name: "q", project_id: "demo" } }, "admin");
  const port = await createPort(harness, harness.internal);
  const floatingIp = await harness.createFloatingIp({ port_id: port.id, qos_policy_id: policy.id });
  expect(floatingIp.qos_policy_id).toBe(policy.id);
  expect(await harness.updateFloatingIp(floatingIp, { description: "d" })).toMatchObject({
    qos_policy_id: null,
    port_id: port.id,
  });
  expect(await harness.updateFloatingIp(floatingIp, {})).toMatchObject({ port_id: null });
});

test("Compute hears of changed floating IPs of servers, and of no others", async () => {
  const harness = await RouterHarness.create();
  const free = await createPort(harness, harness.internal);
  const port = await createPort(harness, harness.internal, OF_SERVER);
  harness.events.length = 0;
  const floatingIp = await harness.createFloatingIp({ port_id: port.id });
  const changed = { name: "network-changed", serverUuid: SERVER, tag: port.id, status: "completed" };
  expect(harness.events).toEqual([changed]);
  await harness.updateFloatingIp(floatingIp, { port_id: free.id });
  expect(harness.events).toEqual([changed, changed]);
  await harness.updateFloatingIp(floatingIp, { port_id: port.id });
  await harness.get("DELETE", `/floatingips/${floatingIp.id}`);
  expect(harness.events).toEqual([changed, changed, changed, changed]);
});

test("pools are the IPv4 subnets of external networks, for each project its own", async () => {
  const harness = await RouterHarness.create();
  const pool = { subnet_id: harness.ipv4, network_id: harness.external, cidr: "172.24.4.0/24", subnet_name: "" };
  expect(await harness.list("/floatingip-pools")).toEqual([{ ...pool, project_id: "demo", tenant_id: "demo" }]);
  expect(await harness.list("/floatingip-pools?fields=cidr&fields=project_id", "alt")).toEqual([
    { cidr: "172.24.4.0/24", project_id: "alt" },
  ]);
  expect(await harness.list("/floatingip-pools?fields=cidr", "alt")).toEqual([]);
  expect(await harness.rejection("GET", "/floatingip-pools?network_id=x")).toBe(
    "400 HTTPBadRequest: ['network_id'] is invalid attribute for filtering",
  );
});

test("a project sees no floating IPs of others", async () => {
  const harness = await RouterHarness.create();
  const floatingIp = await harness.createFloatingIp();
  expect(await harness.list("/floatingips", "alt")).toEqual([]);
  expect(await harness.rejection("GET", `/floatingips/${floatingIp.id}`, undefined, "alt")).toContain(
    "404 FloatingIPNotFound",
  );
});
