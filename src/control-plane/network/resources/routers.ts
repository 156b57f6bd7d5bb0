import {
  boolean,
  booleanOrNull,
  checkedText,
  flag,
  ID,
  json,
  OWNER,
  oneOf,
  range,
  STANDARD,
  string,
  TAGS,
  text,
  textOrNull,
  uuid,
  uuidOrNull,
} from "../engine/attribute-types.js";
import { defineResource, type NetworkInput, type NetworkRecord, NOT_SPECIFIED } from "../engine/network-resource.js";
import { IP_PROTOCOLS } from "./floating-ips.js";

/** The gateway of a router to an external network, as a request names it. */
export type GatewayInfo = {
  /** Absent, together with all others: no gateway. */
  readonly network_id?: string;
  readonly enable_snat?: boolean;
  readonly external_fixed_ips?: readonly { readonly subnet_id?: string; readonly ip_address?: string }[];
  readonly qos_policy_id?: string | null;
};

/** A static route of a router. */
export type ExtraRoute = {
  readonly destination: string;
  readonly nexthop: string;
};

/** A conntrack helper, as a router shows it. */
export type HelperSummary = {
  readonly protocol: string;
  readonly port: number;
  readonly helper: string;
};

export const GATEWAY_KEYS = {
  network_id: { "type:uuid": null, required: true },
  enable_snat: { "type:boolean": null, required: false, convert_to: "convert_to_boolean" },
  external_fixed_ips: { "type:fixed_ips": null, required: false },
  qos_policy_id: { "type:uuid_or_none": null, required: false },
};

/** Routers between networks. Their interfaces and gateways are ports. */
export const ROUTERS = defineResource({
  collection: "routers",
  singular: "router",
  path: "/v2.0/routers",
  extension: "router",
  table: "network_routers",
  references: {
    gw_port_id: { table: "network_ports", onDelete: "set null" },
    gateway_qos_policy_id: { table: "network_qos_policies" },
  },
  indexes: [["project_id"], ["name"], ["gw_port_id"], ["gateway_qos_policy_id"]],
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    admin_state_up: { type: boolean, post: true, put: true, default: true, filter: true, sort: true },
    status: { type: text, sort: true },
    ...OWNER,
    external_gateway_info: {
      type: json<GatewayInfo | null>({ validator: "type:dict_or_nodata", parameter: GATEWAY_KEYS }),
      stored: false,
      post: true,
      put: true,
      default: null,
      policy: true,
      extension: "ext-gw-mode",
    },
    ha: { type: booleanOrNull, post: true, put: true, default: NOT_SPECIFIED, policy: true, extension: "l3-ha" },
    enable_ndp_proxy: {
      type: booleanOrNull,
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      filter: true,
      extension: "l3-ext-ndp-proxy",
    },
    flavor_id: {
      type: textOrNull,
      post: true,
      default: NOT_SPECIFIED,
      sort: true,
      policy: true,
      extension: "l3-flavors",
    },
    availability_zones: { type: json<readonly string[]>(), stored: false, extension: "router_availability_zone" },
    availability_zone_hints: {
      type: json<readonly string[]>({ validator: "type:availability_zone_hint_list" }),
      post: true,
      default: [],
      extension: "router_availability_zone",
    },
    ...TAGS,
    distributed: { type: booleanOrNull, post: true, put: true, default: NOT_SPECIFIED, policy: true, extension: "dvr" },
    conntrack_helpers: {
      type: json<readonly HelperSummary[]>(),
      stored: false,
      extension: "expose-l3-conntrack-helper",
    },
    routes: {
      type: json<readonly ExtraRoute[]>({ validator: "type:hostroutes", converter: "convert_none_to_empty_list" }),
      put: true,
      extension: "extraroute",
    },
    ...STANDARD,
    /** Its actions check the rules of what a request names, not those of existing gateways. */
    external_gateways: {
      type: json<readonly GatewayInfo[]>(),
      stored: false,
      extension: "external-gateway-multihoming",
    },
    /** The port of the first gateway, which `external_gateway_info` shows. */
    gw_port_id: { type: uuidOrNull, visible: false },
    gateway_qos_policy_id: { type: uuidOrNull, visible: false },
    enable_snat: { type: flag, filter: true, sort: true, extension: "router-enable-snat" },
    enable_default_route_bfd: {
      type: booleanOrNull,
      post: true,
      put: true,
      default: null,
      policy: true,
      extension: "enable-default-route-bfd",
    },
    enable_default_route_ecmp: {
      type: booleanOrNull,
      post: true,
      put: true,
      default: null,
      policy: true,
      extension: "enable-default-route-ecmp",
    },
  },
  notFound: { type: "RouterNotFound", message: (id) => `Router ${id} could not be found` },
  tagged: true,
  quota: { name: "router", default: 10 },
  actions: {
    add_router_interface: "PUT",
    remove_router_interface: "PUT",
    add_extraroutes: "PUT",
    remove_extraroutes: "PUT",
    add_external_gateways: "PUT",
    update_external_gateways: "PUT",
    remove_external_gateways: "PUT",
  },
});

export type RouterRecord = NetworkRecord<typeof ROUTERS>;

export type RouterInput = NetworkInput<typeof ROUTERS>;

/** Helpers of a router's connection tracking for protocols with secondary connections. */
export const CONNTRACK_HELPERS = defineResource({
  collection: "conntrack_helpers",
  singular: "conntrack_helper",
  path: "/v2.0/routers/:router_id/conntrack_helpers",
  extension: "l3-conntrack-helper",
  table: "network_conntrack_helpers",
  references: { router_id: { table: "network_routers", onDelete: "cascade" } },
  unique: [["router_id", "protocol", "port", "helper"]],
  attributes: {
    ...ID,
    project_id: { ...OWNER.project_id, filter: false, sort: false, visible: false },
    protocol: {
      type: { ...oneOf(IP_PROTOCOLS), converter: "convert_to_protocol" },
      post: true,
      put: true,
      filter: true,
      sort: true,
    },
    port: { type: range(1, 65535, "convert_to_int"), post: true, put: true, filter: true, sort: true },
    helper: {
      type: checkedText<string>({ validator: "type:string", parameter: 64, converter: "convert_to_string" }),
      post: true,
      put: true,
      filter: true,
      sort: true,
    },
    router_id: { type: uuid, visible: false },
  },
  notFound: {
    type: "ConntrackHelperNotFound",
    message: (id) => `Conntrack Helper ${id} could not be found.`,
  },
  parent: { collection: "routers", attribute: "router_id", isRequired: false },
  policyName: "router_conntrack_helper",
});
