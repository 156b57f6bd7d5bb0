import { isOneOf } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { assertWithinQuota } from "../engine/quota.js";
import { viewsOf } from "../engine/records.js";
import {
  DEFAULT_SECURITY_GROUP_RULES,
  type EmbeddedRule,
  SECURITY_GROUP_RULES,
  type SECURITY_GROUPS,
} from "../resources/security-groups.js";
import { DEFAULT_GROUP, ensureDefaultGroup, ensureListedDefaultGroup, type SecurityGroup } from "./default-group.js";
import { PARENT_GROUP, rulesForNewGroup } from "./default-rules.js";

export const SECURITY_GROUP_BEHAVIOUR: Behaviour<typeof SECURITY_GROUPS.attributes> = {
  beforeList: ensureListedDefaultGroup,
  prepareCreate(context, { project_id: project = "", default_of: defaultOf = null }) {
    if (defaultOf === null && project !== "") {
      ensureDefaultGroup(context, project);
    }
    // The rules that the group gets raise its revision.
    return { default_of: defaultOf, revision_number: 1 };
  },
  afterCreate: addDefaultRules,
  prepareUpdate(context, group, changes) {
    if (changes.stateful !== undefined && changes.stateful !== group.stateful && isInUse(context, group.id)) {
      throw groupInUse(group.id);
    }
    if (group.name === DEFAULT_GROUP && changes.name !== undefined) {
      throw networkError(409, "SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.");
    }
    return changes;
  },
  beforeDelete(context, { id, name }) {
    if (isInUse(context, id)) {
      throw groupInUse(id);
    }
    if (name === DEFAULT_GROUP && !context.caller.isAdmin) {
      const message = "Insufficient rights for removing default security group.";
      throw networkError(409, "SecurityGroupCannotRemoveDefault", message);
    }
  },
  afterDelete: ({ sql }, { id }) =>
    sql.execute(`DELETE FROM ${DEFAULT_SECURITY_GROUP_RULES.table} WHERE remote_group_id = ?`, id),
  compute(context, groups) {
    const rules = rulesByGroup(
      context,
      groups.map(({ id }) => id),
    );
    return groups.map(({ id }) => ({ security_group_rules: rules.get(id) ?? [] }));
  },
};

function isInUse({ sql }: NetworkContext, id: string): boolean {
  return sql.get("SELECT 1 FROM network_port_security_groups WHERE security_group_id = ? LIMIT 1", id) !== undefined;
}

const groupInUse = (id: string): Error => networkError(409, "SecurityGroupInUse", `Security Group ${id} in use.`);

/** Adds the rules that new groups get. They count for the quota of rules. */
function addDefaultRules(context: NetworkContext, { id, project_id: project, default_of: defaultOf }: SecurityGroup) {
  const isDefault = defaultOf !== null;
  const templates = rulesForNewGroup(context, isDefault);
  assertWithinQuota(context, SECURITY_GROUP_RULES, project, templates.length);
  const { clock, random } = context.services;
  const now = clock.now();
  for (const template of templates) {
    const { used_in_default_sg: _, used_in_non_default_sg: __, ...rule } = template;
    context.table(SECURITY_GROUP_RULES).insert({
      ...rule,
      id: random.uuid(),
      project_id: project,
      security_group_id: id,
      remote_group_id: rule.remote_group_id === PARENT_GROUP ? id : rule.remote_group_id,
      normalized_cidr: null,
      belongs_to_default_sg: isDefault,
      description: null,
      created_at: now,
      updated_at: now,
      revision_number: 0,
    });
  }
}

/** Renders the rules of groups, with one query for all groups. As in Neutron, they contain attributes that a rule alone does not. */
function rulesByGroup(
  context: NetworkContext,
  groupIds: readonly string[],
): ReadonlyMap<string, readonly EmbeddedRule[]> {
  const records = context.table(SECURITY_GROUP_RULES).find(isOneOf("security_group_id", groupIds));
  const rules = new Map<string, EmbeddedRule[]>();
  for (const view of viewsOf(context.internal, SECURITY_GROUP_RULES, records)) {
    const list = rules.get(String(view.security_group_id)) ?? [];
    list.push({ ...view, tags: [] } as EmbeddedRule);
    rules.set(String(view.security_group_id), list);
  }
  return rules;
}
