import { type Check, type PolicyAttributes, type PolicyRule, parseRule } from "./rule-parser.js";

/** The rules of a service, in oslo.policy's language. A rule is parsed when first used. */
export class Policy<N extends string = string> {
  readonly #findRule: (name: string) => PolicyRule | undefined;
  readonly #checks = new Map<string, Check>();

  /** @param findRule returns undefined for an unknown rule, which allows nothing */
  constructor(findRule: (name: string) => PolicyRule | undefined) {
    this.#findRule = findRule;
  }

  allows(name: N, { credentials, roles, target, field }: Omit<PolicyAttributes, "rule">): boolean {
    const rule = (other: string): boolean => this.#check(other)(attributes);
    const attributes: PolicyAttributes = { credentials, roles, target, rule, ...(field && { field }) };
    return rule(name);
  }

  #check(name: string): Check {
    let check = this.#checks.get(name);
    if (check === undefined) {
      check = parseRule(this.#findRule(name) ?? "!");
      this.#checks.set(name, check);
    }
    return check;
  }
}

/** Creates the policy of a service whose rules are constants. */
export function createPolicy<N extends string>(rules: Readonly<Record<N, PolicyRule>>): Policy<N> {
  const byName = new Map<string, PolicyRule>(Object.entries(rules));
  return new Policy((name) => byName.get(name));
}
