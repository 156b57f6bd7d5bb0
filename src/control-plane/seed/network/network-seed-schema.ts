import { type Static, type TProperties, Type } from "typebox";

const NAME = { minLength: 1, maxLength: 255 };
const PROJECT = Type.Optional(
  Type.String({ ...NAME, maxLength: 64, description: "Name of the owner, a project. Default admin." }),
);
const DESCRIPTION = Type.Optional(Type.String({ maxLength: 255, description: "Description." }));
const IPV6_MODES = ["slaac", "dhcpv6-stateful", "dhcpv6-stateless"];

function closed<P extends TProperties>(properties: P, description: string) {
  return Type.Object(properties, { additionalProperties: false, description });
}
function text(description: string) {
  return Type.Optional(Type.String({ ...NAME, description }));
}
function flag(description: string) {
  return Type.Optional(Type.Boolean({ description }));
}
function integer(minimum: number, maximum: number, description: string) {
  return Type.Optional(Type.Integer({ minimum, maximum, description }));
}
function list<P extends TProperties>(properties: P, description: string) {
  return Type.Optional(Type.Array(closed(properties, description), { maxItems: 1000, description }));
}

const ROUTES = list(
  { destination: Type.String({ description: "10.9.0.0/16" }), nexthop: Type.String({ description: "10.0.0.9" }) },
  "Static routes.",
);

const SUBNET = closed(
  {
    name: Type.String({ ...NAME, description: "Subnet name, by which routers select it." }),
    cidr: text("Range of addresses: 10.0.0.0/24. Required without subnet_pool."),
    ip_version: Type.Optional(Type.Enum([4, 6], { description: "Default: that of cidr, otherwise 4." })),
    subnet_pool: text("Name of the subnet pool from which a range is allocated."),
    prefix_length: integer(0, 128, "Size of the range from the pool. Default: that of the pool."),
    gateway_ip: Type.Optional(
      Type.Unsafe<string | null>({
        type: ["string", "null"],
        description: "Gateway; null for none. Default: the first address.",
      }),
    ),
    allocation_pools: list(
      { start: Type.String({ description: "First address." }), end: Type.String({ description: "Last address." }) },
      "Addresses for ports. Default: all but the gateway.",
    ),
    dns_nameservers: Type.Optional(Type.Array(Type.String(), { maxItems: 20, description: "DNS servers." })),
    host_routes: ROUTES,
    enable_dhcp: flag("Whether DHCP is enabled. Default true."),
    ipv6_ra_mode: Type.Optional(Type.Enum(IPV6_MODES, { description: "Mode of router advertisements." })),
    ipv6_address_mode: Type.Optional(Type.Enum(IPV6_MODES, { description: "Mode of address assignment." })),
    description: DESCRIPTION,
  },
  "Subnet.",
);

const NETWORK = closed(
  {
    name: Type.String({ ...NAME, description: "Network name, unique in its project." }),
    project: PROJECT,
    description: DESCRIPTION,
    shared: flag("Whether all projects may use it. Default false."),
    external: flag("Whether routers and floating IPs may use it as an external network. Default false."),
    is_default: flag("Whether it is the default external network. Default false."),
    admin_state_up: flag("Administrative state. Default true."),
    port_security_enabled: flag("Default of its ports. Default true."),
    mtu: integer(68, 65_535, "Maximum transmission unit. Default: that of its type."),
    dns_domain: text("DNS domain of its ports: example.org."),
    network_type: Type.Optional(
      Type.Enum(["flat", "vlan", "vxlan", "gre", "geneve", "local"], { description: "Provider network type." }),
    ),
    physical_network: text("Physical network of a flat network or VLAN."),
    segmentation_id: integer(0, 2 ** 31 - 1, "VLAN or tunnel id."),
    subnets: Type.Optional(
      Type.Array(SUBNET, { maxItems: 1000, description: "All subnets of the network. Default: the existing ones." }),
    ),
  },
  "Network.",
);

const ROUTER = closed(
  {
    name: Type.String({ ...NAME, description: "Router name, unique in its project." }),
    project: PROJECT,
    description: DESCRIPTION,
    external_network: text("Name of the external network of its gateway. Default: no gateway."),
    subnets: Type.Optional(
      Type.Array(Type.String(NAME), {
        maxItems: 1000,
        description:
          "Names of all subnets with an interface: subnet, or network/subnet. Default: the existing interfaces.",
      }),
    ),
    routes: ROUTES,
  },
  "Router.",
);

const RULE = {
  direction: Type.Optional(Type.Enum(["ingress", "egress"], { description: "Default ingress." })),
  ethertype: Type.Optional(Type.Enum(["IPv4", "IPv6"], { description: "Default IPv4." })),
  protocol: text("Protocol: tcp, udp, icmp or a number. Default: any."),
  port_range_min: integer(0, 65_535, "First port, or the ICMP type. Default: any."),
  port_range_max: integer(0, 65_535, "Last port, or the ICMP code. Default: any."),
  remote_ip_prefix: text("Remote addresses: 10.0.0.0/8. Default: any."),
  remote_group: text("Name of a security group of the same project, instead of remote_ip_prefix."),
  description: DESCRIPTION,
};

const SECURITY_GROUP = closed(
  {
    name: Type.String({ ...NAME, description: "Group name, unique in its project; default is every project's own." }),
    project: PROJECT,
    description: DESCRIPTION,
    stateful: flag("Whether connections are tracked. Default true."),
    rules: list(RULE, "All rules in addition to those of every new group. Default: the existing rules."),
  },
  "Security group.",
);

const FLOATING_IP = closed(
  {
    address: Type.String({ ...NAME, description: "Address in a subnet of the external network." }),
    network: Type.String({ ...NAME, description: "Name of the external network." }),
    project: PROJECT,
    description: DESCRIPTION,
  },
  "Floating IP that a project can associate.",
);

/** The keys of a file about networks. Each lists all objects of its kind that belong to the file. */
export const NETWORK_SEED_KEYS = {
  networks: Type.Optional(
    Type.Array(NETWORK, {
      maxItems: 1000,
      description: "All networks of this file, in addition to those of the start and of clients.",
    }),
  ),
  routers: Type.Optional(Type.Array(ROUTER, { maxItems: 1000, description: "All routers of this file." })),
  security_groups: Type.Optional(
    Type.Array(SECURITY_GROUP, { maxItems: 1000, description: "All security groups of this file." }),
  ),
  floating_ips: Type.Optional(
    Type.Array(FLOATING_IP, { maxItems: 1000, description: "All floating IPs of this file." }),
  ),
};

export type SubnetText = Static<typeof SUBNET>;
export type NetworkText = Static<typeof NETWORK>;
export type RouterText = Static<typeof ROUTER>;
export type SecurityGroupText = Static<typeof SECURITY_GROUP>;
export type RuleText = NonNullable<SecurityGroupText["rules"]>[number];
export type FloatingIpText = Static<typeof FLOATING_IP>;

/** The desired networks and what belongs to them; absent keys change nothing. */
export interface NetworkSeed {
  readonly networks?: readonly NetworkText[] | undefined;
  readonly routers?: readonly RouterText[] | undefined;
  readonly securityGroups?: readonly SecurityGroupText[] | undefined;
  readonly floatingIps?: readonly FloatingIpText[] | undefined;
}
