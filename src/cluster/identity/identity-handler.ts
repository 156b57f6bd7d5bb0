import type { Digests } from "../../runtime/digests.js";
import type { Random } from "../../runtime/random.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/service.js";
import type { Json } from "../http/json.js";
import { Query } from "../http/query.js";
import { readJson } from "../http/read-json.js";
import { newRequestId } from "../http/request-id.js";
import { Router } from "../http/router.js";
import { type Authenticator, authenticate } from "./authenticate.js";
import { serviceCatalog } from "./catalog.js";
import { collections, filterMembers } from "./collections.js";
import { expecting, forbidden, IdentityError, unauthorized } from "./identity-error.js";
import { readTokenRequest } from "./token-request.js";
import type { TokenRecord } from "./token-store.js";
import { tokenRoles, tokenView } from "./token-view.js";

export interface IdentityServices extends Authenticator {
  readonly digests: Digests;
  readonly random: Random;
}

interface Call {
  readonly services: IdentityServices;
  readonly request: ServiceRequest;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly answer: (call: Call) => Answer;
}

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

export const identityHandler = (services: IdentityServices): ServiceHandler => {
  const router = new Router(ROUTES);
  return (request) => {
    const answer = (): ServiceResponse => {
      try {
        return respond(services, router, request);
      } catch (error) {
        if (error instanceof IdentityError) return challenge(error, request);
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
};

const respond = (services: IdentityServices, router: Router<Route>, request: ServiceRequest): ServiceResponse => {
  const match = router.match(request.method, request.path);
  if (match.kind === "unknown") {
    throw new IdentityError(
      404,
      "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.",
    );
  }
  if (match.kind === "wrong-method") throw new IdentityError(405, "The method is not allowed for the requested URL.");
  const call = { services, request, params: match.params, query: new Query(request.query) };
  const { status = 200, headers = {}, body } = match.route.answer(call);
  const text = body === undefined || request.method === "HEAD" ? "" : JSON.stringify(body);
  return {
    status,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body: text,
  };
};

const challenge = (error: IdentityError, request: ServiceRequest): ServiceResponse => {
  const response = error.toResponse();
  if (error.status !== 401) return response;
  return { ...response, headers: { ...response.headers, "www-authenticate": `Keystone uri="${request.baseUrl}"` } };
};

const version = ({ request }: Call): Json => ({
  id: "v3.14",
  status: "stable",
  updated: "2020-04-07T00:00:00Z",
  links: [{ rel: "self", href: `${request.baseUrl}/v3/` }],
  "media-types": [{ base: "application/json", type: "application/vnd.openstack.identity-v3+json" }],
});

const catalogOf = ({ services, request }: Call) =>
  serviceCatalog(services.digests, request.baseUrl.replace(/\/identity$/, ""));

/** Who asks. @throws {IdentityError} 401 */
const caller = ({ services, request }: Call): TokenRecord => {
  const record = services.tokens.find(request.headers["x-auth-token"] ?? "");
  if (!record) throw unauthorized();
  return record;
};

const requireRole = (call: Call, roles: readonly string[], rule: string): void => {
  const held = tokenRoles(call.services.directory, caller(call));
  if (!held.some(({ name }) => roles.includes(name))) throw forbidden(rule);
};

const issueToken = (call: Call): Answer => {
  const body = readJson(call.request);
  if (body.kind === "too-large") throw new IdentityError(413, "Request is too large.");
  if (body.kind === "empty") throw expecting("auth", "request body");
  if (body.kind !== "json") throw expecting("valid JSON", "request body");
  const { token, record } = authenticate(call.services, readTokenRequest(body.value));
  return tokenAnswer(call, token, record, 201);
};

const tokenAnswer = (call: Call, token: string, record: TokenRecord, status: number): Answer => {
  const catalog = call.query.get("nocatalog") === undefined ? catalogOf(call) : undefined;
  const body = tokenView(call.services.directory, record, catalog);
  return { status, headers: { "x-subject-token": token }, body };
};

/** The token that the request is about; its own holder, an administrator and services may ask. */
const subject = (call: Call, rule: string): { readonly token: string; readonly record: TokenRecord } => {
  const { tokens, directory } = call.services;
  const asking = caller(call);
  const token = call.request.headers["x-subject-token"] ?? "";
  const record = tokens.find(token);
  const powerful = tokenRoles(directory, asking).some(({ name }) => name === "admin" || name === "service");
  if (record && !powerful && record.userId !== asking.userId) throw forbidden(rule);
  if (!record) throw new IdentityError(404, "Failed to validate token");
  return { token, record };
};

const showToken = (call: Call): Answer => {
  const { token, record } = subject(call, "identity:validate_token");
  return tokenAnswer(call, token, record, 200);
};

const revokeToken = (call: Call): Answer => {
  call.services.tokens.revoke(subject(call, "identity:revoke_token").token);
  return { status: 204 };
};

const listOf = ({ request }: Call, plural: string, members: Json): Json => {
  const self = `${request.baseUrl}${request.path}${request.query === "" ? "" : `?${request.query}`}`;
  return { [plural]: members, links: { next: null, self, previous: null } };
};

const collectionRoutes = (plural: string, singular: string): readonly Route[] => {
  const members = (call: Call) =>
    collections(call.services.directory, catalogOf(call), `${call.request.baseUrl}/v3`).find(
      (collection) => collection.plural === plural,
    )?.members ?? [];
  return [
    {
      method: "GET",
      path: `/v3/${plural}`,
      answer: (call) => {
        requireRole(call, ["admin"], `identity:list_${plural}`);
        return { body: listOf(call, plural, filterMembers(members(call), call.query)) };
      },
    },
    {
      method: "GET",
      path: `/v3/${plural}/:id`,
      answer: (call) => {
        const { id = "" } = call.params;
        const own = caller(call);
        if (id !== own.userId && id !== own.projectId) requireRole(call, ["admin"], `identity:get_${singular}`);
        const found = members(call).find((member) => member.id === id);
        if (!found) throw new IdentityError(404, `Could not find ${singular}: ${id}.`);
        return { body: { [singular]: found } };
      },
    },
  ];
};

const ROUTES: readonly Route[] = [
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
  { method: "POST", path: "/v3/auth/tokens", answer: issueToken },
  { method: "GET", path: "/v3/auth/tokens", answer: showToken },
  { method: "DELETE", path: "/v3/auth/tokens", answer: revokeToken },
  {
    method: "GET",
    path: "/v3/auth/catalog",
    answer: (call) => {
      caller(call);
      return { body: listOf(call, "catalog", catalogOf(call) as unknown as Json) };
    },
  },
  {
    method: "GET",
    path: "/v3/auth/projects",
    answer: (call) => {
      const { directory } = call.services;
      const { userId } = caller(call);
      const mine = directory.projects.filter(({ id }) => directory.rolesInProject(userId, id).length > 0);
      const all = collections(directory, [], `${call.request.baseUrl}/v3`).find(({ plural }) => plural === "projects");
      const members = all?.members.filter(({ id }) => mine.some((project) => project.id === id)) ?? [];
      return { body: listOf(call, "projects", members) };
    },
  },
  {
    method: "GET",
    path: "/v3/auth/system",
    answer: (call) => {
      const all = call.services.directory.rolesInSystem(caller(call).userId).length > 0;
      return { body: listOf(call, "system", all ? [{ all: true }] : []) };
    },
  },
  ...[
    ["users", "user"],
    ["projects", "project"],
    ["domains", "domain"],
    ["roles", "role"],
    ["services", "service"],
    ["endpoints", "endpoint"],
    ["regions", "region"],
  ].flatMap(([plural = "", singular = ""]) => collectionRoutes(plural, singular)),
];
