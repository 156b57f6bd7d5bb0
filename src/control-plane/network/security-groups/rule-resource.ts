import type { SecurityGroupRule } from "../../store/security-groups.js";
import type { NetworkCall } from "../api/call.js";
import type { Input } from "../api/input.js";
import { enforce } from "../api/policy.js";
import type { Resource } from "../api/resource-routes.js";
import { ensureOwnDefault } from "./group-resource.js";
import { addRule } from "./new-rule.js";
import { RULE } from "./rule-view.js";

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

/** Null counts as absent. Neutron looks for a group by whatever text it is given: what is not a UUID is not found. */
function groupId(input: Input, name: string): string | undefined {
  return input.any(name) === null ? undefined : input.text(name)?.toLowerCase();
}
