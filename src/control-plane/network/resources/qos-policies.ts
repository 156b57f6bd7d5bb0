import { boolean, booleanOrNull, ID, OWNER, STANDARD, string, TAGS, textOrNull } from "../engine/attribute-types.js";
import { defineResource, NOT_SPECIFIED } from "../engine/network-resource.js";

/** TODO describe. */
export const QOS_POLICIES = defineResource({
  collection: "policies",
  singular: "policy",
  path: "/v2.0/qos/policies",
  extension: "qos",
  table: "network_qos_policies",
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    shared: { type: boolean, post: true, put: true, default: false, filter: true },
    rules: { type: textOrNull },
    is_default: { type: boolean, post: true, put: true, default: false, filter: true },
    ...OWNER,
    ...STANDARD,
    ...TAGS,
  },
  rbac: { objectType: "qos_policy", actions: ["access_as_shared"] },
  notFound: { type: "PolicyNotFound" }, // not in errors.json: check
  tagged: true,
});

/** TODO describe. */
export const RULE_TYPES = defineResource({
  collection: "rule_types",
  singular: "rule_type",
  path: "/v2.0/qos/rule-types",
  extension: "qos",
  table: "network_rule_types",
  attributes: {
    type: { type: textOrNull },
    all_rules: { type: booleanOrNull, post: true, put: true, default: NOT_SPECIFIED, filter: true, visible: false },
    all_supported: { type: booleanOrNull, post: true, put: true, default: NOT_SPECIFIED, filter: true, visible: false },
    drivers: { type: textOrNull },
  },
  notFound: { type: "RuleTypeNotFound" }, // not in errors.json: check
});
