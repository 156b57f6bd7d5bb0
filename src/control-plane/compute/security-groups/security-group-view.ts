import type { Json } from "../../http/json.js";
import type { SecurityGroup, SecurityGroupRule } from "../../store/security-groups.js";
import type { Store } from "../../store/store.js";

/** A group as the proxy of Nova shows it: with its ingress rules only. */
export function groupView(store: Store, { uuid, name, description, projectId }: SecurityGroup): Json {
  const rules = store.securityGroups.rulesOf(uuid).filter(({ direction }) => direction === "ingress");
  return { id: uuid, description, name, tenant_id: projectId, rules: rules.map((rule) => ruleView(store, rule)) };
}

export function ruleView(store: Store, rule: SecurityGroupRule): Json {
  const source = rule.remoteGroup === null ? null : store.securityGroups.get(rule.remoteGroup);
  const { from, to } = portsOf(rule);
  return {
    id: rule.uuid,
    parent_group_id: rule.groupUuid,
    ip_protocol: rule.protocol,
    from_port: from,
    to_port: to,
    group: source ? { name: source.name, tenant_id: source.projectId } : {},
    ip_range: source ? {} : { cidr: rule.remotePrefix ?? "0.0.0.0/0" },
  };
}

/** A rule for all ports of a protocol shows the first and the last one; of one without ports -1. */
export function portsOf({ protocol, portMin, portMax }: Pick<SecurityGroupRule, "protocol" | "portMin" | "portMax">) {
  if (protocol === null || portMin !== null || portMax !== null) {
    return { from: portMin, to: portMax };
  }
  return ["tcp", "udp"].includes(protocol) ? { from: 1, to: 65_535 } : { from: -1, to: -1 };
}
