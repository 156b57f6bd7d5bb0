import { type Condition, where } from "../../resources/condition.js";
import type { RecordOf } from "../../resources/resource.js";
import { createOnce } from "../engine/create-once.js";
import type { NetworkContext } from "../engine/network-context.js";
import { DEFAULT_SECURITY_GROUP_RULES } from "../resources/security-groups.js";

type DefaultRule = RecordOf<typeof DEFAULT_SECURITY_GROUP_RULES.attributes>;

/** The remote group of a default rule that stands for the new group itself. */
export const PARENT_GROUP = "PARENT";

/** Neutron's rules for new groups, with fixed ids: all may send, and members of `default` reach each other. */
const INITIAL_RULES = [
  { id: "d5000000-0000-4000-8000-000000000001", direction: "egress", ethertype: "IPv4" },
  { id: "d5000000-0000-4000-8000-000000000002", direction: "egress", ethertype: "IPv6" },
  { id: "d5000000-0000-4000-8000-000000000003", direction: "ingress", ethertype: "IPv4" },
  { id: "d5000000-0000-4000-8000-000000000004", direction: "ingress", ethertype: "IPv6" },
] as const;

/** Creates Neutron's rules for new groups at first use. */
export function ensureDefaultRules(context: NetworkContext): void {
  createOnce(context, "default-security-group-rules", () => {
    for (const rule of INITIAL_RULES) {
      const isIngress = rule.direction === "ingress";
      context.table(DEFAULT_SECURITY_GROUP_RULES).insert({
        ...rule,
        description: `Legacy default SG rule for ${rule.direction} traffic`,
        protocol: null,
        port_range_min: null,
        port_range_max: null,
        remote_ip_prefix: null,
        remote_address_group_id: null,
        remote_group_id: isIngress ? PARENT_GROUP : null,
        used_in_default_sg: true,
        used_in_non_default_sg: !isIngress,
      });
    }
  });
}

/** Returns the rules that a new group gets. */
export function rulesForNewGroup(context: NetworkContext, isDefaultGroup: boolean): readonly DefaultRule[] {
  ensureDefaultRules(context);
  const isUsed: Condition = isDefaultGroup ? where`used_in_default_sg = 1` : where`used_in_non_default_sg = 1`;
  return context.table(DEFAULT_SECURITY_GROUP_RULES).find(isUsed);
}
