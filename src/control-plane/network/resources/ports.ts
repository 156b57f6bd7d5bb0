import type { Json } from "../../http/json.js";
import {
  boolean,
  checkedText,
  flag,
  ID,
  json,
  OWNER,
  oneOf,
  STANDARD,
  string,
  stringOrNull,
  text,
  textOrNull,
  uuid,
  uuidOrNull,
} from "../engine/attribute-types.js";
import {
  defineResource,
  type NetworkInput,
  type NetworkRecord,
  type NetworkType,
  NOT_SPECIFIED,
} from "../engine/network-resource.js";

/** An address that a request names: the address, its subnet, or both. */
export type RequestedFixedIp = {
  readonly subnet_id?: string;
  readonly ip_address?: string;
};

/** Further addresses from which a port may send. */
export type AddressPair = {
  readonly ip_address: string;
  /** Absent in requests: that of the port. */
  readonly mac_address?: string;
};

export type ExtraDhcpOption = {
  readonly opt_name: string;
  /** Null in an update: the option is removed. */
  readonly opt_value: string | null;
  /** Absent in requests: 4. */
  readonly ip_version?: number;
};

/** An address with its names in the internal DNS. */
export interface DnsAssignment {
  readonly [key: string]: string;
  readonly ip_address: string;
  readonly hostname: string;
  readonly fqdn: string;
}

/** Neutron's `binding:profile`, and `binding:vif_details`: dictionaries with any members. */
export type BindingDetails = Readonly<Record<string, Json>>;

const VNIC_TYPES = [
  "normal",
  "direct",
  "macvtap",
  "baremetal",
  "direct-physical",
  "virtio-forwarder",
  "smart-nic",
  "vdpa",
  "accelerator-direct",
  "accelerator-direct-physical",
  "remote-managed",
] as const;

const vnicType: NetworkType<string> = oneOf(VNIC_TYPES);

/** Neutron validates no type: null and the empty string unbind the port. */
const host: NetworkType<string | null> = textOrNull;

const optionSpec = (name: Json, value: Json): Json => ({
  opt_name: { ...(name as object), required: true },
  opt_value: { ...(value as object), required: true },
  ip_version: { convert_to: "convert_to_int", "type:values": [4, 6], required: false },
});

