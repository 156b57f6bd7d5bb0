import type { Logger } from "../../runtime/logger.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/service.js";
import { atOnce } from "../http/request.js";
import type { Json } from "../http/json.js";
import { withHeaders } from "../http/responses.js";
import { type Admission, serve } from "../http/serve.js";
import { IdentityCall, type IdentityResponse, type IdentityRoute, type IdentityServices } from "./api/identity-call.js";
import { IdentityError } from "./api/identity-error.js";
import { APPLICATION_CREDENTIAL_ROUTES } from "./application-credentials/routes.js";
import { CATALOG_ROUTES } from "./catalog/routes.js";
import { CREDENTIAL_ROUTES } from "./credentials/routes.js";
import { DOMAIN_ROUTES } from "./domains/routes.js";
import { GRANT_ROUTES } from "./grants/grant-routes.js";
import { ROLE_ASSIGNMENT_ROUTES } from "./grants/role-assignments.js";
import { GROUP_ROUTES } from "./groups/routes.js";
import { LIMIT_ROUTES } from "./limits/limits.js";
import { REGISTERED_LIMIT_ROUTES } from "./limits/registered-limits.js";
import { CONSUMER_ROUTES } from "./oauth/routes.js";
import { POLICY_ROUTES } from "./policies/routes.js";
import { PROJECT_ROUTES } from "./projects/routes.js";
import { ROLE_ROUTES } from "./roles/routes.js";
import { AUTH_ROUTES } from "./tokens/auth-routes.js";
import { TOKEN_ROUTES } from "./tokens/token-routes.js";
import { USER_ROUTES } from "./users/routes.js";

export function identityHandler(services: IdentityServices, logger: Logger): ServiceHandler {
  return serve<IdentityRoute, Admission>({
    routes: ROUTES,
    random: services.random,
    headers: (requestId) => ({ vary: "X-Auth-Token", "x-openstack-request-id": requestId }),
    // Tokens are asked for here: each route says itself what a caller needs.
    admit: ({ path }) => ({ path }),
    unrouted: (_, { kind }) => (kind === "unknown" ? NO_ROUTE : NO_METHOD).toResponse(),
    handle: (route, routed) =>
      atOnce(route.handle(new IdentityCall(services, routed)), (response) =>
        toServiceResponse(response, routed.request.method === "HEAD"),
      ),
    failed: (error, { request }) => {
      if (error instanceof IdentityError) {
        return challenge(error, request);
      }
      const { method, path } = request;
      logger.error("a request to Identity failed unexpectedly", { err: error, method, path });
      return UNEXPECTED.toResponse();
    },
  });
}

const NO_ROUTE = new IdentityError(
  404,
  "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.",
);
const NO_METHOD = new IdentityError(405, "The method is not allowed for the requested URL.");
const UNEXPECTED = new IdentityError(500, "An unexpected error prevented the server from fulfilling your request.");

function toServiceResponse({ status = 200, headers = {}, body }: IdentityResponse, head: boolean): ServiceResponse {
  return {
    status,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body: body === undefined || head ? "" : JSON.stringify(body),
  };
}

function challenge(error: IdentityError, request: ServiceRequest): ServiceResponse {
  const response = error.toResponse();
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

const ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: "/",
    handle: (call) => ({
      status: 300,
      headers: { location: `${call.request.baseUrl}/v3/` },
      body: { versions: { values: [version(call)] } },
    }),
  },
  { method: "GET", path: "/v3", handle: (call) => ({ body: { version: version(call) } }) },
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
