import { where } from "../../resources/condition.js";
import type { InputOf } from "../../resources/resource.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { networkError, recordNotFound } from "../engine/network-errors.js";
import { findRecord } from "../engine/records.js";
import { seesAll } from "../engine/sharing.js";
import { ADDRESS_GROUPS } from "../resources/address-groups.js";
import { SECURITY_GROUP_RULES, SECURITY_GROUPS } from "../resources/security-groups.js";
import { ensureListedDefaultGroup } from "./default-group.js";
import { checkRule, matchOf, normalizeCidr, type RuleMatch, ruleKey } from "./rule-values.js";

type RuleInput = InputOf<typeof SECURITY_GROUP_RULES.attributes>;

export const SECURITY_GROUP_RULE_BEHAVIOUR: Behaviour<typeof SECURITY_GROUP_RULES.attributes> = {
  beforeList: ensureListedDefaultGroup,
  /** As Neutron's policy, it shows the rules of the caller's own groups, and not those of shared ones. */
  visible: ({ caller }) => ({
    sql: `${SECURITY_GROUP_RULES.table}.security_group_id IN (SELECT id FROM ${SECURITY_GROUPS.table} WHERE project_id = ?)`,
    values: [caller.projectId],
  }),
  isForeignHidden: true,
  beforeBulkCreate(context, inputs) {
    const [first] = inputs;
    if (inputs.some(({ security_group_id: id }) => id !== first?.security_group_id)) {
      const message = "Only allowed to update rules for one security profile at a time";
      throw networkError(400, "SecurityGroupNotSingleGroupRules", message);
    }
    if (inputs.some(({ project_id: id }) => id !== first?.project_id)) {
      const message = "Multiple tenant_ids in bulk security group rule create not allowed";
      throw networkError(400, "SecurityGroupRulesNotSingleTenant", message);
    }
    const keys = inputs.map((input) => ruleKey(checkReferences(context, input)));
    if (new Set(keys).size < keys.length) {
      throw networkError(409, "DuplicateSecurityGroupRuleInPost", "Duplicate Security Group Rule in POST.");
    }
  },
  prepareCreate(context, input) {
    const rule = checkReferences(context, input);
    const groupId = input.security_group_id ?? "";
    assertNew(context, groupId, rule);
    const { remote_ip_prefix: prefix } = rule;
    return {
      ...rule,
      normalized_cidr: prefix === null ? null : normalizeCidr(prefix),
      belongs_to_default_sg: context.table(SECURITY_GROUPS).has(where`id = ${groupId} AND default_of IS NOT NULL`),
    };
  },
  /** The owner of the group cannot delete the rules that administrators made in it. */
  beforeDelete(context, { id, project_id: project }) {
    if (!seesAll(context) && project !== context.caller.projectId) {
      throw recordNotFound(SECURITY_GROUP_RULES as never, id);
    }
  },
  afterCreate: (context, { security_group_id: id }) => context.touch(SECURITY_GROUPS, id),
  afterDelete: (context, { security_group_id: id }) => context.touch(SECURITY_GROUPS, id),
};

/** Returns the canonical rule, if the project may use its group and its remote. @throws {HttpError} 400, 404 */
function checkReferences(context: NetworkContext, input: RuleInput): RuleMatch {
  const rule = checkRule(matchOf(input));
  const { remote_group_id: group, remote_address_group_id: addressGroup } = rule;
  const project = context.as({ ...context.caller, projectId: input.project_id ?? "" });
  if (group !== null) {
    findRecord(project, SECURITY_GROUPS, group);
  }
  if (addressGroup !== null) {
    findRecord(project, ADDRESS_GROUPS, addressGroup);
  }
  findRecord(project, SECURITY_GROUPS, input.security_group_id ?? "");
  return rule;
}

/** @throws {HttpError} 409 if the group has an equal rule */
function assertNew(context: NetworkContext, groupId: string, rule: RuleMatch): void {
  const key = ruleKey(rule);
  const rules = context.table(SECURITY_GROUP_RULES).find(where`security_group_id = ${groupId}`);
  const equal = rules.find((existing) => ruleKey(existing) === key);
  if (equal !== undefined) {
    const message = `Security group rule already exists. Rule id is ${equal.id}.`;
    throw networkError(409, "SecurityGroupRuleExists", message);
  }
}
