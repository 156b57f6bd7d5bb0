import { isObject } from "../../../runtime/collections.js";
import { badRequest, type HttpError } from "../../http/http-error.js";
import { MESSAGE_LIMITS } from "../../http/listener-limits.js";
import { readJson } from "../../http/request.js";
import type { NetworkCall } from "./network-call.js";
import type { NetworkCaller } from "./network-context.js";
import { badResource, networkError } from "./network-errors.js";
import type { NetworkResource } from "./network-resource.js";
import { isTruthy, unexpectedType } from "./python-values.js";
import type { Body } from "./validate-attributes.js";

/** The records in the body of a create or update, before their attributes are validated. */
export interface RequestItems {
  readonly items: readonly Body[];
  /** Whether the request creates several: `{"ports": [...]}`. */
  readonly isBulk: boolean;
}

/**
 * Collections that the core of Neutron's API serves. Extensions serve the others, and check bodies in another way. The
 * paths of two kinds of QoS rules have underscores where their extensions expect hyphens, so that the core serves them.
 */
const CORE: readonly string[] = [
  "minimum_packet_rate_rules",
  "networks",
  "packet_rate_limit_rules",
  "ports",
  "subnets",
];

/** Paths of collections of which a request creates one record only. */
const WITHOUT_BULK: readonly string[] = [
  "/v2.0/flavors",
  "/v2.0/floatingips",
  "/v2.0/ports/:port_id/bindings",
  "/v2.0/routers",
  "/v2.0/segments",
  "/v2.0/service_profiles",
  "/v2.0/subnetpools",
  "/v2.0/trunks",
];

export const isCore = ({ collection }: NetworkResource): boolean => CORE.includes(collection);

/**
 * Returns the records in a body. For a core resource undefined if the body has neither the resource's key nor the
 * collection's: Neutron checks the record of the path, and policies, before it rejects such a body.
 * @throws {HttpError} 400
 */
export function readItems(
  call: NetworkCall,
  resource: NetworkResource,
  operation: "create" | "update",
): RequestItems | undefined {
  const { singular } = resource;
  const body = isCore(resource) ? readCoreBody(call) : readExtensionBody(call, operation);
  const plural = `${singular}s`;
  if (isCore(resource) && (body === undefined || !(Object.hasOwn(body, singular) || Object.hasOwn(body, plural)))) {
    return undefined;
  }
  if (body === undefined || !Object.hasOwn(body, plural)) {
    return { items: [readItem(singular, body ?? {})], isBulk: false };
  }
  if ((operation === "update" && isCore(resource)) || WITHOUT_BULK.includes(resource.path)) {
    throw badRequest("Bulk operation not supported");
  }
  return { items: toList(body[plural]).map((item) => readItem(singular, wrapped(singular, item))), isBulk: true };
}

/** Neutron's error for a body without the key of the resource. */
export function missingItem({ singular }: NetworkResource): HttpError {
  return badRequest(`Unable to find '${singular}' in request body`);
}

/** @throws {HttpError} 400 */
function readCoreBody({ request }: NetworkCall): Body | undefined {
  const body = readJson(request.body, MESSAGE_LIMITS.nova);
  if (body.kind === "empty") {
    return undefined;
  }
  if (body.kind !== "json" || !isObject(body.value)) {
    throw badRequest("Body contains invalid data");
  }
  return body.value;
}

/** @throws {HttpError} 400 */
function readExtensionBody({ request }: NetworkCall, operation: "create" | "update"): Body {
  const body = readJson(request.body, MESSAGE_LIMITS.nova);
  if (body.kind !== "json" && body.kind !== "empty") {
    throw networkError(400, "MalformedRequestBody", "Malformed request body: Cannot understand JSON.");
  }
  const value = body.kind === "json" ? body.value : null;
  if (operation === "update" && !isObject(value)) {
    throw Array.isArray(value) ? unexpectedType() : badResource("body", `Invalid format: b'${request.body}'.`);
  }
  if (!isTruthy(value)) {
    throw badRequest("Resource body required");
  }
  if (!isObject(value)) {
    throw badRequest("Body contains invalid data");
  }
  return value;
}

function readItem(singular: string, body: Body): Body {
  const item = body[singular] ?? null;
  if (item === null) {
    throw badRequest(`Unable to find '${singular}' in request body`);
  }
  if (!isObject(item)) {
    throw badRequest(`Object '${singular}' contains invalid data`);
  }
  return item;
}

/** Iterates what Python does: the members of a list, the keys of an object, the characters of a string. */
function toList(value: unknown): readonly unknown[] {
  const list = isObject(value) ? Object.keys(value) : typeof value === "string" ? [...value] : value;
  if (list === null || list === false || list === 0 || (Array.isArray(list) && list.length === 0)) {
    throw badRequest("Resources required");
  }
  if (!Array.isArray(list)) {
    throw badRequest("Body contains invalid data");
  }
  return list;
}

/** A member may have the key of the resource, or be the record itself. */
function wrapped(singular: string, item: unknown): Body {
  if (typeof item === "number" || typeof item === "boolean" || item === null) {
    throw badRequest("Body contains invalid data");
  }
  return isObject(item) && Object.hasOwn(item, singular) ? item : { [singular]: item };
}

/** Returns the attributes with one name of the owner. @throws {HttpError} 400 */
export function withProject({ projectId, isAdmin, roles }: NetworkCaller, body: Body): Body {
  const { tenant_id: tenant, ...attributes } = body;
  const project = attributes.project_id;
  if (tenant !== undefined && project !== undefined && tenant !== project) {
    throw badRequest("'project_id' and 'tenant_id' do not match");
  }
  const owner = project === undefined ? tenant : project;
  if (owner !== undefined && owner !== projectId && !(isAdmin || roles.includes("advsvc"))) {
    throw badRequest(
      "Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges",
    );
  }
  return owner === undefined ? attributes : { ...attributes, project_id: owner };
}
