import type { Digests, Random } from "../../runtime/cryptography.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { Credentials } from "../credentials.js";
import type { Sql } from "../database/sql.js";
import { HttpError, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { atOnce } from "../http/request.js";
import { toServiceResponse, withHeaders } from "../http/responses.js";
import { routes } from "../http/router.js";
import { type Admission, serve } from "../http/serve.js";
import { IdentityCall, type IdentityRoute, type IdentityServices } from "./api/identity-call.js";
import { renderIdentityError } from "./api/identity-error.js";
import { APPLICATION_CREDENTIAL_ROUTES } from "./application-credentials.js";
import { CATALOG_ROUTES } from "./catalog.js";
import { CREDENTIAL_ROUTES } from "./credentials.js";
import { DOMAIN_ROUTES } from "./domains.js";
import { GROUP_ROUTES } from "./groups.js";
import { effectiveLimit, LIMIT_ROUTES, REGISTERED_LIMIT_ROUTES } from "./limits.js";
import { CONSUMER_ROUTES, POLICY_ROUTES } from "./policies-and-consumers.js";
import { PROJECT_ROUTES } from "./projects.js";
import { GRANT_ROUTES, ROLE_ASSIGNMENT_ROUTES } from "./role-assignments.js";
import { ROLE_ROUTES } from "./roles.js";
import { openIdentityStore, ownId, REGION, type ServiceUser } from "./store/bootstrap.js";
import { PasswordStore } from "./store/password-store.js";
import { DEFAULT_DOMAIN, stableId } from "./store/records.js";
import { SeededIdentityStore } from "./store/seeded-identities.js";
import { callerOf, Impersonations } from "./tokens/impersonation.js";
import { type LiveToken, LiveTokens } from "./tokens/live-tokens.js";
import { AUTH_ROUTES, TOKEN_ROUTES } from "./tokens/token-routes.js";
import { TokenStore } from "./tokens/token-store.js";
import { USER_ROUTES } from "./users.js";

const NO_ROUTE = notFound(
  "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.",
);

const NO_METHOD = new HttpError(405, "The method is not allowed for the requested URL.");

const UNEXPECTED = new HttpError(500, "An unexpected error prevented the server from fulfilling your request.");

const ROUTES: readonly IdentityRoute[] = [
  ...routes<IdentityRoute>({
    "GET /": (call) => ({
      status: 300,
      headers: { location: `${call.request.baseUrl}/v3/` },
      body: { versions: { values: [version(call)] } },
    }),
    "GET /v3": (call) => ({ body: { version: version(call) } }),
  }),
  ...TOKEN_ROUTES,
  ...AUTH_ROUTES,
  ...PROJECT_ROUTES,
  ...DOMAIN_ROUTES,
  ...USER_ROUTES,
  ...GROUP_ROUTES,
  ...ROLE_ROUTES,
  ...GRANT_ROUTES,
  ...ROLE_ASSIGNMENT_ROUTES,
  ...APPLICATION_CREDENTIAL_ROUTES,
  ...CATALOG_ROUTES,
  ...CREDENTIAL_ROUTES,
  ...LIMIT_ROUTES,
  ...REGISTERED_LIMIT_ROUTES,
  ...POLICY_ROUTES,
  ...CONSUMER_ROUTES,
];

export interface IdentityOptions {
  /** Database of the control plane, in which Identity has its own tables. */
  readonly sql: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly digests: Digests;
  readonly logger: Logger;
}

export type Identity = ReturnType<typeof createIdentity>;

export function createIdentity(options: IdentityOptions) {
  const { sql, clock, digests, random } = options;
  const store = openIdentityStore(sql, digests, clock.now());
  const tokens = new TokenStore(sql, options);
  const passwords = new PasswordStore(sql, options);
  const live = new LiveTokens(store, tokens, options);
  return {
    /** Handler of Keystone's API v3; mount it at `/identity`. */
    handle: identityHandler({ store, tokens, passwords, live, digests, random, clock }, options.logger),
    /** Returns a token with its resolved records; undefined if it is not valid. */
    find: (token: string): LiveToken | undefined => live.find(token),
    /** Describes a token's user to a cluster that does not know the user. */
    callerOf: (holder: LiveToken) => callerOf(store, holder),
    /** Finds or creates users that were recorded in another cluster, and issues tokens for them. */
    impersonations: new Impersonations(store, tokens, () => random.hex(16)),
    /** Returns the id of a project of the default domain. */
    projectNamed: (name: string): string | undefined => store.projects.named(name, DEFAULT_DOMAIN)?.id,
    validate: (token: string): Credentials | undefined => live.find(token)?.credentials,
    /**
     * Returns the access rules of a token's application credential; undefined if it has none, so all requests are
     * permitted.
     */
    accessRules: (token: string) => live.find(token)?.accessRules,
    /** Returns a project's limit for a resource of a service; undefined if it is unlimited. */
    limit: (serviceType: string, resource: string, projectId: string): number | undefined => {
      const service_id = stableId(digests, `service/${serviceType}`);
      const limit = effectiveLimit(store, { service_id, region_id: REGION, resource_name: resource }, projectId);
      return limit === -1 ? undefined : limit;
    },
    hasProject: (id: string): boolean => store.projects.get(id)?.is_domain === false,
    /** Projects and users of a cluster file. */
    seededIdentities: new SeededIdentityStore(store, digests).read(),
    /** Issues a token for project `service` with the roles `admin` and `service`. */
    issueServiceToken: (user: ServiceUser): { readonly token: string; readonly expiresAt: number } => {
      const projectId = ownId(store.projects, stableId(digests, "project/service"), "service", DEFAULT_DOMAIN);
      const userId = ownId(store.users, stableId(digests, `user/${user}`), user, DEFAULT_DOMAIN);
      const { token, record } = tokens.issue(userId, { projectId, domainId: null, system: false }, ["password"]);
      return { token, expiresAt: record.expiresAt };
    },
    /** Issues a token for a user's project, with the roles that the user has there. */
    issueUserToken: (userId: string, projectId: string): { readonly token: string; readonly expiresAt: number } => {
      const { token, record } = tokens.issue(userId, { projectId, domainId: null, system: false }, ["password"]);
      return { token, expiresAt: record.expiresAt };
    },
    /**
     * Returns a user's password: the remembered one if it is right, else a new one, which ends the user's tokens. Only
     * digests are stored, so the caller must save the password.
     */
    ensurePassword: async (user: string, remembered?: string): Promise<string> => {
      const own = stableId(digests, `user/${user}`);
      // A client may have renamed a built-in user.
      const userId = store.users.named(user, DEFAULT_DOMAIN)?.id ?? store.users.get(own)?.id;
      if (userId === undefined) {
        throw new Error(`Identity has no ${user}`);
      }
      if (remembered !== undefined && (await passwords.matches(userId, remembered))) {
        return remembered;
      }
      return sql.transaction(() => {
        tokens.revokeAll(userId);
        return passwords.generate(userId);
      });
    },
  };
}

function identityHandler(services: IdentityServices, logger: Logger): ServiceHandler {
  return serve<IdentityRoute, Admission>({
    routes: ROUTES,
    random: services.random,
    headers: (requestId) => ({ vary: "X-Auth-Token", "x-openstack-request-id": requestId }),
    // Routes check tokens themselves, since each has different requirements.
    admit: ({ path }) => ({ path }),
    unrouted: ({ kind }) => (kind === "unknown" ? NO_ROUTE : NO_METHOD),
    handle: (route, routed) =>
      atOnce(route.handle(new IdentityCall(services, routed)), (response) =>
        toServiceResponse(response, routed.request),
      ),
    render: (error, { request }) => challenge(error, request),
    toHttpError: (error, { request: { method, path } }) => {
      logger.error("a request to Identity failed unexpectedly", { err: error, method, path });
      return UNEXPECTED;
    },
  });
}

function challenge(error: HttpError, request: ServiceRequest): ServiceResponse {
  const response = renderIdentityError(error);
  if (error.status !== 401) {
    return response;
  }
  return withHeaders(response, { "www-authenticate": `Keystone uri="${request.baseUrl}"` });
}

function version({ request }: IdentityCall): Json {
  return {
    id: "v3.14",
    status: "stable",
    updated: "2020-04-07T00:00:00Z",
    links: [{ rel: "self", href: `${request.baseUrl}/v3/` }],
    "media-types": [{ base: "application/json", type: "application/vnd.openstack.identity-v3+json" }],
  };
}

/** Milliseconds for which callers share a token; much shorter than a token's lifetime. */
const SHARED = 300_000;

type IssuedToken = ReturnType<Identity["issueServiceToken"]>;

/**
 * Creates a function that returns a shared token of a service user. When thousands of hosts start at the same time, one
 * token is issued and stored instead of thousands.
 */
export function sharedServiceToken(identity: Identity, clock: Clock, user: ServiceUser): () => IssuedToken {
  let shared: IssuedToken | undefined;
  let until = 0;
  return () => {
    // A caller may be here because the shared token was revoked.
    if (shared === undefined || clock.monotonic() >= until || identity.validate(shared.token) === undefined) {
      shared = identity.issueServiceToken(user);
      until = clock.monotonic() + SHARED;
    }
    return shared;
  };
}
