import { expect, test } from "vitest";
import { RouterHarness, UNKNOWN } from "./l3-fixtures.js";
import type { Body } from "./network-harness.js";
import { createPort } from "./port-fixtures.js";

interface Gateway {
  readonly network_id: string;
  readonly external_fixed_ips: readonly { readonly subnet_id: string; readonly ip_address: string }[];
  readonly enable_snat?: boolean;
}

const gatewayOf = (router: Body): Gateway => router.external_gateway_info as Gateway;

const gatewaysOf = (router: Body): readonly Gateway[] => router.external_gateways as readonly Gateway[];

test("a gateway has one address of each IP version, and a port that belongs to no project", async () => {
  const harness = await RouterHarness.create();
  const router = await harness.showRouter();
  const gateway = gatewayOf(router);
  expect(gateway).toMatchObject({ network_id: harness.external, enable_snat: true });
  expect(new Set(gateway.external_fixed_ips.map(({ subnet_id: id }) => id))).toEqual(
    new Set([harness.ipv4, harness.ipv6]),
  );
  expect(router).toMatchObject({ availability_zones: ["nova"], enable_snat: true });
  const [port] = await harness.list(`/ports?device_owner=network:router_gateway`, "admin");
  expect(port).toMatchObject({
    project_id: "",
    device_id: harness.router,
    status: "ACTIVE",
    fixed_ips: gateway.external_fixed_ips,
  });
  expect(await harness.list(`/ports?device_owner=network:router_gateway`)).toEqual([]);
});

test("the administrator chooses the addresses of a gateway and whether it translates them", async () => {
  const harness = await RouterHarness.create();
  const choose = (address: string) =>
    harness.updateRouter({
      external_gateway_info: {
        network_id: harness.external,
        external_fixed_ips: [{ ip_address: address }],
        enable_snat: false,
      },
    });
  const updated = await choose("172.24.4.200");
  expect(gatewayOf(updated)).toEqual({
    network_id: harness.external,
    external_fixed_ips: [{ subnet_id: harness.ipv4, ip_address: "172.24.4.200" }],
    enable_snat: false,
  });
  expect(updated.enable_snat).toBe(false);
  const unchanged = await harness.updateRouter({ external_gateway_info: { network_id: harness.external } });
  expect(gatewayOf(unchanged)).toMatchObject({
    external_fixed_ips: [{ ip_address: "172.24.4.200" }],
    enable_snat: true,
  });
});

test("illegal gateways are rejected in Neutron's words", async () => {
  const harness = await RouterHarness.create();
  const { external, internal } = harness;
  const set = (info: object) => harness.rejectedRouter({ external_gateway_info: info });
  expect(await set({ network_id: internal })).toBe(
    `400 BadRequest: Bad router request: Network ${internal} is not an external network.`,
  );
  expect(await set({ network_id: UNKNOWN })).toBe(`404 NetworkNotFound: Network ${UNKNOWN} could not be found.`);
  const withAddress = (address: string) => ({ network_id: external, external_fixed_ips: [{ ip_address: address }] });
  expect(await set(withAddress("172.24.4.1"))).toBe(
    "400 BadRequest: Bad router request: External IP 172.24.4.1 is the same as the gateway IP.",
  );
  expect(await set(withAddress("10.1.1.1"))).toContain("400 InvalidIpForNetwork");
  expect(
    await harness.rejection("PUT", `/routers/${harness.router}`, {
      router: { external_gateway_info: withAddress("172.24.4.7") },
    }),
  ).toBe(
    "403 PolicyNotAuthorized: (rule:update_router and (rule:update_router:external_gateway_info and (rule:update_router:external_gateway_info:network_id and rule:update_router:external_gateway_info:external_fixed_ips))) is disallowed by policy",
  );
  const overlapping = await harness.createExternal("overlapping", "10.0.0.0/25");
  expect(await set({ network_id: overlapping })).toContain("400 BadRequest: Bad router request: Cidr 10.0.0.0/25");
});

test("a gateway moves to another network, and is removed with an empty one", async () => {
  const harness = await RouterHarness.create();
  const other = await harness.createExternal("other", "172.25.0.0/24");
  const moved = await harness.updateRouter({ external_gateway_info: { network_id: other } });
  expect(gatewayOf(moved)).toMatchObject({ network_id: other, external_fixed_ips: [expect.anything()] });
  expect(await harness.list(`/ports?network_id=${harness.external}`, "admin")).toEqual([]);
  expect(await harness.updateRouter({ external_gateway_info: {} })).toMatchObject({ external_gateway_info: null });
  expect(await harness.list(`/ports?network_id=${other}`, "admin")).toEqual([]);
});

