import { type Body, NetworkHarness } from "./network-harness.js";
import { createNetwork } from "./port-fixtures.js";

export const UNKNOWN = "11111111-1111-4111-8111-111111111111";

/** An external network, and a router of project `demo` between it and a network with ports. */
export class RouterHarness extends NetworkHarness {
  /** The external network with its IPv4 and IPv6 subnet. */
  external = "";
  ipv4 = "";
  ipv6 = "";
  /** The internal network 10.0.0.0/24 and its subnet. */
  internal = "";
  subnet = "";
  router = "";

  static async create(): Promise<RouterHarness> {
    const harness = new RouterHarness();
    harness.external = await harness.createExternal("public", "172.24.4.0/24", "2001:db8::/64");
    const [ipv4, ipv6] = await harness.subnetsOf(harness.external);
    harness.ipv4 = ipv4 ?? "";
    harness.ipv6 = ipv6 ?? "";
    harness.internal = await createNetwork(harness);
    harness.subnet = (await harness.subnetsOf(harness.internal))[0] ?? "";
    harness.router = await harness.createRouter({ external_gateway_info: { network_id: harness.external } });
    await harness.addInterface({ subnet_id: harness.subnet });
    return harness;
  }

  /** Creates an external network of the administrator; returns its id. */
  async createExternal(name: string, ...cidrs: readonly string[]): Promise<string> {
    const network = await this.get("POST", "/networks", { network: { name, "router:external": true } }, "admin");
    for (const cidr of cidrs) {
      const subnet = { network_id: network.id, cidr, ip_version: cidr.includes(":") ? 6 : 4, enable_dhcp: false };
      await this.get("POST", "/subnets", { subnet }, "admin");
    }
    return String(network.id);
  }

  async createSubnet(networkId: string, attributes: Body): Promise<string> {
    const subnet = await this.get("POST", "/subnets", {
      subnet: { network_id: networkId, ip_version: 4, ...attributes },
    });
    return String(subnet.id);
  }

  async subnetsOf(networkId: string): Promise<readonly string[]> {
    return (await this.list(`/subnets?network_id=${networkId}`, "admin")).map(({ id }) => String(id));
  }

  async createRouter(attributes: Body = {}): Promise<string> {
    return String((await this.get("POST", "/routers", { router: attributes })).id);
  }

  addInterface(body: Body, router = this.router): Promise<Body> {
    return this.action("add_router_interface", body, router);
  }

  /** Runs an action of a router; returns its response. */
  async action(name: string, body: Body, router = this.router): Promise<Body> {
    const reply = await this.send("PUT", `/routers/${router}/${name}`, body, "admin");
    if (reply.status !== 200) {
      throw new Error(`${name}: ${reply.status} ${reply.body}`);
    }
    return reply.json() as Body;
  }

  rejectedAction(name: string, body: unknown, router = this.router): Promise<string> {
    return this.rejection("PUT", `/routers/${router}/${name}`, body);
  }

  updateRouter(changes: Body, router = this.router): Promise<Body> {
    return this.get("PUT", `/routers/${router}`, { router: changes }, "admin");
  }

  rejectedRouter(changes: Body, router = this.router): Promise<string> {
    return this.rejection("PUT", `/routers/${router}`, { router: changes }, "admin");
  }

  showRouter(router = this.router): Promise<Body> {
    return this.get("GET", `/routers/${router}`, undefined, "admin");
  }

  createFloatingIp(attributes: Body = {}): Promise<Body> {
    return this.get("POST", "/floatingips", { floatingip: { floating_network_id: this.external, ...attributes } });
  }

  rejectedFloatingIp(attributes: Body): Promise<string> {
    return this.rejection("POST", "/floatingips", {
      floatingip: { floating_network_id: this.external, ...attributes },
    });
  }

  updateFloatingIp({ id }: Body, changes: Body): Promise<Body> {
    return this.get("PUT", `/floatingips/${id}`, { floatingip: changes });
  }
}
