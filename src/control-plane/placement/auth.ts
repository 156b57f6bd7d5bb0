import { equalInConstantTime } from "../../runtime/cryptography.js";
import { Policy } from "../policy/policy.js";
import type { PolicyAttributes } from "../policy/rule-parser.js";
import { PlacementError } from "./model.js";
import type { AuthOptions, PlacementCredentials, PolicyOptions } from "./options.js";

/** A policy rule that applies when no policy file is configured. */
interface DefaultRule {
  readonly check: string;
  /** Also grants access, unless the new defaults are enforced or a policy file overrides the rule. */
  readonly deprecated?: string;
  /** The token scopes that the rule accepts; absent: any. */
  readonly scopes?: readonly ("project" | "system" | "domain")[];
}

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

/** The default rules of Placement's master branch that differ from {@link DEFAULT_RULE}, by name. */
const DEFAULT_RULES: ReadonlyMap<string, DefaultRule> = new Map([
  ...Object.entries(base),
  ["placement:usages", { check: "rule:admin_or_project_reader_or_service_api", scopes: ["project"] }],
  // With the new defaults, only `service` may reshape.
  ["placement:reshaper:reshape", { check: "rule:service_api", scopes: ["project"] }],
]);

const DEFAULT_RULE: DefaultRule = { check: "rule:admin_or_service_api", scopes: ["project"] };

/** Checks whether a caller may perform an action, by oslo.policy's rules. */
export class Enforcer {
  readonly #actions: ReadonlySet<string>;
  readonly #enforceScope: boolean;
  readonly #policy: Policy;

  /** @param actions the names of the rules that have defaults. A reference to any other allows nothing. */
  constructor(
    actions: Iterable<string>,
    { enforceScope = true, enforceNewDefaults = false, rules = {} }: Partial<PolicyOptions>,
  ) {
    this.#actions = new Set(actions);
    this.#enforceScope = enforceScope;
    this.#policy = new Policy((name) => {
      if (Object.hasOwn(rules, name)) {
        return rules[name];
      }
      const { check, deprecated } = this.#defaultRule(name) ?? {};
      return enforceNewDefaults || deprecated === undefined ? check : `${check} or ${deprecated}`;
    });
  }

  /** @throws {PlacementError} PolicyNotAuthorized */
  enforce(
    credentials: PlacementCredentials,
    action: string,
    target: PolicyAttributes["target"] = { project_id: credentials.projectId, user_id: credentials.userId },
  ): void {
    const scopes = this.#defaultRule(action)?.scopes;
    if (this.#enforceScope && scopes !== undefined && !scopes.includes(scopeOf(credentials))) {
      throw new PlacementError("PolicyNotAuthorized", action);
    }
    const isAllowed = this.#policy.allows(action, {
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
    });
    if (!isAllowed) {
      throw new PlacementError("PolicyNotAuthorized", `Policy does not allow ${action} to be performed.`);
    }
  }

  #defaultRule(name: string): DefaultRule | undefined {
    return DEFAULT_RULES.get(name) ?? (this.#actions.has(name) ? DEFAULT_RULE : undefined);
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
