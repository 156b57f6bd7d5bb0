import type { AuthOptions } from "../options.js";

/**
 * `[api] auth_strategy = noauth2`: takes a token `user[:project]` for granted. The user `admin` has the role `admin`,
 * others have none. Headers override that: X-Roles the roles, X-Project-Id the project; OpenStack-System-Scope makes the
 * token system-scoped, X-Domain-Id domain-scoped.
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
