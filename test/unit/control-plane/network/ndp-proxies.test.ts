import { expect, test } from "vitest";
import { RouterHarness, UNKNOWN } from "./l3-fixtures.js";
import type { Body } from "./network-harness.js";
import { createNetwork, createPort } from "./port-fixtures.js";

const SLAAC = { ip_version: 6, ipv6_ra_mode: "slaac", ipv6_address_mode: "slaac" };

/** A router with NDP proxies between an external and an internal network of one IPv6 address scope. */
class ProxyHarness {
  readonly network: RouterHarness;
  readonly external: string;
  readonly internal: string;
  readonly subnet: string;
  readonly router: string;

  constructor(fields: Pick<ProxyHarness, "network" | "external" | "internal" | "subnet" | "router">) {
    this.network = fields.network;
    this.external = fields.external;
    this.internal = fields.internal;
    this.subnet = fields.subnet;
    this.router = fields.router;
  }

  static async create(): Promise<ProxyHarness> {
    const network = await RouterHarness.create();
    const scope = await network.get(
      "POST",
      "/address-scopes",
      { address_scope: { name: "s", ip_version: 6, shared: true } },
      "admin",
    );
    const prefixes = { prefixes: ["2001:db9::/48"], default_prefixlen: 64, address_scope_id: scope.id, shared: true };
    const pool = await network.get("POST", "/subnetpools", { subnetpool: { name: "s", ...prefixes } }, "admin");
    const external = await network.createExternal("scoped", "172.30.0.0/24");
    const outer = { network_id: external, subnetpool_id: pool.id, ...SLAAC };
    await network.get("POST", "/subnets", { subnet: outer }, "admin");
    const internal = await createNetwork(network, { cidrs: [] });
    const subnet = await network.createSubnet(internal, { subnetpool_id: pool.id, ...SLAAC });
    const router = await network.createRouter({
      external_gateway_info: { network_id: external },
      enable_ndp_proxy: true,
    });
    await network.addInterface({ subnet_id: subnet }, router);
    return new ProxyHarness({ network, external, internal, subnet, router });
  }

  add(port: Body, attributes: Body = {}): Promise<Body> {
    return this.network.get("POST", "/ndp-proxies", {
      ndp_proxy: { router_id: this.router, port_id: port.id, ...attributes },
    });
  }

  reject(attributes: Body): Promise<string> {
    return this.network.rejection("POST", "/ndp-proxies", { ndp_proxy: { router_id: this.router, ...attributes } });
  }
}

test("a proxy has the IPv6 address of its port, which it keeps when it is renamed", async () => {
  const harness = await ProxyHarness.create();
  const { network, internal, router } = harness;
  const port = await createPort(network, internal);
  const [{ ip_address: address } = { ip_address: "" }] = port.fixed_ips as readonly { ip_address: string }[];
  const proxy = await harness.add(port);
  expect(proxy).toMatchObject({ name: "", router_id: router, port_id: port.id, ip_address: address, description: "" });
  const renamed = { name: "q", description: "d" };
  expect(await network.get("PUT", `/ndp-proxies/${proxy.id}`, { ndp_proxy: renamed })).toMatchObject({
    ...renamed,
    ip_address: address,
  });
  expect(await network.list("/ndp-proxies?name=q")).toHaveLength(1);
  expect(await harness.reject({ port_id: port.id })).toContain("409 NeutronDbObjectDuplicateEntry");
  await network.get("DELETE", `/ports/${port.id}`);
  expect(await network.list("/ndp-proxies")).toEqual([]);
  expect(await network.rejection("GET", `/ndp-proxies/${proxy.id}`)).toBe(
    `404 NDPProxyNotFound: Ndp proxy ${proxy.id} could not be found.`,
  );
});

test("proxies that the router cannot serve are rejected", async () => {
  const harness = await ProxyHarness.create();
  const { network, internal, router } = harness;
  const port = await createPort(network, internal);
  const elsewhere = await createPort(network, network.internal);
  expect(await harness.reject({ port_id: port.id, ip_address: "fe80::1" })).toBe(
    `400 InvalidAddress: The address fe80::1 is invalid, reason: This address not belong to the port ${port.id}.`,
  );
  expect(await harness.reject({ port_id: elsewhere.id })).toBe(
    `409 PortUnreachableRouter: The port ${elsewhere.id} cannot reach the router ${router} by IPv6 subnet.`,
  );
  expect(await harness.reject({ port_id: elsewhere.id, router_id: network.router })).toBe(
    `409 RouterNDPProxyNotEnable: The enable_ndp_proxy parameter of router ${network.router} must be set as True while create ndp proxy entry on it.`,
  );
  expect(await harness.reject({ port_id: UNKNOWN })).toContain("404 PortNotFound");
});

test("proxies keep the gateway and the interface of their router", async () => {
  const harness = await ProxyHarness.create();
  const { network, internal, router, subnet } = harness;
  const { id } = await harness.add(await createPort(network, internal));
  expect(await network.rejectedRouter({ external_gateway_info: {} }, router)).toBe(
    `409 RouterGatewayInUseByNDPProxy: Unable to unset external gateway of router ${router}, There are one or more ndp proxies still in use on the router.`,
  );
  expect(await network.rejectedAction("remove_router_interface", { subnet_id: subnet }, router)).toBe(
    `409 RouterInterfaceInUseByNDPProxy: Unable to remove subnet ${subnet} from router ${router}, There are one or more ndp proxies still in use on the subnet.`,
  );
  await network.get("DELETE", `/ndp-proxies/${id}`);
  expect(await network.updateRouter({ external_gateway_info: {} }, router)).toMatchObject({ enable_ndp_proxy: false });
});

test("a router proxies NDP only to a network with an IPv6 address scope", async () => {
  const harness = await ProxyHarness.create();
  const { network, external, router } = harness;
  expect(await network.showRouter(router)).toMatchObject({ enable_ndp_proxy: true });
  expect(await network.updateRouter({ enable_ndp_proxy: false }, router)).toMatchObject({ enable_ndp_proxy: false });
  expect(await network.rejectedRouter({ enable_ndp_proxy: true })).toContain(
    "The router has no external gateway or the external gateway port has no IPv6 address or IPv6 address scope.",
  );
  const moved = await network.updateRouter({ external_gateway_info: { network_id: external } });
  expect(moved).toMatchObject({ enable_ndp_proxy: true });
});