test("a gateway that floating IPs use is not removed", async () => {
  const harness = await RouterHarness.create();
  const port = await createPort(harness, harness.internal);
  await harness.createFloatingIp({ port_id: port.id });
  expect(await harness.rejectedRouter({ external_gateway_info: null })).toBe(
    `409 RouterExternalGatewayInUseByFloatingIp: Gateway cannot be updated for router ${harness.router}, since a gateway to external network ${harness.external} is required by one or more floating IPs.`,
  );
});

test("a route through the gateway keeps the gateway", async () => {
  const harness = await RouterHarness.create();
  await harness.updateRouter({ routes: [{ destination: "10.88.0.0/16", nexthop: "172.24.4.254" }] });
  expect(await harness.rejectedRouter({ external_gateway_info: {} })).toContain(
    "400 InvalidRoutes: Invalid format for routes: [{'destination': '10.88.0.0/16', 'nexthop': '172.24.4.254'}], the nexthop is not connected with router",
  );
});

test("a router with nothing but a gateway is deleted, or loses the gateway, despite its routes", async () => {
  const harness = await RouterHarness.create();
  const router = {
    name: "r",
    external_gateway_info: { network_id: harness.external },
  };
  const { id } = await harness.get("POST", "/routers", { router });
  const routes = [{ destination: "10.88.0.0/16", nexthop: "172.24.4.254" }];
  await harness.get("PUT", `/routers/${id}`, { router: { routes } });
  expect(await harness.get("PUT", `/routers/${id}`, { router: { external_gateway_info: {} } })).toMatchObject({
    external_gateway_info: null,
    routes,
  });
  expect((await harness.send("DELETE", `/routers/${id}`)).status).toBe(204);
});

test("a QoS policy of a gateway is shown with it", async () => {
  const harness = await RouterHarness.create();
  const policy = await harness.get("POST", "/qos/policies", { policy: { name: "q", project_id: "demo" } }, "admin");
  const info = { network_id: harness.external };
  const updated = await harness.updateRouter({ external_gateway_info: { ...info, qos_policy_id: policy.id } });
  expect(gatewayOf(updated)).toMatchObject({ qos_policy_id: policy.id });
  expect(gatewayOf(await harness.updateRouter({ external_gateway_info: info }))).toMatchObject({
    qos_policy_id: policy.id,
  });
  const cleared = await harness.updateRouter({ external_gateway_info: { ...info, qos_policy_id: null } });
  expect(gatewayOf(cleared)).not.toHaveProperty("qos_policy_id");
  expect(await harness.rejectedRouter({ external_gateway_info: { ...info, qos_policy_id: UNKNOWN } })).toContain(
    "404 QosPolicyNotFound",
  );
});

test("further gateways are added, updated and removed", async () => {
  const harness = await RouterHarness.create();
  const { external } = harness;
  const other = await harness.createExternal("other", "172.25.0.0/24");
  const act = async (action: string, gateways: readonly object[]) =>
    (await harness.action(action, { router: { external_gateways: gateways } })).router as Body;
  const added = await act("add_external_gateways", [{ network_id: external }, { network_id: other }]);
  expect(gatewaysOf(added).map(({ network_id: id }) => id)).toEqual([external, external, other]);
  const [first, second] = gatewaysOf(added);
  expect(gatewayOf(added).external_fixed_ips).toEqual(first?.external_fixed_ips);
  const removed = await act("remove_external_gateways", [
    { network_id: external, external_fixed_ips: first?.external_fixed_ips },
  ]);
  expect(gatewaysOf(removed).map(({ network_id: id }) => id)).toEqual([external, other]);
  expect(gatewayOf(removed).external_fixed_ips).toEqual(second?.external_fixed_ips);
  const updated = await act("update_external_gateways", [{ network_id: other }]);
  expect(gatewaysOf(updated).map(({ network_id: id }) => id)).toEqual([other]);
  expect(gatewayOf(updated).network_id).toBe(other);
  expect(await act("update_external_gateways", [])).toMatchObject({
    external_gateways: [],
    external_gateway_info: null,
  });
});

test("a member adds gateways without choosing their addresses", async () => {
  const harness = await RouterHarness.create();
  const add = (gateway: object) =>
    harness.rejectedAction("add_external_gateways", { router: { external_gateways: [gateway] } });
  expect(await add({ network_id: harness.external, enable_snat: true })).toBe(
    "403 PolicyNotAuthorized: rule:add_external_gateways:external_gateways:enable_snat is disallowed by policy",
  );
  expect(await add({ network: "x" })).toContain("400 HTTPBadRequest: Invalid input for external_gateways.");
  const body = { router: { external_gateways: [{ network_id: harness.external }] } };
  expect((await harness.send("PUT", `/routers/${harness.router}/add_external_gateways`, body)).status).toBe(200);
});
