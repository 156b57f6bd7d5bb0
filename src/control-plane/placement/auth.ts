import { equalInConstantTime } from "../../runtime/cryptography.js";
import { type Check, type PolicyAttributes, parseRule } from "../policy/rule-parser.js";
import type { AuthOptions, PlacementCredentials, PolicyOptions } from "./options.js";

/** A policy rule that applies when no policy file is configured. */
interface DefaultRule {
  readonly check: string;
  /** Also grants access, unless the new defaults are enforced or a policy file overrides the rule. */
  readonly deprecated?: string;
  /** The token scopes that the rule accepts; absent: any. */
  readonly scopes?: readonly ("project" | "system" | "domain")[];
}

export type Action = (typeof ADMIN_OR_SERVICE)[number] | "placement:usages" | "placement:reshaper:reshape";

const ADMIN = "role:admin";

const base: Readonly<Record<string, DefaultRule>> = {
  admin_api: { check: ADMIN, scopes: ["project"] },
  service_api: { check: "role:service", deprecated: ADMIN, scopes: ["project"] },
  admin_or_service_api: { check: "role:admin or role:service", deprecated: ADMIN, scopes: ["project"] },
  project_reader_api: { check: "role:reader and project_id:%(project_id)s", deprecated: ADMIN },
  admin_or_project_reader_or_service_api: {
    check: "role:admin or rule:project_reader_api or role:service",
    deprecated: ADMIN,
    scopes: ["project"],
  },
};

const ADMIN_OR_SERVICE = [
  "placement:resource_providers:list",
  "placement:resource_providers:create",
  "placement:resource_providers:show",
  "placement:resource_providers:update",
  "placement:resource_providers:delete",
  "placement:resource_classes:list",
  "placement:resource_classes:create",
  "placement:resource_classes:show",
  "placement:resource_classes:update",
  "placement:resource_classes:delete",
  "placement:resource_providers:inventories:list",
  "placement:resource_providers:inventories:create",
  "placement:resource_providers:inventories:show",
  "placement:resource_providers:inventories:update",
  "placement:resource_providers:inventories:delete",
  "placement:resource_providers:aggregates:list",
  "placement:resource_providers:aggregates:update",
  "placement:resource_providers:usages",
  "placement:traits:list",
  "placement:traits:show",
  "placement:traits:update",
  "placement:traits:delete",
  "placement:resource_providers:traits:list",
  "placement:resource_providers:traits:update",
  "placement:resource_providers:traits:delete",
  "placement:allocations:manage",
  "placement:allocations:list",
  "placement:allocations:update",
  "placement:allocations:delete",
  "placement:resource_providers:allocations:list",
  "placement:allocation_candidates:list",
] as const;

/** The default rules of Placement's master branch, by name. With the new defaults, only `service` may reshape. */
const DEFAULT_RULES: ReadonlyMap<string, DefaultRule> = new Map([
  ...Object.entries(base),
  ...ADMIN_OR_SERVICE.map((name): [string, DefaultRule] => [
    name,
    { check: "rule:admin_or_service_api", scopes: ["project"] },
  ]),
  ["placement:usages", { check: "rule:admin_or_project_reader_or_service_api", scopes: ["project"] }],
  ["placement:reshaper:reshape", { check: "rule:service_api", scopes: ["project"] }],
]);

/** Checks whether a caller may perform an action, by oslo.policy's rules. */
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

  /** Returns Placement's message for a rejected action; undefined if the action is allowed. */
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

/**
 * `[api] auth_strategy = noauth2`: trusts a token of the form `user[:project]`. The user `admin` has the role `admin`,
 * other users have no roles.
 * Headers override that: X-Roles the roles, X-Project-Id the project. OpenStack-System-Scope makes the token
 * system-scoped, X-Domain-Id domain-scoped.
 */
export const noauth2: AuthOptions = {
  strategy: "noauth2",
  identityUri: "",
  authenticate: (token, headers) => {
    if (token === undefined) {
      return undefined;
    }
    const colon = token.indexOf(":");
    const userId = colon < 0 ? token : token.slice(0, colon);
    const own = (colon < 0 ? "" : token.slice(colon + 1)) || userId;
    const system = headers["openstack-system-scope"];
    return {
      userId,
      projectId: headers["x-project-id"] ?? (system ? null : own),
      systemScope: system ? "all" : null,
      domainScope: headers["x-domain-id"] ?? null,
      roles: rolesOf(userId, headers["x-roles"]),
    };
  },
};

function rolesOf(userId: string, header: string | undefined): readonly string[] {
  if (header === undefined) {
    return userId === "admin" ? ["admin"] : [];
  }
  return header
    .split(",")
    .map((role) => role.trim())
    .filter((role) => role !== "");
}

/**
 * Accepts one random token, for the user `admin`. The headers of {@link noauth2} override the attributes of that user.
 */
export function ownToken(own: string): AuthOptions {
  return {
    ...noauth2,
    authenticate: (token, headers) =>
      token !== undefined && equalInConstantTime(token, own) ? noauth2.authenticate("admin", headers) : undefined,
  };
}
