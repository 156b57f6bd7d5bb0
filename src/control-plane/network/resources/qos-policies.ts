import type { Json } from "../../http/json.js";
import { boolean, booleanOrNull, ID, json, OWNER, STANDARD, string, TAGS, text } from "../engine/attribute-types.js";
import { defineResource, NOT_SPECIFIED } from "../engine/network-resource.js";

/** A rule in the response of its policy, with its type. */
export type RuleOfPolicy = {
  readonly id: string;
  readonly qos_policy_id: string;
  readonly type: string;
  readonly [parameter: string]: string | number;
};

/** A driver that supports a type of rules, with the parameters of the rules. */
export type RuleTypeDriver = {
  readonly name: string;
  readonly supported_parameters: readonly Json[];
};

/** Sets of rules for the traffic of ports. Networks, ports, floating IPs and routers refer to them. */
export const QOS_POLICIES = defineResource({
  collection: "policies",
  singular: "policy",
  path: "/v2.0/qos/policies",
  prefix: "qos",
  extension: "qos",
  table: "network_qos_policies",
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    shared: { type: boolean, stored: false, post: true, put: true, default: false, filter: true },
    ...OWNER,
    rules: { type: json<readonly RuleOfPolicy[]>(), stored: false },
    is_default: { type: boolean, post: true, put: true, default: false, filter: true, extension: "qos-default" },
    ...TAGS,
    ...STANDARD,
  },
  rbac: { objectType: "qos_policy", actions: ["access_as_shared"] },
  notFound: { type: "QosPolicyNotFound", message: (id) => `QoS policy ${id} could not be found.` },
  indexes: [["project_id"]],
  tagged: true,
});

/** The types of rules, in the order in which a policy has them. */
const RULE_TYPE_NAMES = [
  "bandwidth_limit",
  "dscp_marking",
  "minimum_bandwidth",
  "minimum_packet_rate",
  "packet_rate_limit",
] as const;

export type RuleType = (typeof RULE_TYPE_NAMES)[number];

/** Types of rules that the emulated mechanism driver supports: all. */
export const RULE_TYPES = defineResource({
  collection: "rule_types",
  singular: "rule_type",
  path: "/v2.0/qos/rule-types",
  prefix: "qos",
  extension: "qos",
  table: "network_qos_rule_types",
  view: `SELECT column1 AS id, column1 AS type, column2 AS rowid
    FROM (VALUES ${RULE_TYPE_NAMES.map((name, index) => `('${name}', ${index})`).join(", ")})`,
  attributes: {
    type: { type: text },
    drivers: { type: json<readonly RuleTypeDriver[]>(), stored: false, extension: "qos-rule-type-details" },
    all_rules: {
      type: booleanOrNull,
      stored: false,
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      filter: true,
      visible: false,
      extension: "qos-rule-type-filter",
    },
    all_supported: {
      type: booleanOrNull,
      stored: false,
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      filter: true,
      visible: false,
      extension: "qos-rule-type-filter",
    },
    id: { type: text, visible: false },
  },
  notFound: { type: "RuleTypeNotFound" },
  operations: ["list", "show"],
});
