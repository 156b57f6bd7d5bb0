import { EVERY } from "../../resources/condition.js";
import type { Behaviour } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import type { NetworkAttributeMap, NetworkType } from "../engine/network-resource.js";
import type { RULE_TYPES } from "../resources/qos-policies.js";
import { QOS_RULES } from "../resources/qos-rules.js";

/** The one loaded driver supports all types, so that no filter leaves one out. */
export const RULE_TYPE_BEHAVIOUR: Behaviour<typeof RULE_TYPES.attributes> = {
  filters: { all_rules: () => EVERY, all_supported: () => EVERY },
  computeForShow: ({ caller }, { type }) => {
    if (!caller.isAdmin) {
      throw networkError(403, "NotAuthorized", "Not authorized.");
    }
    return { drivers: [{ name: "openvswitch", supported_parameters: describeParameters(type) }] };
  },
};

function describeParameters(type: string) {
  const rules = QOS_RULES.find((one) => one.type === type);
  const attributes: NetworkAttributeMap = rules?.resource.attributes ?? {};
  return (rules?.parameters ?? []).map((name) => ({ parameter_name: name, ...describeValues(attributes[name]?.type) }));
}

function describeValues({ validator, parameter }: Partial<NetworkType> = {}) {
  const values = parameter as readonly (string | number)[];
  return validator === "type:range"
    ? { parameter_values: { start: values[0] ?? 0, end: values[1] ?? 0 }, parameter_type: "range" }
    : { parameter_values: [...values], parameter_type: "choices" };
}
