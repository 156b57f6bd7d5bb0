import {
  checkedText,
  ID,
  integerOrNull,
  json,
  OWNER,
  oneOf,
  STANDARD,
  string,
  TAGS,
  text,
  uuid,
  uuidOrNull,
} from "../engine/attribute-types.js";
import { defineResource, type NetworkInput, type NetworkRecord, type NetworkType } from "../engine/network-resource.js";

/** The protocols of port forwardings and conntrack helpers. */
export const IP_PROTOCOLS = ["dccp", "icmp", "ipv6-icmp", "sctp", "tcp", "udp"] as const;

/** The port that a floating IP is associated with. */
export type PortDetails = {
  readonly name: string;
  readonly network_id: string;
  readonly mac_address: string;
  readonly admin_state_up: boolean;
  readonly status: string;
  readonly device_id: string;
  readonly device_owner: string;
};

/** A port forwarding, as its floating IP shows it. Ranges have no single port. */
export type ForwardingSummary = {
  readonly id: string;
  readonly protocol: string;
  readonly internal_port_id: string;
  readonly internal_ip_address: string;
  readonly internal_port?: number;
  readonly external_port?: number;
};

const ipAddressOrNull = checkedText<string | null>({ validator: "type:ip_address_or_none" });

function dnsName(validator: string): NetworkType<string> {
  return checkedText<string>({ validator, parameter: 255, converter: "convert_string_to_case_insensitive" });
}

/** Addresses of external networks that lead to ports of internal ones. A port of the service has the address. */
export const FLOATINGIPS = defineResource({
  collection: "floatingips",
  singular: "floatingip",
  path: "/v2.0/floatingips",
  extension: "router",
  table: "network_floatingips",
  references: {
    floating_network_id: { table: "network_networks" },
    floating_port_id: { table: "network_ports" },
    port_id: { table: "network_ports", onDelete: "set null" },
    router_id: { table: "network_routers" },
  },
  indexes: [
    ["project_id"],
    ["floating_ip_address"],
    ["floating_network_id"],
    ["floating_port_id"],
    ["port_id"],
    ["router_id"],
    ["qos_policy_id"],
  ],
  attributes: {
    ...ID,
    floating_ip_address: {
      type: ipAddressOrNull,
      post: true,
      default: null,
      filter: true,
      sort: true,
      policy: true,
    },
    subnet_id: {
      type: uuidOrNull,
      stored: false,
      post: true,
      default: null,
      visible: false,
    },
    floating_network_id: { type: uuid, post: true, filter: true, sort: true },
    router_id: { type: uuidOrNull, filter: true, sort: true },
    port_id: { type: uuidOrNull, post: true, put: true, default: null, filter: true, requiredByPolicy: true },
    fixed_ip_address: { type: ipAddressOrNull, post: true, put: true, default: null, filter: true, sort: true },
    ...OWNER,
    /** `ACTIVE` while a router translates the address, else `DOWN`. */
    status: { type: text, filter: true, sort: true },
    qos_policy_id: { type: uuidOrNull, post: true, put: true, default: null, policy: true, extension: "qos-fip" },
    ...TAGS,
    dns_name: {
      type: dnsName("type:fip_dns_host_name"),
      post: true,
      default: "",
      extension: "dns-integration",
    },
    dns_domain: {
      type: dnsName("type:dns_domain_name"),
      post: true,
      default: "",
      extension: "dns-integration",
    },
    port_details: { type: json<PortDetails | null>(), stored: false, extension: "fip-port-details" },
    port_forwardings: {
      type: json<readonly ForwardingSummary[]>(),
      stored: false,
      extension: "expose-port-forwarding-in-fip",
    },
    ...STANDARD,
    /** The port with the floating address, which belongs to no project. */
    floating_port_id: { type: uuid, visible: false },
  },
  notFound: { type: "FloatingIPNotFound", message: (id) => `Floating IP ${id} could not be found` },
  tagged: true,
  quota: { name: "floatingip", default: 50 },
});

