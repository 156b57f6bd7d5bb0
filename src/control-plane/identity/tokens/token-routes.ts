import { notFound } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { isoMicroseconds } from "../../http/times.js";
import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { expecting, forbidden } from "../api/identity-error.js";
import { listBody, withLinks } from "../api/resource-routes.js";
import { type CatalogService, catalogOf } from "../catalog.js";
import { domainView } from "../domains.js";
import { domainsOf, effectiveRoles, projectsOf, SYSTEM } from "../effective-roles.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { Project } from "../store/records.js";
import { authenticate, readTokenRequest } from "./authenticate.js";
import { type LiveToken, PerToken } from "./live-tokens.js";

async function issueToken(call: IdentityCall): Promise<RouteResponse> {
  if (call.request.body === "") {
    throw expecting("auth", "request body");
  }
  const { services } = call;
  const { token, live } = await authenticate(services, readTokenRequest(call.json()), services.clock.now());
  return tokenResponse(call, token, live, 201);
}

function tokenResponse(call: IdentityCall, token: string, live: LiveToken, status: number): RouteResponse {
  const catalog = call.query.get("nocatalog") === undefined ? catalogOf(call, live) : undefined;
  return { status, headers: { "x-subject-token": token }, body: tokenView(call.store, live, catalog) };
}

/** Returns the token in `X-Subject-Token`. @throws {HttpError} 401, 403, 404 */
function subject(call: IdentityCall, rule: string): { readonly token: string; readonly live: LiveToken } {
  const token = call.request.headers["x-subject-token"] ?? "";
  const live = call.services.live.find(token);
  // A missing token has no owner, so any caller gets 404 instead of 403.
  call.enforce(rule, { "target.token.user_id": live?.user.id ?? call.token.user.id });
  if (!live) {
    throw notFound(token === "" ? "No token in the request" : "Failed to validate token");
  }
  return { token, live };
}

function showToken(call: IdentityCall): RouteResponse {
  const { token, live } = subject(call, "identity:validate_token");
  return tokenResponse(call, token, live, 200);
}

function revokeToken(call: IdentityCall): RouteResponse {
  call.services.tokens.revoke(subject(call, "identity:revoke_token").token);
  return { status: 204 };
}

export const TOKEN_ROUTES = routes<IdentityRoute>({
  "POST /v3/auth/tokens": issueToken,
  "GET /v3/auth/tokens": showToken,
  "DELETE /v3/auth/tokens": revokeToken,
});

/** Renders the body of a token response. @param catalog undefined omits it; unscoped tokens have none */
function tokenView(store: IdentityStore, live: LiveToken, catalog: readonly CatalogService[] | undefined): Json {
  const { record, user, domain, scope, roles } = live;
  const credential =
    record.applicationCredentialId === null
      ? undefined
      : store.applicationCredentials.get(record.applicationCredentialId);
  return {
    token: {
      methods: [...record.methods],
      user: { domain: named(domain), ...named(user), password_expires_at: null },
      audit_ids: [...record.auditIds],
      expires_at: `${isoMicroseconds(record.expiresAt)}Z`,
      issued_at: `${isoMicroseconds(record.issuedAt)}Z`,
      ...scopeView(live),
      ...(scope ? { roles: roles.map(named) } : {}),
      ...(scope && catalog ? { catalog: catalog as unknown as Json } : {}),
      ...(credential ? { application_credential: { ...named(credential), restricted: !credential.unrestricted } } : {}),
    },
  };
}

function scopeView({ record, target, targetDomain }: LiveToken): Readonly<Record<string, Json>> {
  if (record.system) {
    return { system: { all: true } };
  }
  if (!target) {
    return {};
  }
  if (record.domainId !== null) {
    return { domain: named(target) };
  }
  return { project: { domain: named(targetDomain ?? target), ...named(target) }, is_domain: target.is_domain };
}

function named({ id, name }: { readonly id: string; readonly name: string }) {
  return { id, name };
}

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

/** Routes for the catalog, projects, domains and system scopes that are available to a token. */
export const AUTH_ROUTES = routes<IdentityRoute>({
  "GET /v3/auth/catalog": (call) => {
    if (!call.token.scope) {
      throw forbidden("get the catalog with a token that has no scope");
    }
    return { body: listBody(call, "catalog", catalogOf(call, call.token) as never) };
  },
  "GET /v3/auth/projects": ownProjects,
  "GET /v3/auth/domains": ownDomains,
  "GET /v3/OS-FEDERATION/projects": ownProjects,
  "GET /v3/OS-FEDERATION/domains": ownDomains,
  "GET /v3/auth/system": (call) => {
    const all = effectiveRoles(call.store, call.token.user.id, SYSTEM).length > 0;
    return { body: listBody(call, "system", all ? [{ all: true }] : []) };
  },
});
