import type { ServiceRequest } from "../../../runtime/service.js";
import type { Credentials } from "../../credentials.js";
import type { Json } from "../../http/json.js";
import { MAX_QUERY_PARAMETERS } from "../../http/listener-limits.js";
import type { Query } from "../../http/query.js";
import { readJson } from "../../http/read-json.js";
import type { ComputeDeps } from "./deps.js";
import { badRequest, Fault } from "./fault.js";
import { Links } from "./links.js";
import type { SchemaValidator, SchemaVersions } from "./validate.js";

export type CallOptions = Pick<
  Call,
  "request" | "requestId" | "version" | "credentials" | "params" | "query" | "legacy"
> & { readonly validator: SchemaValidator };

/** One request to the Compute API, after authentication and negotiation. */
export class Call {
  readonly request: ServiceRequest;
  readonly requestId: string;
  /** The minor of the microversion to answer in. */
  readonly version: number;
  readonly credentials: Credentials;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly links: Links;
  /** Came by `/v2`: members that the API doesn't know are ignored. */
  readonly legacy: boolean;
  readonly #validator: SchemaValidator;

  constructor(options: CallOptions) {
    this.request = options.request;
    this.requestId = options.requestId;
    this.version = options.version;
    this.credentials = options.credentials;
    this.params = options.params;
    this.query = options.query;
    this.legacy = options.legacy;
    this.links = new Links(options.request, options.legacy ? "v2" : "v2.1", options.credentials.projectId);
    this.#validator = options.validator;
  }

  get isAdmin(): boolean {
    return this.credentials.roles.includes("admin");
  }

  param(name: string): string {
    return this.params[name] ?? "";
  }

  /** The body as JSON, whatever it says. @throws {Fault} 400, 413, 415 */
  json(): unknown {
    const body = readJson(this.request);
    if (body.kind === "json") {
      return body.value;
    }
    if (body.kind === "too-large") {
      throw new Fault(413, "Request is too large.");
    }
    if (body.kind === "other-type") {
      throw new Fault(415, "Unsupported Content-Type");
    }
    throw badRequest("Malformed request body");
  }

  /** The body, valid by the schema of this version. @throws {Fault} 400, 413, 415 */
  body<T>(schemas: SchemaVersions<T>): T {
    return this.#validator.body(this.json(), schemas, this.version, this.legacy);
  }

  /** @throws {Fault} 400 */
  checkQuery(schemas: SchemaVersions<unknown>): void {
    const { length } = this.query.entries;
    if (length > MAX_QUERY_PARAMETERS) {
      throw badRequest(`The query has ${length} parameters; there may be ${MAX_QUERY_PARAMETERS}.`);
    }
    this.#validator.query(this.query, schemas, this.version);
  }
}

/** What a route answers. */
export interface ComputeResponse {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

export interface ComputeRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/v2.1`. */
  readonly path: string;
  /** First and last minor that has the route; others answer 404. */
  readonly from?: number;
  readonly until?: number;
  readonly handle: (deps: ComputeDeps, call: Call) => ComputeResponse | Promise<ComputeResponse>;
}
