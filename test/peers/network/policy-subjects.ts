import type { Members } from "../differential/known-records.js";
import {
  type BodySource,
  bool,
  type Choices,
  common,
  description,
  idOf,
  name,
  oneOf,
  PROJECTS,
  project,
  projectOfOthers,
  type Subject,
  some,
} from "./subject.js";

const bandwidth: Choices = {
  max_kbps: [0.9, oneOf(1000, 2000, -1)],
  max_burst_kbps: [0.4, oneOf(0, 100)],
  direction: [0.5, oneOf("egress", "ingress")],
};
const minimum: Choices = { min_kbps: [0.95, oneOf(100, 0, -2)], direction: [0.8, oneOf("egress", "ingress", "any")] };
const packets: Choices = { min_kpps: [0.95, oneOf(100, 0)], direction: [0.8, oneOf("egress", "ingress", "any")] };
const policyRules = (collection: string, singular: string, choices: Choices, path = collection): Subject => ({
  collection,
  singular,
  path: `/v2.0/qos/policies/{parent}/${path}`,
  parent: "policies",
  weight: 1.2,
  create: (source) => some(source, choices),
  update: (source) => some(source, choices),
});

const rule: Choices = {
  direction: [0.97, oneOf("ingress", "egress")],
  ethertype: [0.5, oneOf("IPv4", "IPv6", "ipv4", "bogus")],
  protocol: [
    0.7,
    oneOf<unknown>("tcp", "udp", "icmp", "TCP", 6, "17", "icmpv6", "any", "bogus", 300, null, "58", "sctp"),
  ],
  port_range_min: [0.5, oneOf<unknown>(1, 22, 80, 0, 70000, "x", null)],
  port_range_max: [0.5, oneOf<unknown>(1, 22, 80, 255, 70000, null)],
  remote_ip_prefix: [
    0.25,
    oneOf<unknown>("10.0.0.0/8", "10.1.2.3/8", "10.0.0.1", "fd00::/8", "0.0.0.0/0", "bogus", null),
  ],
  remote_group_id: [0.15, idOf("security_groups")],
  remote_address_group_id: [0.08, idOf("address_groups")],
  description: [0.2, description],
  project_id: [0.08, projectOfOthers],
};

const rbacTarget = ({ random }: BodySource) => random.pick(["*", ...PROJECTS]);
function rbacPolicy(source: BodySource): Members {
  const [object_type, collection, actions] = source.random.pick([
    ["network", "networks", ["access_as_shared", "access_as_external"]],
    ["security_group", "security_groups", ["access_as_shared"]],
    ["qos_policy", "policies", ["access_as_shared"]],
    ["address_scope", "address_scopes", ["access_as_shared"]],
    ["subnetpool", "subnetpools", ["access_as_shared"]],
    ["address_group", "address_groups", ["access_as_shared", "access_as_external"]],
  ] as const);
  const action = source.random.chance(0.95) ? source.random.pick(actions) : "bogus";
  return { object_type, object_id: idOf(collection)(source), action, target_tenant: rbacTarget(source) };
}

export const POLICY_SUBJECTS: readonly Subject[] = [
  {
    collection: "security_groups",
    singular: "security_group",
    path: "/v2.0/security-groups",
    weight: 5,
    create: (source) => some(source, { ...common, stateful: [0.2, bool] }),
    update: (source) =>
      some(source, {
        name: [0.7, (from) => (from.random.chance(0.1) ? "default" : name(from))],
        description: [0.4, description],
        stateful: [0.2, bool],
      }),
    filters: ["name", "description", "project_id", "stateful", "shared", "tags", "id"],
  },
  {
    collection: "security_group_rules",
    singular: "security_group_rule",
    path: "/v2.0/security-group-rules",
    weight: 8,
    create: (source) => ({ security_group_id: idOf("security_groups")(source), ...some(source, rule) }),
    update: (source) => some(source, { description: [0.9, description] }),
    filters: [
      "direction",
      "ethertype",
      "protocol",
      "port_range_min",
      "remote_group_id",
      "security_group_id",
      "project_id",
      "description",
      "id",
    ],
  },
  {
    collection: "rbac_policies",
    singular: "rbac_policy",
    path: "/v2.0/rbac-policies",
    weight: 5,
    create: rbacPolicy,
    update: (source) => ({ target_tenant: rbacTarget(source) }),
    filters: ["object_type", "object_id", "action", "target_tenant", "project_id"],
  },
  {
    collection: "policies",
    singular: "policy",
    path: "/v2.0/qos/policies",
    weight: 3.5,
    create: (source) => some(source, { ...common, shared: [0.25, bool], is_default: [0.08, bool] }),
    update: (source) =>
      some(source, { ...common, project_id: [0.02, project], shared: [0.25, bool], is_default: [0.1, bool] }),
    filters: ["name", "description", "shared", "is_default", "project_id"],
  },
  policyRules("bandwidth_limit_rules", "bandwidth_limit_rule", bandwidth),
  policyRules("dscp_marking_rules", "dscp_marking_rule", { dscp_mark: [0.97, oneOf<unknown>(26, 0, 3, 56, "x")] }),
  policyRules("minimum_bandwidth_rules", "minimum_bandwidth_rule", minimum),
  policyRules("minimum_packet_rate_rules", "minimum_packet_rate_rule", packets),
  policyRules("packet_rate_limit_rules", "packet_rate_limit_rule", {
    max_kpps: [0.95, oneOf(100, 0)],
    max_burst_kpps: [0.3, oneOf(10, 0)],
    direction: [0.6, oneOf("egress", "ingress")],
  }),
  {
    collection: "logs",
    singular: "log",
    path: "/v2.0/log/logs",
    weight: 1.5,
    create: (source) => ({
      resource_type: source.random.chance(0.9) ? "security_group" : "bogus",
      ...some(source, {
        ...common,
        event: [0.4, oneOf("ALL", "DROP", "ACCEPT", "bogus")],
        enabled: [0.2, bool],
        resource_id: [0.4, idOf("security_groups")],
        target_id: [0.3, idOf("ports")],
      }),
    }),
    update: (source) => some(source, { name: [0.8, name], enabled: [0.3, bool] }),
    filters: ["name", "event", "enabled", "resource_type"],
  },
  { collection: "rule_types", singular: "rule_type", path: "/v2.0/qos/rule-types", weight: 0.3 },
  {
    collection: "loggable_resources",
    singular: "loggable_resource",
    path: "/v2.0/log/loggable-resources",
    weight: 0.2,
  },
];
