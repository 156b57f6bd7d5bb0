import { expect, test } from "vitest";
import { RouterHarness, UNKNOWN } from "./l3-fixtures.js";
import { createNetwork, createPort } from "./port-fixtures.js";

test("a new router has no gateway, no routes and the default availability zone", async () => {
  const harness = await RouterHarness.create();
  const router = await harness.get("POST", "/routers", { router: { name: "r" } });
  expect(router).toMatchObject({
    name: "r",
    status: "ACTIVE",
    admin_state_up: true,
    external_gateway_info: null,
    external_gateways: [],
    availability_zones: [],
    availability_zone_hints: ["nova"],
    routes: [],
    flavor_id: null,
    conntrack_helpers: [],
    enable_ndp_proxy: false,
    project_id: "demo",
  });
  expect(router).not.toHaveProperty("distributed");
  expect(await harness.get("GET", `/routers/${router.id}`, undefined, "admin")).toMatchObject({
    distributed: false,
    ha: false,
  });
});

test.each([
  [{ availability_zone_hints: ["nope"] }, "404 AvailabilityZoneNotFound: AvailabilityZone nope could not be found."],
  [{ flavor_id: null }, "404 FlavorNotFound: Flavor None could not be found."],
  [
    { enable_ndp_proxy: true },
    /^409 RouterGatewayNotValid: Can not enable ndp proxy on router \S+, The request body not contain external gateway information\.$/,
  ],
  [
    { distributed: true },
    "403 PolicyNotAuthorized: (rule:create_router and rule:create_router:distributed) is disallowed by policy",
  ],
])("a router with %o is rejected", async (attributes, expected) => {
  const harness = await RouterHarness.create();
  expect(await harness.rejection("POST", "/routers", { router: attributes })).toEqual(
    typeof expected === "string" ? expected : expect.stringMatching(expected),
  );
});

test("an interface by a subnet takes the gateway address of the subnet", async () => {
  const harness = await RouterHarness.create();
  const network = await createNetwork(harness, { cidrs: ["10.1.0.0/24"] });
  const [subnet] = await harness.subnetsOf(network);
  const added = await harness.addInterface({ subnet_id: subnet });
  expect(added).toEqual({
    id: harness.router,
    tenant_id: "demo",
    project_id: "demo",
    port_id: expect.any(String),
    network_id: network,
    subnet_id: subnet,
    subnet_ids: [subnet],
  });
  expect(await harness.get("GET", `/ports/${added.port_id}`)).toMatchObject({
    device_id: harness.router,
    device_owner: "network:router_interface",
    status: "ACTIVE",
    fixed_ips: [{ subnet_id: subnet, ip_address: "10.1.0.1" }],
    security_groups: [],
    port_security_enabled: false,
  });
});

test("an interface by a port takes the port over, and its removal deletes the port", async () => {
  const harness = await RouterHarness.create();
  const network = await createNetwork(harness, { cidrs: ["10.1.0.0/24"] });
  const port = await createPort(harness, network, { fixed_ips: [{ ip_address: "10.1.0.9" }] });
  await harness.addInterface({ port_id: port.id });
  expect(await harness.get("GET", `/ports/${port.id}`)).toMatchObject({
    device_id: harness.router,
    device_owner: "network:router_interface",
    status: "ACTIVE",
  });
  expect(await harness.action("remove_router_interface", { port_id: port.id })).toMatchObject({ port_id: port.id });
  expect(await harness.rejection("GET", `/ports/${port.id}`)).toContain("404 PortNotFound");
});

test("IPv6 subnets of one network share an interface", async () => {
  const harness = await RouterHarness.create();
  const network = await createNetwork(harness, { cidrs: [] });
  const first = await harness.createSubnet(network, { cidr: "fd01::/64", ip_version: 6 });
  const second = await harness.createSubnet(network, { cidr: "fd02::/64", ip_version: 6 });
  const { port_id: port } = await harness.addInterface({ subnet_id: first });
  expect(await harness.addInterface({ subnet_id: second })).toMatchObject({ port_id: port, subnet_ids: [second] });
  await harness.action("remove_router_interface", { subnet_id: first });
  expect(await harness.get("GET", `/ports/${port}`)).toMatchObject({
    fixed_ips: [{ subnet_id: second, ip_address: "fd02::" }],
  });
});

