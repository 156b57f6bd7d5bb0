import { ID, OWNER, oneOf, range, uuid } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** TODO describe. */
export const BANDWIDTH_LIMIT_RULES = defineResource({
  collection: "bandwidth_limit_rules",
  singular: "bandwidth_limit_rule",
  path: "/v2.0/qos/policies/:policy_id/bandwidth_limit_rules",
  extension: "qos",
  table: "network_bandwidth_limit_rules",
  attributes: {
    ...ID,
    policy_id: { type: uuid, visible: false },
    max_kbps: { type: range(0, 2147483647, "convert_to_int"), post: true, put: true, filter: true, sort: true },
    max_burst_kbps: {
      type: range(0, 2147483647, "convert_to_int"),
      post: true,
      put: true,
      default: 0,
      filter: true,
      sort: true,
    },
    direction: { type: oneOf(["ingress", "egress"]), post: true, put: true, default: "egress" },
    ...OWNER,
  },
  notFound: { type: "BandwidthLimitRuleNotFound" }, // not in errors.json: check
  parent: { collection: "policies", attribute: "policy_id" },
  policyName: "policy_bandwidth_limit_rule",
});

/** TODO describe. */
export const DSCP_MARKING_RULES = defineResource({
  collection: "dscp_marking_rules",
  singular: "dscp_marking_rule",
  path: "/v2.0/qos/policies/:policy_id/dscp_marking_rules",
  extension: "qos",
  table: "network_dscp_marking_rules",
  attributes: {
    ...ID,
    policy_id: { type: uuid, visible: false },
    dscp_mark: {
      type: oneOf([0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 46, 48, 56], "convert_to_int"),
      post: true,
      put: true,
      filter: true,
      sort: true,
    },
    ...OWNER,
  },
  notFound: { type: "DscpMarkingRuleNotFound" }, // not in errors.json: check
  parent: { collection: "policies", attribute: "policy_id" },
  policyName: "policy_dscp_marking_rule",
});

/** TODO describe. */
export const MINIMUM_BANDWIDTH_RULES = defineResource({
  collection: "minimum_bandwidth_rules",
  singular: "minimum_bandwidth_rule",
  path: "/v2.0/qos/policies/:policy_id/minimum_bandwidth_rules",
  extension: "qos",
  table: "network_minimum_bandwidth_rules",
  attributes: {
    ...ID,
    policy_id: { type: uuid, visible: false },
    min_kbps: { type: range(0, 2147483647, "convert_to_int"), post: true, put: true, filter: true, sort: true },
    direction: {
      type: oneOf(["ingress", "egress"]),
      post: true,
      put: true,
      default: "egress",
      filter: true,
      sort: true,
    },
    ...OWNER,
  },
  notFound: { type: "MinimumBandwidthRuleNotFound" }, // not in errors.json: check
  parent: { collection: "policies", attribute: "policy_id" },
  policyName: "policy_minimum_bandwidth_rule",
});

/** TODO describe. */
export const MINIMUM_PACKET_RATE_RULES = defineResource({
  collection: "minimum_packet_rate_rules",
  singular: "minimum_packet_rate_rule",
  path: "/v2.0/qos/policies/:policy_id/minimum-packet-rate-rules",
  extension: "qos-pps-minimum",
  table: "network_minimum_packet_rate_rules",
  attributes: {
    ...ID,
    policy_id: { type: uuid, visible: false },
    direction: {
      type: oneOf(["any", "ingress", "egress"]),
      post: true,
      put: true,
      default: "egress",
      filter: true,
      sort: true,
    },
    min_kpps: { type: range(0, 2147483647, "convert_to_int"), post: true, put: true, filter: true, sort: true },
    ...OWNER,
  },
  notFound: { type: "MinimumPacketRateRuleNotFound" }, // not in errors.json: check
  parent: { collection: "policies", attribute: "policy_id" },
  policyName: "policy_minimum_packet_rate_rule",
});

