import type { NetworkContext } from "../engine/network-context.js";
import type { RuleType } from "../resources/qos-policies.js";
import { QOS_RULES } from "../resources/qos-rules.js";

/** A rule of any type. */
export interface QosRule {
  readonly id: string;
  readonly policyId: string;
  readonly type: RuleType;
  /** `max_kbps`, `direction`, ... in the order of responses. */
  readonly parameters: Readonly<Record<string, string | number>>;
}

/** Returns the rules of policies by the policies' ids, in the order of responses. @param types default: all */
export function findRulesOf(
  { sql }: NetworkContext,
  policyIds: Iterable<string>,
  types?: readonly RuleType[],
): ReadonlyMap<string, readonly QosRule[]> {
  const queries = QOS_RULES.filter(({ type }) => types?.includes(type) ?? true).map(
    ({ type, resource, parameters }, index) => {
      const members = parameters.map((name) => `'${name}', ${name}`).join(", ");
      return `SELECT policy_id, ${index} AS position, rowid AS number, '${type}', id, json_object(${members})
        FROM ${resource.table} WHERE policy_id IN (SELECT value FROM json_each(?1))`;
    },
  );
  const rows = sql.all(`${queries.join(" UNION ALL ")} ORDER BY position, number`, JSON.stringify([...policyIds]));
  const rules = new Map<string, QosRule[]>();
  for (const [policy, , , type, id, parameters] of rows) {
    const policyId = String(policy);
    const rule = { id: String(id), policyId, type: type as RuleType, parameters: JSON.parse(String(parameters)) };
    const known = rules.get(policyId);
    if (known) {
      known.push(rule);
    } else {
      rules.set(policyId, [rule]);
    }
  }
  return rules;
}