test("requests for interfaces that a router cannot have are rejected", async () => {
  const harness = await RouterHarness.create();
  const { router, subnet } = harness;
  const other = await createNetwork(harness, { cidrs: ["10.0.0.0/25"] });
  const [overlapping = ""] = await harness.subnetsOf(other);
  const isolated = await harness.createSubnet(other, { cidr: "10.9.0.0/24", gateway_ip: null });
  const used = await createPort(harness, other, { device_id: "device", fixed_ips: [{ subnet_id: isolated }] });
  const bare = await createPort(harness, other, { fixed_ips: [] });
  const add = (body: unknown) => harness.rejectedAction("add_router_interface", body);
  const bad = "400 BadRequest: Bad router request:";
  expect(await add({})).toBe(`${bad} Either subnet_id or port_id must be specified.`);
  expect(await add({ subnet_id: "x" })).toBe(`${bad} 'x' is not a valid UUID.`);
  expect(await add({ subnet_id: subnet, port_id: UNKNOWN })).toBe(`${bad} Cannot specify both subnet-id and port-id.`);
  expect(await add({ subnet_id: subnet })).toBe(`${bad} Router already has a port on subnet ${subnet}.`);
  expect(await add({ subnet_id: overlapping })).toBe(
    `${bad} Cidr 10.0.0.0/25 of subnet ${overlapping} overlaps with cidr 10.0.0.0/24 of subnet ${subnet}.`,
  );
  expect(await add({ subnet_id: isolated })).toBe(`${bad} Subnet for router interface must have a gateway IP.`);
  expect(await add({ port_id: bare.id })).toBe(`${bad} Router port must have at least one fixed IP.`);
  expect(await add({ port_id: used.id })).toBe(
    `409 PortInUse: Unable to complete operation on port ${used.id} for network ${other}. Port already has an attached device device.`,
  );
  expect(await add({ port_id: UNKNOWN })).toContain("404 PortNotFound");
  expect(await harness.rejectedAction("add_router_interface", { subnet_id: subnet }, UNKNOWN)).toBe(
    `404 RouterNotFound: Router ${UNKNOWN} could not be found`,
  );
  const remove = (body: unknown) => harness.rejectedAction("remove_router_interface", body);
  expect(await remove({ subnet_id: overlapping })).toBe(
    `404 RouterInterfaceNotFoundForSubnet: Router ${router} has no interface on subnet ${overlapping}`,
  );
  expect(await remove({ port_id: bare.id })).toBe(
    `404 RouterInterfaceNotFound: Router ${router} does not have an interface with id ${bare.id}`,
  );
});

test("a subnet that is shared with everybody cannot be connected, one that is shared with the project can", async () => {
  const harness = await RouterHarness.create();
  const connect = async (target: string) => {
    const network = await harness.get("POST", "/networks", { network: { name: target } }, "admin");
    const policy = { object_type: "network", object_id: network.id, action: "access_as_shared", target_tenant: target };
    await harness.get("POST", "/rbac-policies", { rbac_policy: policy }, "admin");
    const cidr = target === "demo" ? "10.2.0.0/24" : "10.3.0.0/24";
    const subnet = { network_id: network.id, ip_version: 4, cidr };
    const { id } = await harness.get("POST", "/subnets", { subnet }, "admin");
    return harness.send("PUT", `/routers/${harness.router}/add_router_interface`, { subnet_id: id });
  };
  expect((await connect("*")).body).toContain("is not owned by project making the request");
  expect((await connect("demo")).status).toBe(200);
});

test("routes are validated, replaced, added and removed", async () => {
  const harness = await RouterHarness.create();
  const route = (destination: string, nexthop = "10.0.0.9") => ({ destination, nexthop });
  const [first, second] = [route("10.88.0.0/16"), route("10.89.0.0/16")];
  expect(await harness.updateRouter({ routes: [first] })).toMatchObject({ routes: [first] });
  const added = await harness.action("add_extraroutes", { router: { routes: [second, first] } });
  expect(added.router).toMatchObject({ routes: [first, second], ha_vr_id: 0, gw_port_id: expect.any(String) });
  const removed = await harness.action("remove_extraroutes", { router: { routes: [first, route("10.99.0.0/16")] } });
  expect(removed.router).toMatchObject({ routes: [second] });
  expect(await harness.rejectedRouter({ routes: [route("10.88.0.0/16", "192.0.2.7")] })).toBe(
    "400 InvalidRoutes: Invalid format for routes: [{'destination': '10.88.0.0/16', 'nexthop': '192.0.2.7'}], the nexthop is not connected with router",
  );
  expect(await harness.rejectedRouter({ routes: [route("10.88.0.0/16", "10.0.0.1")] })).toContain(
    "the nexthop is used by router",
  );
  const many = Array.from({ length: 31 }, (_, index) => route(`10.90.0.${index}/32`));
  expect(await harness.rejectedRouter({ routes: many })).toBe(
    `400 RoutesExhausted: Unable to complete operation for ${harness.router}. The number of routes exceeds the maximum 30.`,
  );
  expect(await harness.rejectedAction("remove_router_interface", { subnet_id: harness.subnet })).toBe(
    `409 RouterInterfaceInUseByRoute: Router interface for subnet ${harness.subnet} on router ${harness.router} cannot be deleted, as it is required by one or more routes.`,
  );
  expect(await harness.updateRouter({ routes: null })).toMatchObject({ routes: [] });
});

