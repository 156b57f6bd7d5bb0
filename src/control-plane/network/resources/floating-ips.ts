import {
  checkedText,
  ID,
  integerOrNull,
  OWNER,
  STANDARD,
  string,
  TAGS,
  textOrNull,
  uuid,
  uuidOrNull,
} from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** TODO describe. */
export const FLOATINGIPS = defineResource({
  collection: "floatingips",
  singular: "floatingip",
  path: "/v2.0/floatingips",
  extension: "router",
  table: "network_floatingips",
  attributes: {
    ...ID,
    floating_ip_address: {
      type: checkedText<string | null>({ validator: "type:ip_address_or_none" }),
      post: true,
      default: null,
      filter: true,
      sort: true,
      policy: true,
    },
    floating_network_id: { type: uuid, post: true, filter: true, sort: true },
    router_id: { type: uuidOrNull, filter: true, sort: true },
    port_id: { type: uuidOrNull, post: true, put: true, default: null, filter: true, requiredByPolicy: true },
    fixed_ip_address: {
      type: checkedText<string | null>({ validator: "type:ip_address_or_none" }),
      post: true,
      put: true,
      default: null,
      filter: true,
      sort: true,
    },
    status: { type: textOrNull, filter: true, sort: true },
    qos_policy_id: { type: uuidOrNull, post: true, put: true, default: null, policy: true },
    port_details: { type: textOrNull },
    dns_domain: {
      type: checkedText({
        validator: "type:dns_domain_name",
        parameter: 255,
        converter: "convert_string_to_case_insensitive",
      }),
      post: true,
      default: "",
    },
    dns_name: {
      type: checkedText({
        validator: "type:fip_dns_host_name",
        parameter: 255,
        converter: "convert_string_to_case_insensitive",
      }),
      post: true,
      default: "",
    },
    port_forwardings: { type: textOrNull },
    subnet_id: { type: uuidOrNull, post: true, default: null, visible: false },
    ...OWNER,
    ...STANDARD,
    ...TAGS,
  },
  notFound: { type: "FloatingipNotFound" }, // not in errors.json: check
  tagged: true,
  quota: { name: "floatingip", default: 50 },
});

/** TODO describe. */
export const FLOATINGIP_POOLS = defineResource({
  collection: "floatingip_pools",
  singular: "floatingip_pool",
  path: "/v2.0/floatingip-pools",
  extension: "floatingip-pools",
  table: "network_floatingip_pools",
  attributes: {
    subnet_id: { type: uuid },
    subnet_name: { type: string(255) },
    network_id: { type: uuid },
    cidr: { type: checkedText<string | null>({ validator: "type:subnet_or_none" }) },
    ...OWNER,
  },
  notFound: { type: "FloatingipPoolNotFound" }, // not in errors.json: check
});

/** TODO describe. */
export const PORT_FORWARDINGS = defineResource({
  collection: "port_forwardings",
  singular: "port_forwarding",
  path: "/v2.0/floatingips/:floatingip_id/port_forwardings",
  extension: "floating-ip-port-forwarding",
  table: "network_port_forwardings",
  attributes: {
    ...ID,
    floatingip_id: { type: uuid, visible: false },
    external_port: {
      type: { ...integerOrNull, validator: "type:range_or_none", parameter: [1, 65535] },
      post: true,
      put: true,
      default: null,
      filter: true,
      sort: true,
    },
    external_port_range: {
      type: checkedText({ validator: "type:port_range", parameter: [1, 65535] }),
      post: true,
      put: true,
      default: null,
      filter: true,
      sort: true,
    },
    protocol: { type: textOrNull, post: true, put: true, filter: true, sort: true },
    internal_port_id: { type: uuid, post: true, put: true, filter: true, sort: true },
    internal_ip_address: { type: checkedText({ validator: "type:ip_address" }), post: true, put: true },
    internal_port: {
      type: { ...integerOrNull, validator: "type:range_or_none", parameter: [1, 65535] },
      post: true,
      put: true,
      default: null,
    },
    internal_port_range: {
      type: checkedText({ validator: "type:port_range", parameter: [1, 65535] }),
      post: true,
      put: true,
      default: null,
    },
    description: { type: string(1024), post: true, put: true, default: "", filter: true },
    ...OWNER,
  },
  notFound: { type: "PortForwardingNotFound" },
  parent: { collection: "floatingips", attribute: "floatingip_id" },
  policyName: "floatingip_port_forwarding",
});
