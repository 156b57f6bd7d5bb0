import {
  boolean,
  checkedText,
  ID,
  OWNER,
  oneOf,
  STANDARD,
  string,
  TAGS,
  textOrNull,
} from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** TODO describe. */
export const SECURITY_GROUPS = defineResource({
  collection: "security_groups",
  singular: "security_group",
  path: "/v2.0/security-groups",
  extension: "security-group",
  table: "network_security_groups",
  attributes: {
    ...ID,
    name: {
      type: checkedText({ validator: "type:name_not_default", parameter: 255 }),
      post: true,
      put: true,
      default: "",
      filter: true,
      sort: true,
    },
    stateful: { type: boolean, post: true, put: true, default: true },
    shared: { type: boolean, filter: true, policy: true, requiredByPolicy: true },
    security_group_rules: { type: textOrNull },
    ...OWNER,
    ...STANDARD,
    ...TAGS,
  },
  notFound: { type: "SecurityGroupNotFound" },
  tagged: true,
  quota: { name: "security_group", default: 10 },
});

/** TODO describe. */
export const SECURITY_GROUP_RULES = defineResource({
  collection: "security_group_rules",
  singular: "security_group_rule",
  path: "/v2.0/security-group-rules",
  extension: "security-group",
  table: "network_security_group_rules",
  attributes: {
    ...ID,
    security_group_id: { type: string(36), post: true, filter: true, sort: true, requiredByPolicy: true },
    ethertype: {
      type: oneOf(["IPv4", "IPv6"], "convert_ethertype_to_case_insensitive"),
      post: true,
      default: "IPv4",
      filter: true,
      sort: true,
    },
    direction: { type: oneOf(["ingress", "egress"]), post: true, filter: true, sort: true },
    protocol: {
      type: checkedText<string | null>({ converter: "convert_protocol" }),
      post: true,
      default: null,
      filter: true,
      sort: true,
    },
    port_range_min: {
      type: checkedText<string | null>({ converter: "convert_validate_port_value" }),
      post: true,
      default: null,
      filter: true,
      sort: true,
    },
    port_range_max: {
      type: checkedText<string | null>({ converter: "convert_validate_port_value" }),
      post: true,
      default: null,
      filter: true,
      sort: true,
    },
    remote_ip_prefix: {
      type: checkedText<string | null>({ converter: "convert_ip_prefix_to_cidr" }),
      post: true,
      default: null,
      filter: true,
      sort: true,
    },
    remote_address_group_id: { type: textOrNull, post: true, default: null, filter: true, sort: true },
    normalized_cidr: {
      type: checkedText<string | null>({ validator: "type:subnet_or_none" }),
      filter: true,
      sort: true,
    },
    remote_group_id: { type: textOrNull, post: true, default: null, filter: true, sort: true },
    ...OWNER,
    ...STANDARD,
  },
  notFound: { type: "SecurityGroupRuleNotFound" },
  quota: { name: "security_group_rule", default: 100 },
});
