import type { Credentials } from "../credentials.js";
import { badRequest, conflict, HttpError } from "../http/http-error.js";
import { pythonRepr } from "../python/repr.js";
import type { NewRule, SecurityGroupRule } from "../store/security-groups.js";
import type { Store } from "../store/store.js";
import { enforce, invalidInput, may, type NetworkCall } from "./api/call.js";
import type { Input } from "./api/input.js";
import type { Resource } from "./api/resource-routes.js";
import { assertWithinQuota } from "./quotas.js";
import { checkPorts, protocolOf, remotePrefixOf } from "./security-group-rule-values.js";
import { ensureOwnDefault, RULE } from "./security-groups.js";

/** A requested rule before validation. */
interface RequestedRule {
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

/** Attributes whose equality makes two rules duplicates. */
const SAME = [
  ...(["direction", "ethertype", "protocol", "portMin", "portMax", "remotePrefix", "remoteGroup"] as const),
];

export const SECURITY_GROUP_RULES: Resource<SecurityGroupRule> = {
  plural: "security_group_rules",
  singular: "security_group_rule",
  path: "/v2.0/security-group-rules",
  attributes: () => RULE,
  owner: ({ projectId }) => projectId,
  list: (call) => {
    ensureOwnDefault(call);
    return call.store.securityGroups.rules(call.listedProject);
  },
  find: ({ store }, id) => store.securityGroups.rule(id) ?? undefined,
  create: createRule,
  remove: ({ store }, { uuid, groupUuid }) => {
    store.transaction(() => {
      store.securityGroups.destroyRule(uuid);
      const group = store.securityGroups.get(groupUuid);
      if (group) {
        store.securityGroups.update(group, {});
      }
    });
  },
};

function createRule(call: NetworkCall, input: Input): SecurityGroupRule {
  const projectId = input.project(call);
  const requestedRule = {
    projectId,
    groupUuid: input.require("security_group_id", groupId(input, "security_group_id")),
    direction: input.require("direction", input.text("direction")),
    ethertype: input.text("ethertype") ?? "IPv4",
    protocol: input.any("protocol"),
    portMin: input.any("port_range_min"),
    portMax: input.any("port_range_max"),
    remotePrefix: input.any("remote_ip_prefix"),
    remoteGroup: groupId(input, "remote_group_id") ?? null,
    description: input.text("description") ?? "",
  };
  input.uuid("remote_address_group_id");
  input.end();
  enforce(call.caller, "create_security_group_rule", projectId);
  return addRule(call, requestedRule);
}

/** Treats null as absent. Neutron searches a group by any string, so that one that is no UUID is a 404. */
function groupId(input: Input, name: string): string | undefined {
  return input.any(name) === null ? undefined : input.text(name)?.toLowerCase();
}

/** @throws {HttpError} 400, 404, 409 */
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
      throw conflict(text, "SecurityGroupRuleExists");
    }
    assertWithinQuota(store, "security_group_rule", rule.projectId);
    store.securityGroups.update(group, {});
    return store.securityGroups.addRule(rule);
  });
}

function requireGroup({ store, caller }: RuleContext, uuid: string) {
  const group = store.securityGroups.get(uuid);
  if (!group || !may(caller, "get_security_group", group.projectId)) {
    throw new HttpError(404, `Security group ${uuid} does not exist`, { code: "SecurityGroupNotFound" });
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
    throw badRequest(text, "SecurityGroupMultipleRemoteEntites");
  }
  return { groupUuid, projectId, direction, ethertype, protocol, ...ports, remotePrefix, remoteGroup, description };
}

function ethertypeOf(text: string): "IPv4" | "IPv6" {
  const found = (["IPv4", "IPv6"] as const).find((one) => one.toLowerCase() === text.toLowerCase());
  if (!found) {
    throw badRequest(
      `Security group rule for ethertype '${text}' not supported. Allowed values are ['IPv4', 'IPv6'].`,
      "SecurityGroupRuleInvalidEtherType",
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
    throw badRequest(`Invalid value for port ${pythonRepr(value)} (${name})`, "SecurityGroupInvalidPortValue");
  }
  return port;
}
