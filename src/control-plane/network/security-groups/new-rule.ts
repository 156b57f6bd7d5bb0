import type { Credentials } from "../../credentials.js";
import { pythonRepr } from "../../python/plain-repr.js";
import type { NewRule, SecurityGroupRule } from "../../store/security-groups.js";
import type { Store } from "../../store/store.js";
import { invalidInput, NetworkFault } from "../api/fault.js";
import { may } from "../api/policy.js";
import { assertWithinQuota } from "../info/quotas.js";
import { remotePrefixOf } from "./remote-prefix.js";
import { checkPorts, protocolOf } from "./rule-protocol.js";

/** A rule as it is asked for; nothing of it has been judged. */
export interface RequestedRule {
  readonly projectId: string;
  readonly groupUuid: string;
  readonly direction: string;
  readonly ethertype: string;
  readonly protocol: unknown;
  readonly portMin: unknown;
  readonly portMax: unknown;
  readonly remotePrefix: unknown;
  readonly remoteGroup: string | null;
  readonly description: string;
}

interface RuleContext {
  readonly store: Store;
  readonly caller: Credentials;
}

/** @throws {NetworkFault} 400, 404, 409 */
export function addRule(context: RuleContext, requested: RequestedRule): SecurityGroupRule {
  const { store } = context;
  const rule = checkedRule(requested);
  const group = requireGroup(context, rule.groupUuid);
  if (rule.remoteGroup !== null) {
    requireGroup(context, rule.remoteGroup);
  }
  return store.transaction(() => {
    const same = store.securityGroups.rulesOf(group.uuid).find((one) => SAME.every((key) => one[key] === rule[key]));
    if (same) {
      const text = `Security group rule already exists. Rule id is ${same.uuid}.`;
      throw new NetworkFault(409, "SecurityGroupRuleExists", text);
    }
    assertWithinQuota(store, "security_group_rule", rule.projectId);
    store.securityGroups.update(group, {});
    return store.securityGroups.addRule(rule);
  });
}

/** Rules that are the same in these let the same through. */
const SAME = [
  ...(["direction", "ethertype", "protocol", "portMin", "portMax", "remotePrefix", "remoteGroup"] as const),
];

function requireGroup({ store, caller }: RuleContext, uuid: string) {
  const group = store.securityGroups.get(uuid);
  if (!group || !may(caller, "get_security_group", group.projectId)) {
    throw new NetworkFault(404, "SecurityGroupNotFound", `Security group ${uuid} does not exist`);
  }
  return group;
}

function checkedRule(requested: RequestedRule): NewRule {
  const { groupUuid, projectId, remoteGroup, description } = requested;
  const direction = requested.direction.toLowerCase();
  if (direction !== "ingress" && direction !== "egress") {
    throw invalidInput("direction", `'${requested.direction}' is not in ['ingress', 'egress'].`);
  }
  const ethertype = ethertypeOf(requested.ethertype);
  const protocol = protocolOf(requested.protocol, ethertype);
  const ports = {
    portMin: portOf("port_range_min", requested.portMin),
    portMax: portOf("port_range_max", requested.portMax),
  };
  checkPorts(protocol, ports.portMin, ports.portMax);
  const remotePrefix = remotePrefixOf(requested.remotePrefix, ethertype);
  if (remotePrefix !== null && remoteGroup !== null) {
    const text = "Only remote_ip_prefix or remote_group_id may be provided.";
    throw new NetworkFault(400, "SecurityGroupMultipleRemoteEntites", text);
  }
  return { groupUuid, projectId, direction, ethertype, protocol, ...ports, remotePrefix, remoteGroup, description };
}

function ethertypeOf(text: string): "IPv4" | "IPv6" {
  const found = (["IPv4", "IPv6"] as const).find((one) => one.toLowerCase() === text.toLowerCase());
  if (!found) {
    throw new NetworkFault(
      400,
      "SecurityGroupRuleInvalidEtherType",
      `Security group rule for ethertype '${text}' not supported. Allowed values are ['IPv4', 'IPv6'].`,
    );
  }
  return found;
}

function portOf(name: string, value: unknown): number | null {
  if (value === undefined || value === null) {
    return null;
  }
  const port = typeof value === "string" && /^\d{1,5}$/.test(value) ? Number(value) : value;
  if (typeof port !== "number" || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new NetworkFault(
      400,
      "SecurityGroupInvalidPortValue",
      `Invalid value for port ${pythonRepr(value)} (${name})`,
    );
  }
  return port;
}
