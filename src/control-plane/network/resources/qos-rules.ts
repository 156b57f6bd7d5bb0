import { ID, OWNER, oneOf, range, text, uuid } from "../engine/attribute-types.js";
import { defineResource, type NetworkAttribute } from "../engine/network-resource.js";
import { QOS_POLICIES } from "./qos-policies.js";

/** The rates that rules can have: those of the database's integers. */
const rate = range(0, 2147483647, "convert_to_int");

const dscpMark = oneOf(
  [0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 46, 48, 56],
  "convert_to_int",
);

const direction = oneOf(["ingress", "egress"]);

const anyDirection = oneOf(["any", "ingress", "egress"]);

/** Attributes of all rules. A rule belongs to its policy's project, whatever project a request names. */
const RULE = {
  ...ID,
  policy_id: { type: uuid, visible: false },
  project_id: { ...OWNER.project_id, type: text, stored: false, filter: false, sort: false, visible: false },
} as const satisfies Readonly<Record<string, NetworkAttribute>>;

const NOT_FOUND = {
  type: "QosRuleNotFound",
  message: (id: string, policyId = "") => `QoS rule ${id} for policy ${policyId} could not be found.`,
};

const PARENT = { collection: QOS_POLICIES.collection, attribute: "policy_id" };

const REFERENCES = { policy_id: { table: QOS_POLICIES.table, onDelete: "cascade" } } as const;

/** The highest rate and burst of one direction. Lists have no filter for the direction. */
export const BANDWIDTH_LIMIT_RULES = defineResource({
  collection: "bandwidth_limit_rules",
  singular: "bandwidth_limit_rule",
  path: "/v2.0/qos/policies/:policy_id/bandwidth_limit_rules",
  prefix: "qos",
  extension: "qos",
  table: "network_qos_bandwidth_limit_rules",
  attributes: {
    ...RULE,
    max_kbps: { type: rate, post: true, put: true, filter: true, sort: true },
    max_burst_kbps: { type: rate, post: true, put: true, default: 0, filter: true, sort: true },
    direction: { type: direction, post: true, put: true, default: "egress", extension: "qos-bw-limit-direction" },
  },
  notFound: NOT_FOUND,
  references: REFERENCES,
  unique: [["policy_id", "direction"]],
  parent: PARENT,
  policyName: "policy_bandwidth_limit_rule",
});

/** The DSCP mark of egress packets. */
export const DSCP_MARKING_RULES = defineResource({
  collection: "dscp_marking_rules",
  singular: "dscp_marking_rule",
  path: "/v2.0/qos/policies/:policy_id/dscp_marking_rules",
  prefix: "qos",
  extension: "qos",
  table: "network_qos_dscp_marking_rules",
  attributes: {
    ...RULE,
    dscp_mark: { type: dscpMark, post: true, put: true, filter: true, sort: true },
  },
  notFound: NOT_FOUND,
  references: REFERENCES,
  unique: [["policy_id"]],
  parent: PARENT,
  policyName: "policy_dscp_marking_rule",
});

/** The guaranteed bandwidth of one direction, which the scheduler allocates in Placement. */
export const MINIMUM_BANDWIDTH_RULES = defineResource({
  collection: "minimum_bandwidth_rules",
  singular: "minimum_bandwidth_rule",
  path: "/v2.0/qos/policies/:policy_id/minimum_bandwidth_rules",
  prefix: "qos",
  extension: "qos",
  table: "network_qos_minimum_bandwidth_rules",
  attributes: {
    ...RULE,
    min_kbps: { type: rate, post: true, put: true, filter: true, sort: true },
    direction: { type: direction, post: true, put: true, default: "egress", filter: true, sort: true },
  },
  notFound: NOT_FOUND,
  references: REFERENCES,
  unique: [["policy_id", "direction"]],
  parent: PARENT,
  policyName: "policy_minimum_bandwidth_rule",
});

/** The guaranteed packet rate of one direction, or of both together. */
export const MINIMUM_PACKET_RATE_RULES = defineResource({
  collection: "minimum_packet_rate_rules",
  singular: "minimum_packet_rate_rule",
  path: "/v2.0/qos/policies/:policy_id/minimum-packet-rate-rules",
  prefix: "qos",
  extension: "qos-pps-minimum",
  table: "network_qos_minimum_packet_rate_rules",
  attributes: {
    ...RULE,
    min_kpps: { type: rate, post: true, put: true, filter: true, sort: true },
    direction: { type: anyDirection, post: true, put: true, default: "egress", filter: true, sort: true },
  },
  notFound: NOT_FOUND,
  references: REFERENCES,
  unique: [["policy_id", "direction"]],
  parent: PARENT,
  policyName: "policy_minimum_packet_rate_rule",
});

