import { expect, test } from "vitest";
import { RouterHarness, UNKNOWN } from "./l3-fixtures.js";
import type { Body } from "./network-harness.js";
import { createPort, updatePort } from "./port-fixtures.js";

class ForwardingHarness {
  readonly network: RouterHarness;
  readonly floatingIp: Body;
  readonly port: Body;

  constructor(network: RouterHarness, floatingIp: Body, port: Body) {
    this.network = network;
    this.floatingIp = floatingIp;
    this.port = port;
  }

  static async create(): Promise<ForwardingHarness> {
    const network = await RouterHarness.create();
    const port = await createPort(network, network.internal, { fixed_ips: [{ ip_address: "10.0.0.9" }] });
    return new ForwardingHarness(network, await network.createFloatingIp(), port);
  }

  get url(): string {
    return `/floatingips/${this.floatingIp.id}/port_forwardings`;
  }

  body(attributes: Body): Body {
    const internal = { internal_port_id: this.port.id, internal_ip_address: "10.0.0.9" };
    return { port_forwarding: { protocol: "tcp", ...internal, ...attributes } };
  }

  add(attributes: Body): Promise<Body> {
    return this.network.get("POST", this.url, this.body(attributes));
  }

  reject(attributes: Body): Promise<string> {
    return this.network.rejection("POST", this.url, this.body(attributes));
  }

  change({ id }: Body, changes: Body): Promise<Body> {
    return this.network.get("PUT", `${this.url}/${id}`, { port_forwarding: changes });
  }

  showFloatingIp(): Promise<Body> {
    return this.network.get("GET", `/floatingips/${this.floatingIp.id}`);
  }
}

test("a forwarding of a single port is shown as a port and as a range", async () => {
  const harness = await ForwardingHarness.create();
  const forwarding = await harness.add({ external_port: 2222, internal_port: 22 });
  const expected = {
    id: forwarding.id,
    protocol: "tcp",
    external_port: 2222,
    external_port_range: "2222:2222",
    internal_port: 22,
    internal_port_range: "22:22",
    internal_port_id: harness.port.id,
    internal_ip_address: "10.0.0.9",
    description: "",
  };
  expect(forwarding).toEqual(expected);
  expect(await harness.change(forwarding, { external_port: 2223, description: "d" })).toEqual({
    ...expected,
    external_port: 2223,
    external_port_range: "2223:2223",
    description: "d",
  });
  const { network, url } = harness;
  expect(await network.list(`${url}?external_port=2223`)).toMatchObject([{ id: forwarding.id }]);
  expect(await network.list(`${url}?external_port=2222`)).toEqual([]);
});

test("the floating IP of forwardings has their router until the last one is gone", async () => {
  const harness = await ForwardingHarness.create();
  const { network, url } = harness;
  const forwarding = await harness.add({ external_port: 2222, internal_port: 22 });
  expect(await harness.showFloatingIp()).toMatchObject({
    router_id: network.router,
    port_id: null,
    status: "ACTIVE",
    port_forwardings: [
      {
        id: forwarding.id,
        protocol: "tcp",
        internal_ip_address: "10.0.0.9",
        internal_port_id: harness.port.id,
        internal_port: 22,
        external_port: 2222,
      },
    ],
  });
  await network.get("DELETE", `${url}/${forwarding.id}`);
  expect(await harness.showFloatingIp()).toMatchObject({ router_id: null, port_forwardings: [], status: "DOWN" });
});

test("ranges are equally long, or lead to one port", async () => {
  const harness = await ForwardingHarness.create();
  const range = await harness.add({ external_port_range: "100:103", internal_port_range: "200:203" });
  expect(range).toMatchObject({ external_port_range: "100:103", internal_port_range: "200:203" });
  expect(range).not.toHaveProperty("external_port");
  expect(await harness.add({ external_port_range: "110:113", internal_port_range: "210" })).toMatchObject({
    internal_port: 210,
    internal_port_range: "210:210",
  });
  expect(await harness.reject({ external_port_range: "120:123", internal_port_range: "220:224" })).toBe(
    "400 BadRequest: Bad port_forwarding request: Invalid ranges of internal and/or external ports. The relation between internal and external ports must be N-N or 1-N.",
  );
});

