import { type Check, type PolicyAttributes, parseRule } from "../../policy/rule-parser.js";
import type { LiveToken } from "../tokens/live-tokens.js";
import { DEFAULT_RULES } from "./default-rules.js";

/** What a rule may ask of the thing that is asked for: `target.user.domain_id`. Null counts as a value. */
export type PolicyTarget = Readonly<Record<string, string | null | undefined>>;

const CHECKS: ReadonlyMap<string, Check> = new Map(
  Object.entries(DEFAULT_RULES).map(([name, rule]) => [name, parseRule(rule)]),
);

/** Whether Keystone's default rule of an action lets this token do it. */
export function allows(
  action: string,
  { record, user, roles, targetDomain }: LiveToken,
  target: PolicyTarget,
): boolean {
  const attributes: PolicyAttributes = {
    // A token has no such attribute rather than an empty one: nothing equals it.
    credentials: defined({
      user_id: user.id,
      project_id: record.projectId,
      domain_id: record.domainId,
      system_scope: record.system ? "all" : null,
      token: targetDomain ? { project: { domain: { id: targetDomain.id } } } : null,
    }),
    roles: new Set(roles.map(({ name }) => name.toLowerCase())),
    target: Object.fromEntries(Object.entries(target).filter(([, value]) => value !== undefined)),
    rule: (name) => (CHECKS.get(name) ?? CHECKS.get("admin_required"))?.(attributes) ?? false,
  };
  return attributes.rule(action);
}

function defined(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
