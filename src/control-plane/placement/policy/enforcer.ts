import { type Check, type PolicyAttributes, parseRule } from "../../policy/rule-parser.js";
import type { PlacementCredentials, PolicyOptions } from "../options.js";
import { type Action, DEFAULT_RULES } from "./default-rules.js";

/** Decides by oslo.policy's rules what a caller may do. */
export class Enforcer {
  readonly #enforceScope: boolean;
  readonly #checks = new Map<string, Check>();

  constructor(options: Partial<PolicyOptions>) {
    this.#enforceScope = options.enforceScope ?? true;
    const rules = options.rules ?? {};
    for (const [name, rule] of DEFAULT_RULES) {
      const override = rules[name];
      const deprecated = options.enforceNewDefaults === true ? undefined : rule.deprecated;
      const checks = override === undefined ? [rule.check, ...(deprecated ? [deprecated] : [])] : [override];
      const parsed = checks.map(parseRule);
      this.#checks.set(name, (attributes) => parsed.some((check) => check(attributes)));
    }
    for (const [name, rule] of Object.entries(rules)) {
      if (!this.#checks.has(name)) {
        this.#checks.set(name, parseRule(rule));
      }
    }
  }

  /** Why it is refused, as Placement tells it; undefined when it is allowed. */
  rejectionReason(
    credentials: PlacementCredentials,
    action: Action,
    target: PolicyAttributes["target"] = { project_id: credentials.projectId, user_id: credentials.userId },
  ): string | undefined {
    const scopes = DEFAULT_RULES.get(action)?.scopes;
    if (this.#enforceScope && scopes !== undefined && !scopes.includes(scopeOf(credentials))) {
      return action;
    }
    const attributes: PolicyAttributes = {
      credentials: {
        user_id: credentials.userId,
        project_id: credentials.projectId,
        system_scope: credentials.systemScope,
        system: credentials.systemScope,
        domain_id: credentials.domainScope ?? null,
        roles: credentials.roles,
      },
      roles: new Set(credentials.roles.map((role) => role.toLowerCase())),
      target,
      rule: (name) => this.#checks.get(name)?.(attributes) ?? false,
    };
    return attributes.rule(action) ? undefined : `Policy does not allow ${action} to be performed.`;
  }
}

function scopeOf(credentials: PlacementCredentials): "project" | "system" | "domain" {
  if (credentials.systemScope !== null) {
    return "system";
  }
  return credentials.domainScope == null ? "project" : "domain";
}
