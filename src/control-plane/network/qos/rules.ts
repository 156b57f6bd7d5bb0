import { or, where } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { networkError, notImplemented } from "../engine/network-errors.js";
import { PORTS } from "../resources/ports.js";
import { QOS_POLICIES, type RuleType } from "../resources/qos-policies.js";
import type { DSCP_MARKING_RULES } from "../resources/qos-rules.js";
import { assertPortsSupportPolicy } from "./rule-support.js";
import { findRulesOf, type QosRule } from "./rules-of-policies.js";

/** Attributes that rules of all types have. */
type RuleAttributes = Pick<(typeof DSCP_MARKING_RULES)["attributes"], "id" | "policy_id" | "project_id">;

type Parameters = Readonly<Record<string, unknown>>;

/** Creates the behaviour of rules of a type, under both of their paths. */
export function createRuleBehaviour(type: RuleType): Behaviour<RuleAttributes> {
  return {
    prepareCreate: (context, input) => {
      assertNoConflict(context, { id: undefined, type, policyId: String(input.policy_id) }, input, input);
      return {};
    },
    afterCreate: (context, { policy_id: policyId }) => onChange(context, type, policyId),
    prepareUpdate: (context, record, changes) => {
      const rule = { id: record.id, type, policyId: record.policy_id };
      assertNoConflict(context, rule, changes, { ...record, ...changes });
      return changes;
    },
    afterUpdate: (context, { policy_id: policyId }, changes) => {
      if (Object.keys(changes).length > 0) {
        onChange(context, type, policyId);
      }
    },
    afterDelete: (context, { policy_id: policyId }) => onChange(context, type, policyId),
  };
}

/** A new or changed rule. */
interface ChangedRule {
  readonly id: string | undefined;
  readonly type: RuleType;
  readonly policyId: string;
}

/**
 * @param changes the parameters of the request
 * @param parameters those that the rule will have
 * @throws {HttpError} 409 for a rule that contradicts, or repeats, another rule of the policy
 */
function assertNoConflict(
  context: NetworkContext,
  { id, type, policyId }: ChangedRule,
  changes: Parameters,
  parameters: Parameters,
): void {
  const rules = findRulesOf(context, [policyId]).get(policyId) ?? [];
  for (const rule of rules) {
    const value = contradictingBandwidth(rule, changes);
    if (value !== undefined) {
      throw contradiction(
        policyId,
        rule,
        value,
        rule.parameters[rule.type === "bandwidth_limit" ? "max_kbps" : "min_kbps"],
      );
    }
  }
  const others = rules.filter((rule) => rule.type === type && rule.id !== id);
  const { direction } = parameters;
  const mixed = others.find((rule) => (rule.parameters.direction === "any") !== (direction === "any"));
  if (mixed && type === "minimum_packet_rate") {
    throw contradiction(policyId, mixed, direction, mixed.parameters.direction);
  }
  const same = others.find((rule) => rule.parameters.direction === direction);
  if (same) {
    const message = `Rule ${type} conflicts with rule ${same.id} which already exists in QoS Policy ${policyId}.`;
    throw networkError(409, "QoSRulesConflict", message);
  }
}

/** Returns a guaranteed bandwidth above the limit of a rule, or a limit below what a rule guarantees. */
function contradictingBandwidth({ type, parameters }: QosRule, { min_kbps: min, max_kbps: max }: Parameters): unknown {
  if (type === "minimum_bandwidth" && typeof max === "number" && Number(parameters.min_kbps) > max) {
    return max;
  }
  return type === "bandwidth_limit" && typeof min === "number" && Number(parameters.max_kbps) < min ? min : undefined;
}

function contradiction(policyId: string, { type }: QosRule, value: unknown, existing: unknown) {
  const message = `Unable to add the rule with value ${value} to the policy ${policyId} as the existing rule of type ${type} has value ${existing}.`;
  return networkError(409, "QoSRuleParameterConflict", message);
}

/** Checks the ports that have the policy, themselves or by their network, and raises its revision. */
function onChange(context: NetworkContext, type: RuleType, policyId: string): void {
  const own = where`qos_policy_id = ${policyId}`;
  const ofNetwork = where`qos_policy_id IS NULL AND network_id IN
    (SELECT id FROM network_networks WHERE qos_policy_id = ${policyId})`;
  const ports = context.table(PORTS).find(or(own, ofNetwork));
  assertPortsSupportPolicy(context, policyId, ports);
  const isAllocated = type === "minimum_bandwidth" || type === "minimum_packet_rate";
  if (isAllocated && ports.some((port) => port.device_owner.startsWith("compute:"))) {
    throw notImplemented("Cannot update QoS policies/rules backed by resources tracked in Placement");
  }
  context.touch(QOS_POLICIES, policyId);
}
