import { badRequest, type Fault } from "../api/fault.js";
import { isInKnownNamespace, ruleOf, type ValueRule } from "./extra-spec-rules.js";

const INTEGER = /^\s*[+-]?[0-9]+(?:_[0-9]+)*\s*$/;
const BOOLEANS = /^\s*(?:1|t|true|on|y|yes|0|f|false|off|n|no)\s*$/i;

/**
 * As Nova from microversion 2.86 on: specs that it knows have the form that it reads; names of other namespaces, and those
 * without one, are the operator's own.
 * @throws {Fault} 400
 */
export function validateExtraSpecs(specs: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(specs)) {
    const rule = ruleOf(name);
    if (rule !== undefined) {
      validateValue(rule, value);
    } else if (isInKnownNamespace(name)) {
      throw failed(`extra spec '${name}' does not appear to be a valid extra spec.`);
    }
  }
}

function validateValue(rule: ValueRule, value: string): void {
  switch (rule.kind) {
    case "any":
      return;
    case "boolean":
      if (!BOOLEANS.test(value)) {
        throw failed(`'${value}' is not a valid boolean-like value.`);
      }
      return;
    case "one-of":
      if (!rule.values.includes(value)) {
        throw failed(`'${value}' is not one of: ${rule.values.join(", ")}.`);
      }
      return;
    case "pattern":
      if (!rule.matches.test(value)) {
        throw failed(`'${value}' is not of the format '${rule.text}'.`);
      }
      return;
    case "integer":
      validateInteger(rule, value);
  }
}

function validateInteger({ min, max }: { readonly min?: number; readonly max?: number }, value: string): void {
  if (!INTEGER.test(value)) {
    throw failed(`'${value}' is not a valid integer value.`);
  }
  const amount = Number(value.replaceAll("_", ""));
  if (max !== undefined && amount > max) {
    throw failed(`'${amount}' is greater than the max value of '${max}'.`);
  }
  if (min !== undefined && amount < min) {
    throw failed(`'${amount}' is less than the min value of '${min}'.`);
  }
}

function failed(what: string): Fault {
  return badRequest(`Validation failed; ${what}`);
}
