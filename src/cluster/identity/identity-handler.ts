import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/service.js";
import type { Json } from "../http/json.js";
import { Query } from "../http/query.js";
import { newRequestId } from "../http/request-id.js";
import { Router } from "../http/router.js";
import type { IdentityCall, IdentityRoute, IdentityServices } from "./identity-call.js";
import { IdentityError } from "./identity-error.js";
import { LIST_ROUTES } from "./list-routes.js";
import { ROLE_ASSIGNMENT_ROUTES } from "./role-assignments.js";
import { TOKEN_ROUTES } from "./token-routes.js";

export function identityHandler(services: IdentityServices): ServiceHandler {
  const router = new Router(ROUTES);
  return (request) => {
    const answer = (): ServiceResponse => {
      try {
        return respond(services, router, request);
      } catch (error) {
        if (error instanceof IdentityError) {
          return challenge(error, request);
        }
        return new IdentityError(
          500,
          "An unexpected error prevented the server from fulfilling your request.",
        ).toResponse();
      }
    };
    const response = answer();
    return {
      ...response,
      headers: { ...response.headers, vary: "X-Auth-Token", "x-openstack-request-id": newRequestId(services.random) },
    };
  };
}

function respond(services: IdentityServices, router: Router<IdentityRoute>, request: ServiceRequest): ServiceResponse {
  const match = router.match(request.method, request.path);
  if (match.kind === "unknown") {
    throw new IdentityError(
      404,
      "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.",
    );
  }
  if (match.kind === "wrong-method") {
    throw new IdentityError(405, "The method is not allowed for the requested URL.");
  }
  const call = { services, request, params: match.params, query: new Query(request.query) };
  const { status = 200, headers = {}, body } = match.route.answer(call);
  const text = body === undefined || request.method === "HEAD" ? "" : JSON.stringify(body);
  return {
    status,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body: text,
  };
}

function challenge(error: IdentityError, request: ServiceRequest): ServiceResponse {
  const response = error.toResponse();
  if (error.status !== 401) {
    return response;
  }
  return { ...response, headers: { ...response.headers, "www-authenticate": `Keystone uri="${request.baseUrl}"` } };
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
    answer: (call) => ({
      status: 300,
      headers: { location: `${call.request.baseUrl}/v3/` },
      body: { versions: { values: [version(call)] } },
    }),
  },
  { method: "GET", path: "/v3", answer: (call) => ({ body: { version: version(call) } }) },
  ...TOKEN_ROUTES,
  ...LIST_ROUTES,
  ...ROLE_ASSIGNMENT_ROUTES,
];