/** The ports of networks, to which servers, routers and other devices are connected. */
export const PORTS = defineResource({
  collection: "ports",
  singular: "port",
  path: "/v2.0/ports",
  extension: "core",
  table: "network_ports",
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    network_id: { type: uuid, post: true, filter: true, sort: true, requiredByPolicy: true },
    admin_state_up: { type: boolean, post: true, put: true, default: true, filter: true, sort: true },
    mac_address: {
      type: checkedText<string>({ validator: "type:mac_address_or_none", converter: "convert_to_mac_if_none" }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      filter: true,
      sort: true,
      policy: true,
    },
    fixed_ips: {
      type: json<readonly RequestedFixedIp[]>({
        validator: "type:fixed_ips",
        listConverter: "convert_kvp_list_to_dict",
      }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      filter: true,
      policy: true,
      stored: false,
    },
    device_id: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    device_owner: { type: string(255), post: true, put: true, default: "", filter: true, sort: true, policy: true },
    ...OWNER,
    status: { type: text, filter: true, sort: true },
    allowed_address_pairs: {
      type: json<readonly AddressPair[]>({
        validator: "type:allowed_address_pairs",
        converter: "convert_none_to_empty_list",
        listConverter: "convert_kvp_list_to_dict",
      }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      policy: true,
      extension: "allowed-address-pairs",
    },
    extra_dhcp_opts: {
      type: json<readonly ExtraDhcpOption[]>({
        validator: "type:list_of_any_key_specs_or_none",
        parameter: [
          optionSpec({ "type:values": ["router", "classless-static-route"] }, { "type:string_or_none": 255 }),
          optionSpec({ "type:oneline_not_empty_string": 64 }, { "type:oneline_not_empty_string_or_none": 255 }),
        ],
      }),
      post: true,
      put: true,
      default: null,
      extension: "extra_dhcp_opt",
    },
    /** `immediate`, `deferred` until the port is bound, or `none`. */
    ip_allocation: { type: text, filter: true, sort: true, extension: "ip_allocation" },
    device_profile: { type: stringOrNull(255), post: true, default: null, extension: "port-device-profile" },
    numa_affinity_policy: {
      type: oneOf(["required", "preferred", "legacy", null]),
      post: true,
      put: true,
      default: null,
      extension: "port-numa-affinity-policy",
    },
    resource_request: { type: json<Json>(), policy: "get", stored: false, extension: "port-resource-request" },
    "binding:vif_type": { type: text, policy: true, stored: false, extension: "binding" },
    "binding:vif_details": { type: json<BindingDetails>(), policy: true, stored: false, extension: "binding" },
    "binding:vnic_type": {
      type: vnicType,
      post: true,
      put: true,
      default: "normal",
      policy: true,
      stored: false,
      extension: "binding",
    },
    "binding:host_id": {
      type: host,
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      filter: true,
      policy: true,
      stored: false,
      extension: "binding",
    },
    "binding:profile": {
      type: json<BindingDetails>({ validator: "type:dict_or_none" }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      policy: true,
      stored: false,
      extension: "binding",
    },
    port_security_enabled: {
      type: boolean,
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      policy: true,
      extension: "port-security",
    },
    qos_policy_id: { type: uuidOrNull, post: true, put: true, default: null, policy: true, extension: "qos" },
    qos_network_policy_id: { type: uuidOrNull, stored: false, extension: "qos-port-network-policy" },
    tags: {
      type: json<readonly string[]>({ validator: "type:list_of_unique_strings", parameter: 255 }),
      post: true,
      default: [],
      filter: true,
      stored: false,
      extension: "tag-ports-during-bulk-creation",
    },
    trunk_details: {
      type: json<Json>(),
      policy: true,
      requiredByPolicy: true,
      stored: false,
      extension: "trunk-details",
    },
    propagate_uplink_status: {
      type: boolean,
      post: true,
      default: true,
      extension: "uplink-status-propagation",
    },
    dns_name: {
      type: checkedText<string>({
        validator: "type:dns_host_name",
        parameter: 255,
        converter: "convert_string_to_case_insensitive",
      }),
      post: true,
      put: true,
      default: "",
      extension: "dns-integration",
    },
    dns_assignment: { type: json<readonly DnsAssignment[]>(), stored: false, extension: "dns-integration" },
    dns_domain: {
      type: checkedText<string>({
        validator: "type:dns_domain_name",
        parameter: 255,
        converter: "convert_string_to_case_insensitive",
      }),
      post: true,
      put: true,
      default: "",
      extension: "dns-domain-ports",
    },
    ...STANDARD,
    security_groups: {
      type: json<readonly string[]>({ validator: "type:uuid_list", converter: "convert_none_to_empty_list" }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      filter: true,
      stored: false,
      extension: "security-group",
    },
    /** Whether Compute created the port, so that it is deleted with its server. */
    made_for_server: { type: flag, visible: false },
    /** The user's name for the device in the guest. */
    device_tag: { type: textOrNull, visible: false },
  },
  notFound: { type: "PortNotFound" },
  tagged: true,
  quota: { name: "port", default: 500 },
  references: { network_id: { table: "network_networks" } },
  unique: [["network_id", "mac_address"]],
  indexes: [["device_id"], ["mac_address"], ["project_id"], ["network_id", "device_owner"]],
});

export type PortRecord = NetworkRecord<typeof PORTS>;

export type PortInput = NetworkInput<typeof PORTS>;

/**
 * The bindings of ports to hosts. One is active; while a server is live-migrated, its ports have an inactive one on the
 * destination. In paths, the host identifies a binding of a port.
 */
export const PORT_BINDINGS = defineResource({
  collection: "bindings",
  singular: "binding",
  path: "/v2.0/ports/:port_id/bindings",
  extension: "binding-extended",
  table: "network_port_bindings",
  attributes: {
    /** Empty: the port is not bound. */
    host: { type: text, post: true, put: true, filter: true },
    /** `unbound`, `binding_failed`, `ovs` or `other`. */
    vif_type: { type: text, filter: true, policy: true },
    vif_details: { type: json<BindingDetails>(), policy: true },
    vnic_type: { type: vnicType, post: true, put: true, default: "normal", filter: true, policy: true },
    profile: {
      type: json<BindingDetails>({ validator: "type:dict_or_none" }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      policy: true,
    },
    /** `ACTIVE` or `INACTIVE`. */
    status: { type: text, filter: true },
    project_id: { ...OWNER.project_id, filter: false, sort: false, stored: false },
    id: { type: uuid, visible: false },
    port_id: { type: uuid, visible: false },
    /** Whether the host has connected the port. */
    is_plugged: { type: flag, visible: false },
  },
  notFound: {
    type: "PortBindingNotFound",
    message: (host, portId) => `Binding for port ${portId} for host ${host} could not be found.`,
  },
  parent: { collection: "ports", attribute: "port_id" },
  key: "host",
  policyName: "port_binding",
  actions: { activate: "PUT" },
  references: { port_id: { table: "network_ports", onDelete: "cascade" } },
  unique: [["port_id", "host"]],
  indexes: [["host"]],
});

export type PortBindingRecord = NetworkRecord<typeof PORT_BINDINGS>;