test("a router is deleted with its gateway, but not while it has interfaces", async () => {
  const harness = await RouterHarness.create();
  const [port] = await harness.list(`/ports?device_id=${harness.router}&device_owner=network:router_interface`);
  expect(await harness.rejection("DELETE", `/routers/${harness.router}`)).toBe(
    `409 RouterInUse: Router ${harness.router} has ports still attached: ${port?.id}`,
  );
  expect(await harness.rejection("DELETE", `/ports/${port?.id}`)).toBe(
    `409 ServicePortInUse: Port ${port?.id} cannot be deleted directly via the port API: has device owner network:router_interface.`,
  );
  await harness.action("remove_router_interface", { subnet_id: harness.subnet });
  await harness.get("DELETE", `/routers/${harness.router}`);
  expect(await harness.list(`/ports?device_id=${harness.router}`, "admin")).toEqual([]);
});

test("an active router becomes neither distributed nor highly available", async () => {
  const harness = await RouterHarness.create();
  const both = { admin_state_up: false, distributed: true };
  expect(await harness.rejectedRouter(both)).toContain("Cannot change the 'distributed' attribute of active routers.");
  expect(await harness.rejectedRouter({ ha: true })).toContain("Cannot change HA attribute of active routers.");
  await harness.updateRouter({ admin_state_up: false });
  expect(await harness.updateRouter({ distributed: true, ha: true })).toMatchObject({ distributed: true, ha: true });
});

test("the revision of a router grows with its interfaces", async () => {
  const harness = await RouterHarness.create();
  const { revision_number: before } = await harness.showRouter();
  await harness.action("remove_router_interface", { subnet_id: harness.subnet });
  expect(Number((await harness.showRouter()).revision_number)).toBeGreaterThan(Number(before));
});

test("an update without attributes needs no permission for those that only administrators change", async () => {
  const harness = await RouterHarness.create();
  expect((await harness.send("PUT", `/routers/${harness.router}`, { router: {} })).status).toBe(200);
});

test("conntrack helpers of another project's router are hidden, and unknown ones are so for everybody", async () => {
  const harness = await RouterHarness.create();
  const url = `/routers/${harness.router}/conntrack_helpers`;
  const body = { conntrack_helper: { protocol: "udp", port: 69, helper: "tftp" } };
  const { id } = await harness.get("POST", url, body);
  expect(await harness.list(url, "alt")).toEqual([]);
  for (const method of ["GET", "DELETE"]) {
    expect(await harness.rejection(method, `${url}/${id}`, undefined, "alt")).toContain("404 HTTPNotFound");
    expect(await harness.rejection(method, `${url}/x`, undefined, "alt")).toContain("404 ConntrackHelperNotFound");
  }
  expect(await harness.rejection("POST", url, body, "alt")).toContain("403 PolicyNotAuthorized");
  expect(await harness.rejection("POST", "/routers/x/conntrack_helpers", body, "admin")).toContain(
    "404 RouterNotFound",
  );
});

test("conntrack helpers are shown with their router and exist once", async () => {
  const harness = await RouterHarness.create();
  const url = `/routers/${harness.router}/conntrack_helpers`;
  const tftp = { protocol: "udp", port: 69, helper: "tftp" };
  const created = await harness.get("POST", url, { conntrack_helper: tftp });
  expect(created).toEqual({ id: created.id, ...tftp });
  expect(await harness.showRouter()).toMatchObject({ conntrack_helpers: [tftp] });
  const rejected = (changes: object) => harness.rejection("POST", url, { conntrack_helper: { ...tftp, ...changes } });
  expect(await rejected({})).toBe(
    `400 BadRequest: Bad conntrack_helper request: A duplicate conntrack helper entry with same attributes already exists, conflicting values are {'router_id': '${harness.router}', 'protocol': 'udp', 'port': 69, 'helper': 'tftp'}.`,
  );
  expect(await rejected({ helper: "foo" })).toBe("400 ConntrackHelperNotAllowed: Conntrack Helper foo is not allowed.");
  expect(await rejected({ protocol: "tcp" })).toBe(
    "400 InvalidProtocolForHelper: Conntrack Helper tftp does not support: tcp. Supported protocols are: udp",
  );
  await harness.get("PUT", `${url}/${created.id}`, { conntrack_helper: { port: 70 } });
  expect(await harness.list(url)).toEqual([{ ...created, port: 70 }]);
  await harness.get("DELETE", `${url}/${created.id}`);
  expect(await harness.rejection("GET", `${url}/${created.id}`)).toContain("404 ConntrackHelperNotFound");
});
