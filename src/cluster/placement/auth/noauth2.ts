import type { AuthOptions } from "../options.js";

/**
 * `[api] auth_strategy = noauth2`: takes a token `user[:project]` for granted. The user `admin` has the role `admin`,
 * others have none; an X-Roles header overrides that, an OpenStack-System-Scope header makes the token system-scoped.
 */
export const noauth2: AuthOptions = {
  strategy: "noauth2",
  identityUri: "",
  authenticate: (token, headers) => {
    if (token === undefined) return undefined;
    const colon = token.indexOf(":");
    const userId = colon < 0 ? token : token.slice(0, colon);
    const projectId = colon < 0 ? "" : token.slice(colon + 1);
    const systemScope = headers["openstack-system-scope"] === undefined ? null : "all";
    const roles = headers["x-roles"]?.split(",") ?? (userId === "admin" ? ["admin"] : []);
    return { userId, projectId: systemScope === null ? projectId || userId : null, systemScope, roles };
  },
};
