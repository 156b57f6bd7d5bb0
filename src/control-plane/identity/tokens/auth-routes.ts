import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { forbidden } from "../api/identity-error.js";
import { listBody } from "../api/listing.js";
import { withLinks } from "../api/resource-routes.js";
import { catalogOf } from "../catalog/catalog.js";
import { domainView } from "../domains/routes.js";
import { effectiveRoles, SYSTEM } from "../grants/effective-roles.js";
import { domainsOf, projectsOf } from "../grants/scopes-of-user.js";
import type { Project } from "../store/records.js";
import { PerToken } from "./live-tokens.js";

const PROJECTS = new PerToken<readonly Project[]>();

function ownProjects(call: IdentityCall) {
  const live = call.token;
  const projects = PROJECTS.of(live, () => projectsOf(call.store, live.user.id).filter(({ enabled }) => enabled));
  const views = projects.map((project) => withLinks(call, "projects", project));
  return { body: listBody(call, "projects", views) };
}

function ownDomains(call: IdentityCall) {
  const domains = domainsOf(call.store, call.token.user.id).filter(({ enabled }) => enabled);
  const views = domains.map((domain) => withLinks(call, "domains", domainView(domain)));
  return { body: listBody(call, "domains", views) };
}

/** What the holder of a token may have tokens for. */
export const AUTH_ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: "/v3/auth/catalog",
    handle: (call) => {
      if (!call.token.scope) {
        throw forbidden("get the catalog with a token that has no scope");
      }
      return { body: listBody(call, "catalog", catalogOf(call, call.token) as never) };
    },
  },
  { method: "GET", path: "/v3/auth/projects", handle: ownProjects },
  { method: "GET", path: "/v3/auth/domains", handle: ownDomains },
  { method: "GET", path: "/v3/OS-FEDERATION/projects", handle: ownProjects },
  { method: "GET", path: "/v3/OS-FEDERATION/domains", handle: ownDomains },
  {
    method: "GET",
    path: "/v3/auth/system",
    handle: (call) => {
      const all = effectiveRoles(call.store, call.token.user.id, SYSTEM).length > 0;
      return { body: listBody(call, "system", all ? [{ all: true }] : []) };
    },
  },
];