/** TODO describe. */
export const PACKET_RATE_LIMIT_RULES = defineResource({
  collection: "packet_rate_limit_rules",
  singular: "packet_rate_limit_rule",
  path: "/v2.0/policies/:policy_id/packet_rate_limit_rules",
  extension: "qos-pps",
  table: "network_packet_rate_limit_rules",
  attributes: {
    ...ID,
    policy_id: { type: uuid, visible: false },
    direction: {
      type: oneOf(["ingress", "egress"]),
      post: true,
      put: true,
      default: "egress",
      filter: true,
      sort: true,
    },
    max_burst_kpps: {
      type: range(0, 2147483647, "convert_to_int"),
      post: true,
      put: true,
      default: 0,
      filter: true,
      sort: true,
    },
    max_kpps: { type: range(0, 2147483647, "convert_to_int"), post: true, put: true, filter: true, sort: true },
    ...OWNER,
  },
  notFound: { type: "PacketRateLimitRuleNotFound" }, // not in errors.json: check
  parent: { collection: "policies", attribute: "policy_id" },
  policyName: "policy_packet_rate_limit_rule",
});

/** TODO describe. */
export const ALIAS_BANDWIDTH_LIMIT_RULES = defineResource({
  collection: "alias_bandwidth_limit_rules",
  singular: "alias_bandwidth_limit_rule",
  path: "/v2.0/qos/alias-bandwidth-limit-rules",
  extension: "qos-rules-alias",
  table: "network_alias_bandwidth_limit_rules",
  attributes: {
    ...ID,
    max_kbps: { type: range(0, 2147483647, "convert_to_int"), put: true, filter: true, sort: true },
    max_burst_kbps: { type: range(0, 2147483647, "convert_to_int"), put: true, filter: true, sort: true },
    direction: { type: oneOf(["ingress", "egress"]), put: true, filter: true, sort: true },
    ...OWNER,
  },
  notFound: { type: "AliasBandwidthLimitRuleNotFound" }, // not in errors.json: check
});

/** TODO describe. */
export const ALIAS_DSCP_MARKING_RULES = defineResource({
  collection: "alias_dscp_marking_rules",
  singular: "alias_dscp_marking_rule",
  path: "/v2.0/qos/alias-dscp-marking-rules",
  extension: "qos-rules-alias",
  table: "network_alias_dscp_marking_rules",
  attributes: {
    ...ID,
    dscp_mark: {
      type: oneOf([0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 46, 48, 56], "convert_to_int"),
      put: true,
      filter: true,
      sort: true,
    },
    ...OWNER,
  },
  notFound: { type: "AliasDscpMarkingRuleNotFound" }, // not in errors.json: check
});

/** TODO describe. */
export const ALIAS_MINIMUM_BANDWIDTH_RULES = defineResource({
  collection: "alias_minimum_bandwidth_rules",
  singular: "alias_minimum_bandwidth_rule",
  path: "/v2.0/qos/alias-minimum-bandwidth-rules",
  extension: "qos-rules-alias",
  table: "network_alias_minimum_bandwidth_rules",
  attributes: {
    ...ID,
    direction: { type: oneOf(["ingress", "egress"]), put: true, filter: true, sort: true },
    min_kbps: { type: range(0, 2147483647, "convert_to_int"), put: true, filter: true, sort: true },
    ...OWNER,
  },
  notFound: { type: "AliasMinimumBandwidthRuleNotFound" }, // not in errors.json: check
});

/** TODO describe. */
export const ALIAS_MINIMUM_PACKET_RATE_RULES = defineResource({
  collection: "alias_minimum_packet_rate_rules",
  singular: "alias_minimum_packet_rate_rule",
  path: "/v2.0/qos/alias-minimum-packet-rate-rules",
  extension: "qos-pps-minimum-rule-alias",
  table: "network_alias_minimum_packet_rate_rules",
  attributes: {
    ...ID,
    direction: { type: oneOf(["any", "ingress", "egress"]), put: true, filter: true, sort: true },
    min_kpps: { type: range(0, 2147483647, "convert_to_int"), put: true, filter: true, sort: true },
    ...OWNER,
  },
  notFound: { type: "AliasMinimumPacketRateRuleNotFound" }, // not in errors.json: check
});