/** The highest packet rate and burst of one direction. */
export const PACKET_RATE_LIMIT_RULES = defineResource({
  collection: "packet_rate_limit_rules",
  singular: "packet_rate_limit_rule",
  path: "/v2.0/policies/:policy_id/packet_rate_limit_rules",
  prefix: "qos",
  extension: "qos-pps",
  table: "network_qos_packet_rate_limit_rules",
  attributes: {
    ...RULE,
    max_kpps: { type: rate, post: true, put: true, filter: true, sort: true },
    max_burst_kpps: { type: rate, post: true, put: true, default: 0, filter: true, sort: true },
    direction: { type: direction, post: true, put: true, default: "egress", filter: true, sort: true },
  },
  notFound: NOT_FOUND,
  references: REFERENCES,
  unique: [["policy_id", "direction"]],
  parent: PARENT,
  policyName: "policy_packet_rate_limit_rule",
});

/** Operations on rules whose policy the path does not name. */
const ALIAS_OPERATIONS = ["show", "update", "delete"] as const;

/** The same records as `BANDWIDTH_LIMIT_RULES`. */
export const ALIAS_BANDWIDTH_LIMIT_RULES = defineResource({
  collection: "alias_bandwidth_limit_rules",
  singular: "alias_bandwidth_limit_rule",
  path: "/v2.0/qos/alias-bandwidth-limit-rules",
  prefix: "qos",
  extension: "qos-rules-alias",
  table: BANDWIDTH_LIMIT_RULES.table,
  attributes: {
    ...RULE,
    project_id: { ...RULE.project_id, post: false },
    max_kbps: { type: rate, put: true, filter: true, sort: true },
    direction: { type: direction, put: true, filter: true, sort: true },
    max_burst_kbps: { type: rate, put: true, filter: true, sort: true },
  },
  notFound: NOT_FOUND,
  parent: PARENT,
  operations: ALIAS_OPERATIONS,
});

/** The same records as `DSCP_MARKING_RULES`. */
export const ALIAS_DSCP_MARKING_RULES = defineResource({
  collection: "alias_dscp_marking_rules",
  singular: "alias_dscp_marking_rule",
  path: "/v2.0/qos/alias-dscp-marking-rules",
  prefix: "qos",
  extension: "qos-rules-alias",
  table: DSCP_MARKING_RULES.table,
  attributes: {
    ...RULE,
    project_id: { ...RULE.project_id, post: false },
    dscp_mark: { type: dscpMark, put: true, filter: true, sort: true },
  },
  notFound: NOT_FOUND,
  parent: PARENT,
  operations: ALIAS_OPERATIONS,
});

/** The same records as `MINIMUM_BANDWIDTH_RULES`. */
export const ALIAS_MINIMUM_BANDWIDTH_RULES = defineResource({
  collection: "alias_minimum_bandwidth_rules",
  singular: "alias_minimum_bandwidth_rule",
  path: "/v2.0/qos/alias-minimum-bandwidth-rules",
  prefix: "qos",
  extension: "qos-rules-alias",
  table: MINIMUM_BANDWIDTH_RULES.table,
  attributes: {
    ...RULE,
    project_id: { ...RULE.project_id, post: false },
    min_kbps: { type: rate, put: true, filter: true, sort: true },
    direction: { type: direction, put: true, filter: true, sort: true },
  },
  notFound: NOT_FOUND,
  parent: PARENT,
  operations: ALIAS_OPERATIONS,
});

/** The same records as `MINIMUM_PACKET_RATE_RULES`. */
export const ALIAS_MINIMUM_PACKET_RATE_RULES = defineResource({
  collection: "alias_minimum_packet_rate_rules",
  singular: "alias_minimum_packet_rate_rule",
  path: "/v2.0/qos/alias-minimum-packet-rate-rules",
  prefix: "qos",
  extension: "qos-pps-minimum-rule-alias",
  table: MINIMUM_PACKET_RATE_RULES.table,
  attributes: {
    ...RULE,
    min_kpps: { type: rate, put: true, filter: true, sort: true },
    direction: { type: anyDirection, put: true, filter: true, sort: true },
  },
  notFound: NOT_FOUND,
  parent: PARENT,
  operations: ALIAS_OPERATIONS,
});

/** A type of rules: its records, and the parameters in the order of responses. */
export const QOS_RULES = [
  {
    type: "bandwidth_limit",
    resource: BANDWIDTH_LIMIT_RULES,
    parameters: ["max_kbps", "max_burst_kbps", "direction"],
  },
  { type: "dscp_marking", resource: DSCP_MARKING_RULES, parameters: ["dscp_mark"] },
  { type: "minimum_bandwidth", resource: MINIMUM_BANDWIDTH_RULES, parameters: ["min_kbps", "direction"] },
  { type: "minimum_packet_rate", resource: MINIMUM_PACKET_RATE_RULES, parameters: ["min_kpps", "direction"] },
  {
    type: "packet_rate_limit",
    resource: PACKET_RATE_LIMIT_RULES,
    parameters: ["max_kpps", "max_burst_kpps", "direction"],
  },
] as const;
