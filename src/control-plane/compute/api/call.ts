import type { ServiceRequest } from "../../../runtime/http-server.js";
import type { Credentials } from "../../credentials.js";
import { badRequest, HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { MAX_QUERY_PARAMETERS } from "../../http/listener-limits.js";
import { type Query, type RoutedRequest, readJson, ServiceCall } from "../../http/request.js";
import type { SchemaVersions } from "../../http/schemas.js";
import type { ComputeDeps } from "./deps.js";
import { validate } from "./validate.js";

type Parameter = readonly [name: string, value: string];

/** Absolute links into the API. They contain the project's id if the URL of the request contains it. */
export class Links {
  readonly #application: string;
  readonly #self: string;
  readonly #bookmark: string;

  constructor(
    { baseUrl, path, query }: Pick<ServiceRequest, "baseUrl" | "path" | "query">,
    version: string,
    projectId: string | null,
  ) {
    const isScoped = projectId !== null && `${baseUrl}${path}?${query}`.includes(projectId);
    const project = isScoped ? `/${projectId}` : "";
    this.#application = `${baseUrl}/${version}`;
    this.#self = `${this.#application}${project}`;
    this.#bookmark = `${baseUrl}${project}`;
  }

  self(path: string): string {
    return `${this.#self}/${path}`;
  }

  /** Returns a link without the project's id, as Nova writes it for the images that it creates. */
  unscoped(path: string): string {
    return `${this.#application}/${path}`;
  }

  bookmark(path: string): string {
    return `${this.#bookmark}/${path}`;
  }

  pair(path: string): Json {
    return [
      { rel: "self", href: this.self(path) },
      { rel: "bookmark", href: this.bookmark(path) },
    ];
  }

  bookmarkOnly(path: string): Json {
    return [{ rel: "bookmark", href: this.bookmark(path) }];
  }

  /**
   * Returns the link to the next page of a list. The parameters are sorted by name; of a repeated one the greatest
   * value stays. The marker comes last, or at its sorted position if the request has a marker.
   */
  next(path: string, query: Query, marker: string): Json {
    const params = new Map(query.entries.toSorted(compareParameters)).set("marker", marker);
    return [{ rel: "next", href: `${this.self(path)}?${encodeParameters(params)}` }];
  }
}

/** One request to the Compute API, after authentication and negotiation. */
export class Call extends ServiceCall {
  /** Minor of the microversion to respond with. */
  readonly version: number;
  readonly credentials: Credentials;
  readonly links: Links;
  /** Whether the request came through `/v2`, where body properties that the schema does not define are ignored. */
  readonly legacy: boolean;

  constructor(routed: RoutedRequest, caller: Pick<Call, "version" | "credentials" | "legacy">) {
    super(routed);
    this.version = caller.version;
    this.credentials = caller.credentials;
    this.legacy = caller.legacy;
    this.links = new Links(routed.request, caller.legacy ? "v2" : "v2.1", caller.credentials.projectId);
  }

  get isAdmin(): boolean {
    return this.credentials.roles.includes("admin");
  }

  /** Parses the body as JSON, without validation. @throws {HttpError} 400, 413, 415 */
  json(): unknown {
    const body = readJson(this.request);
    if (body.kind === "json") {
      return body.value;
    }
    if (body.kind === "too-large") {
      throw new HttpError(413, "Request is too large.");
    }
    if (body.kind === "other-type") {
      throw new HttpError(415, "Unsupported Content-Type");
    }
    throw badRequest("Malformed request body");
  }

  /** Returns the body, validated by the schema of the request's microversion. @throws {HttpError} 400, 413, 415 */
  body<T>(schemas: SchemaVersions<T>): T {
    return validate(this.json(), schemas, this.version, "field/attribute", this.legacy);
  }

  /** @throws {HttpError} 400 */
  checkQuery(schemas: SchemaVersions<unknown>): void {
    const { length } = this.query.entries;
    if (length > MAX_QUERY_PARAMETERS) {
      throw badRequest(`The query has ${length} parameters; there may be ${MAX_QUERY_PARAMETERS}.`);
    }
    validate(Object.fromEntries(this.query.lists()), schemas, this.version, "query parameters");
  }
}

/** A route's response. */
export interface ComputeResponse {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

export interface ComputeRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path below `/v2.1`. */
  readonly path: string;
  /** First and last minor microversion with this route. The others respond with 404. */
  readonly from?: number;
  readonly until?: number;
  readonly handle: (deps: ComputeDeps, call: Call) => ComputeResponse | Promise<ComputeResponse>;
}

function compareParameters([a, x]: Parameter, [b, y]: Parameter): number {
  return compareStrings(a, b) || compareStrings(x, y);
}

function compareStrings(a: string, b: string): number {
  if (a === b) {
    return 0;
  }
  return a < b ? -1 : 1;
}

/** Encodes a query as Python's `urlencode` does, which differs from the URL standard in two characters. */
function encodeParameters(params: ReadonlyMap<string, string>): string {
  return new URLSearchParams([...params]).toString().replaceAll("*", "%2A").replaceAll("%7E", "~");
}

/** Max entries of a list response: Nova's default of `[api] max_limit`. */
const MAX_LIMIT = 1000;

export interface Page {
  readonly limit: number;
  readonly marker: string | undefined;
}

/** @throws {HttpError} 400 */
export function readPage({ query }: Pick<Call, "query">): Page {
  const text = query.get("limit");
  if (text !== undefined && !/^\d{1,9}$/.test(text)) {
    throw badRequest(/^-/.test(text) ? "limit must be >= 0" : "limit param must be an integer");
  }
  const marker = query.get("marker");
  return { limit: Math.min(text === undefined ? MAX_LIMIT : Number(text), MAX_LIMIT), marker };
}

/** Returns one page of an ordered list. @throws {HttpError} 400 if the marker is not in the list */
export function takePage<T>(members: readonly T[], { limit, marker }: Page, id: (member: T) => string): readonly T[] {
  const start = marker === undefined ? 0 : members.findIndex((member) => id(member) === marker) + 1;
  if (marker !== undefined && start === 0) {
    throw badRequest(`marker [${marker}] not found`);
  }
  return members.slice(start, start + limit);
}

/**
 * Allows administrators only. This file has Nova's default policies: admin only, or also the project that owns the
 * resource.
 */
export function requireAdmin(call: Call, rule: string): void {
  if (!call.isAdmin) {
    throw denied(rule);
  }
}

/** Allows users with the role `member` in a project, and administrators of the deployment. */
export function requireMember(call: Call, rule: string): void {
  if (!call.isAdmin && !(call.credentials.roles.includes("member") && call.credentials.projectId !== null)) {
    throw denied(rule);
  }
}

/** Allows users with the role `reader` or `member` in a project, and administrators of the deployment. */
export function requireReader(call: Call, rule: string): void {
  const { roles, projectId } = call.credentials;
  if (!call.isAdmin && !(projectId !== null && (roles.includes("reader") || roles.includes("member")))) {
    throw denied(rule);
  }
}

export const denied = (rule: string): HttpError => new HttpError(403, `Policy doesn't allow ${rule} to be performed.`);
