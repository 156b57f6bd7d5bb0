import { EVERY } from "../../resources/condition.js";
import type { InputOf } from "../../resources/resource.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { findRecord } from "../engine/records.js";
import { ADDRESS_GROUPS } from "../resources/address-groups.js";
import { DEFAULT_SECURITY_GROUP_RULES, SECURITY_GROUPS } from "../resources/security-groups.js";
import { ensureDefaultRules, PARENT_GROUP } from "./default-rules.js";
import { checkRule, matchOf, ruleKey } from "./rule-values.js";

type DefaultRuleInput = InputOf<typeof DEFAULT_SECURITY_GROUP_RULES.attributes>;

export const DEFAULT_SECURITY_GROUP_RULE_BEHAVIOUR: Behaviour<typeof DEFAULT_SECURITY_GROUP_RULES.attributes> = {
  beforeList: (context) => ensureDefaultRules(context),
  prepareCreate(context, input) {
    ensureDefaultRules(context);
    const rule = checkRule(matchOf(input));
    const { remote_group_id: group, remote_address_group_id: addressGroup } = rule;
    if (group !== null && group !== PARENT_GROUP) {
      findRecord(context, SECURITY_GROUPS, group);
    }
    if (addressGroup !== null) {
      findRecord(context, ADDRESS_GROUPS, addressGroup);
    }
    assertNew(context, input);
    return rule;
  },
};

/** @throws {HttpError} 409 if an equal rule is used for groups of the same kind */
function assertNew(context: NetworkContext, input: DefaultRuleInput): void {
  const key = ruleKey(checkRule(matchOf(input)));
  const equal = context
    .table(DEFAULT_SECURITY_GROUP_RULES)
    .find(EVERY)
    .find(
      (rule) =>
        ruleKey(rule) === key &&
        ((rule.used_in_default_sg && input.used_in_default_sg === true) ||
          (rule.used_in_non_default_sg && input.used_in_non_default_sg === true)),
    );
  if (equal !== undefined) {
    const message = `Default Security group rule already exists. Rule id is ${equal.id}.`;
    throw networkError(409, "DefaultSecurityGroupRuleExists", message);
  }
}