export type FloatingIpRecord = NetworkRecord<typeof FLOATINGIPS>;

export type FloatingIpInput = NetworkInput<typeof FLOATINGIPS>;

/** The IPv4 subnets of external networks. */
export const FLOATINGIP_POOLS = defineResource({
  collection: "floatingip_pools",
  singular: "floatingip_pool",
  path: "/v2.0/floatingip-pools",
  extension: "floatingip-pools",
  table: "network_floatingip_pools",
  view: `SELECT subnets.rowid AS rowid, subnets.id AS id, subnets.id AS subnet_id, subnets.name AS subnet_name,
      subnets.network_id AS network_id, subnets.cidr AS cidr, NULL AS project_id
    FROM network_subnets AS subnets JOIN network_networks AS networks ON networks.id = subnets.network_id
    WHERE networks.router_external = 1 AND subnets.ip_version = 4`,
  attributes: {
    subnet_id: { type: uuid },
    subnet_name: { type: string(255) },
    network_id: { type: uuid },
    cidr: { type: checkedText<string | null>({ validator: "type:subnet_or_none" }) },
    project_id: { type: checkedText<string | null>({ validator: "type:string", parameter: 255 }) },
    id: { type: uuid, visible: false },
  },
  notFound: { type: "HTTPNotFound", message: () => "The resource could not be found." },
  operations: ["list"],
});

const portOrNull: NetworkType<number | null> = {
  ...integerOrNull,
  validator: "type:range_or_none",
  parameter: [1, 65535],
};

const portRange = checkedText<string | null>({ validator: "type:port_range", parameter: [1, 65535] });

/** Ports of a floating IP that lead to ports of internal addresses. */
export const PORT_FORWARDINGS = defineResource({
  collection: "port_forwardings",
  singular: "port_forwarding",
  path: "/v2.0/floatingips/:floatingip_id/port_forwardings",
  extension: "floating-ip-port-forwarding",
  table: "network_port_forwardings",
  references: {
    floatingip_id: { table: "network_floatingips" },
    internal_port_id: { table: "network_ports", onDelete: "cascade" },
  },
  unique: [
    ["floatingip_id", "protocol", "external_port_range"],
    ["internal_port_id", "protocol", "internal_ip_address", "internal_port_range"],
  ],
  attributes: {
    ...ID,
    project_id: { ...OWNER.project_id, filter: false, sort: false, visible: false },
    external_port: { type: portOrNull, post: true, put: true, default: null, filter: true, sort: true },
    internal_port: { type: portOrNull, post: true, put: true, default: null },
    internal_ip_address: { type: checkedText<string>({ validator: "type:ip_address" }), post: true, put: true },
    protocol: {
      type: { ...oneOf(IP_PROTOCOLS), converter: "convert_to_protocol" },
      post: true,
      put: true,
      filter: true,
      sort: true,
    },
    internal_port_id: { type: uuid, post: true, put: true, filter: true, sort: true },
    description: {
      type: string(1024),
      post: true,
      put: true,
      default: "",
      filter: true,
      extension: "floating-ip-port-forwarding-description",
    },
    /** `2222:2230`; of a single port `2222:2222`. */
    external_port_range: {
      type: portRange,
      post: true,
      put: true,
      default: null,
      filter: true,
      sort: true,
      extension: "floating-ip-port-forwarding-port-ranges",
    },
    internal_port_range: {
      type: portRange,
      post: true,
      put: true,
      default: null,
      extension: "floating-ip-port-forwarding-port-ranges",
    },
    floatingip_id: { type: uuid, visible: false },
  },
  notFound: { type: "PortForwardingNotFound", message: (id) => `Port Forwarding ${id} could not be found.` },
  parent: { collection: "floatingips", attribute: "floatingip_id" },
  policyName: "floatingip_port_forwarding",
});

export type PortForwardingRecord = NetworkRecord<typeof PORT_FORWARDINGS>;

export type PortForwardingInput = NetworkInput<typeof PORT_FORWARDINGS>;
