import type { Digests } from "../../runtime/digests.js";
import type { Random } from "../../runtime/random.js";
import type { ServiceRequest } from "../../runtime/service.js";
import type { Json } from "../http/json.js";
import type { Query } from "../http/query.js";
import type { Authenticator } from "./authenticate.js";
import { type CatalogService, serviceCatalog } from "./catalog.js";
import { forbidden, unauthorized } from "./identity-error.js";
import type { TokenRecord } from "./token-store.js";
import { tokenRoles } from "./token-view.js";

export interface IdentityServices extends Authenticator {
  readonly digests: Digests;
  readonly random: Random;
}

/** One request to Identity. */
export interface IdentityCall {
  readonly services: IdentityServices;
  readonly request: ServiceRequest;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

export interface IdentityRoute {
  readonly method: string;
  readonly path: string;
  readonly answer: (call: IdentityCall) => IdentityAnswer;
}

export interface IdentityAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

/** The catalog as this client reaches the services. */
export function catalogOf({ services, request }: IdentityCall): readonly CatalogService[] {
  return serviceCatalog(services.digests, request.baseUrl.replace(/\/identity$/, ""));
}

/** The token's owner. @throws {IdentityError} 401 */
export function caller({ services, request }: IdentityCall): TokenRecord {
  const record = services.tokens.find(request.headers["x-auth-token"] ?? "");
  if (!record) {
    throw unauthorized();
  }
  return record;
}

/** @throws {IdentityError} 401, 403 */
export function requireRole(call: IdentityCall, roles: readonly string[], rule: string): void {
  const held = tokenRoles(call.services.directory, caller(call));
  if (!held.some(({ name }) => roles.includes(name))) {
    throw forbidden(rule);
  }
}

export function listOf({ request }: IdentityCall, plural: string, members: Json): Json {
  const self = `${request.baseUrl}${request.path}${request.query === "" ? "" : `?${request.query}`}`;
  return { [plural]: members, links: { next: null, self, previous: null } };
}