test.each<[Body, string]>([
  [
    { external_port: 102, internal_port: 300 },
    "400 BadRequest: Bad port_forwarding request: There is a port collision with the external_port_range. The following ranges collides: 100:103 and 102:102.",
  ],
  [
    { external_port: 300, internal_port: 201 },
    "400 BadRequest: Bad port_forwarding request: There is a port collision with the internal_port_range. The following ranges collides: 200:203 and 201:201.",
  ],
  [{ external_port: 70000, internal_port: 1 }, "400 HTTPBadRequest: Invalid input for external_port."],
  [
    { external_port: 300 },
    "400 BadRequest: Bad port_forwarding request: An external and an internal port, or ranges of them, must be specified.",
  ],
  [{ external_port: 300, internal_port: 300, protocol: "foo" }, "400 InvalidInput"],
  [{ external_port: 300, internal_port: 300, internal_port_id: UNKNOWN }, "404 PortNotFound"],
  [
    { external_port: 300, internal_port: 300, internal_ip_address: "10.0.0.99" },
    "400 BadRequest: Bad port_forwarding request: Requested internal IP address 10.0.0.99 is not suitable for internal neutron port",
  ],
])("a forwarding with %o is rejected", async (attributes, message) => {
  const harness = await ForwardingHarness.create();
  await harness.add({ external_port_range: "100:103", internal_port_range: "200:203" });
  expect(await harness.reject(attributes)).toContain(message);
});

test("the same ports may be forwarded for another protocol", async () => {
  const harness = await ForwardingHarness.create();
  await harness.add({ external_port: 53, internal_port: 53 });
  expect(await harness.add({ external_port: 53, internal_port: 53, protocol: "udp" })).toMatchObject({
    protocol: "udp",
  });
});

test("a floating IP has either a port or forwardings", async () => {
  const harness = await ForwardingHarness.create();
  const { network, floatingIp, port } = harness;
  const other = await createPort(network, network.internal, { fixed_ips: [{ ip_address: "10.0.0.10" }] });
  const associated = await network.createFloatingIp({ port_id: other.id });
  const ports = { external_port: 80, internal_port: 80 };
  const toOther = { ...ports, internal_port_id: other.id, internal_ip_address: "10.0.0.10" };
  expect(await harness.reject(toOther)).toContain("409 PortHasBindingFloatingIP");
  expect(
    await network.rejection("POST", `/floatingips/${associated.id}/port_forwardings`, harness.body(ports)),
  ).toContain("409 FloatingIPPortAlreadyAssociated");
  await harness.add(ports);
  const inUse = `409 FipInUseByPortForwarding: Floating IP ${floatingIp.id} in use by Port Forwarding resources.`;
  const url = `/floatingips/${floatingIp.id}`;
  expect(await network.rejection("PUT", url, { floatingip: { port_id: port.id } })).toBe(inUse);
  expect(await network.rejection("DELETE", url)).toBe(inUse);
  expect(await network.updateFloatingIp(floatingIp, { port_id: null })).toMatchObject({ router_id: network.router });
});

test("forwardings keep the interface and the gateway of their router", async () => {
  const harness = await ForwardingHarness.create();
  await harness.add({ external_port: 80, internal_port: 80 });
  const { network } = harness;
  expect(await network.rejectedAction("remove_router_interface", { subnet_id: network.subnet })).toContain(
    "409 RouterInterfaceInUseByFloatingIP",
  );
  expect(await network.rejectedRouter({ external_gateway_info: {} })).toContain(
    "409 RouterExternalGatewayInUseByFloatingIp",
  );
});

test.each<[string, (harness: ForwardingHarness) => Promise<unknown>]>([
  ["is deleted", ({ network, port }) => network.get("DELETE", `/ports/${port.id}`)],
  [
    "loses the address",
    ({ network, port }) => updatePort(network, port.id, { fixed_ips: [{ ip_address: "10.0.0.8" }] }),
  ],
])("a forwarding goes when its port %s", async (_, change) => {
  const harness = await ForwardingHarness.create();
  await harness.add({ external_port: 80, internal_port: 80 });
  await change(harness);
  expect(await harness.network.list(harness.url)).toEqual([]);
  expect(await harness.showFloatingIp()).toMatchObject({ router_id: null });
});

test("only the owner of the floating IP sees and adds forwardings", async () => {
  const harness = await ForwardingHarness.create();
  const { network, url } = harness;
  const { id } = await harness.add({ external_port: 80, internal_port: 80 });
  expect(await network.rejection("GET", `${url}/${id}`, undefined, "alt")).toContain("404 FloatingIPNotFound");
  expect(await network.rejection("POST", url, harness.body({ external_port: 81, internal_port: 81 }), "alt")).toBe(
    "403 PolicyNotAuthorized: rule:create_floatingip_port_forwarding is disallowed by policy",
  );
  expect(await network.rejection("GET", `${url}/${UNKNOWN}`)).toBe(
    `404 PortForwardingNotFound: Port Forwarding ${UNKNOWN} could not be found.`,
  );
  expect(await network.list(url, "admin")).toHaveLength(1);
});
