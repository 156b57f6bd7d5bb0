import { isObject } from "../../../runtime/is-object.js";
import type { Random } from "../../../runtime/random.js";
import type { ServiceRequest, ServiceResponse } from "../../../runtime/service.js";
import type { Credentials } from "../../credentials.js";
import { excessOf, excessText, MAX_QUERY_PARAMETERS, MESSAGE_LIMITS } from "../../http/listener-limits.js";
import type { Query } from "../../http/request.js";
import type { ImageStore } from "../image-store.js";
import { badRequest, tooLarge } from "./fault.js";

/** What Identity says that a project may have; undefined: nobody has registered a limit, or it has none. */
export type ImageLimits = (resource: string, projectId: string) => number | undefined;

export type ImageCallOptions = Pick<
  ImageCall,
  "request" | "requestId" | "caller" | "params" | "query" | "store" | "random" | "limits"
>;

/** One request to the Image API, after authentication. */
export class ImageCall {
  readonly request: ServiceRequest;
  readonly requestId: string;
  readonly caller: Credentials;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly store: ImageStore;
  readonly random: Random;
  readonly limits: ImageLimits;

  constructor(options: ImageCallOptions) {
    this.request = options.request;
    this.requestId = options.requestId;
    this.caller = options.caller;
    this.params = options.params;
    this.query = options.query;
    this.store = options.store;
    this.random = options.random;
    this.limits = options.limits;
  }

  get isAdmin(): boolean {
    return this.caller.roles.includes("admin");
  }

  param(name: string): string {
    return this.params[name] ?? "";
  }

  /** The body as JSON, whatever it says. @throws {ImageFault} 400, 413 */
  json(): unknown {
    const { body } = this.request;
    const excess = excessOf(body, MESSAGE_LIMITS.nova);
    if (excess === "bytes") {
      throw tooLarge(`Request is too large: ${excessText(excess, MESSAGE_LIMITS.nova)}.`);
    }
    if (excess) {
      throw badRequest(`Malformed JSON in request body: ${excessText(excess, MESSAGE_LIMITS.nova)}.`);
    }
    if (body === "") {
      throw badRequest("Body expected in request.");
    }
    try {
      return JSON.parse(body);
    } catch {
      throw badRequest("Malformed JSON in request body.");
    }
  }

  /** @throws {ImageFault} 400, 413 */
  object(): Readonly<Record<string, unknown>> {
    const value = this.json();
    if (!isObject(value)) {
      throw badRequest("Expected a JSON object as the body of the request.");
    }
    return value;
  }

  /** @throws {ImageFault} 400 */
  boundQuery(): Query {
    const { length } = this.query.entries;
    if (length > MAX_QUERY_PARAMETERS) {
      throw badRequest(`The query has ${length} parameters; there may be ${MAX_QUERY_PARAMETERS}.`);
    }
    return this.query;
  }
}

export interface ImageRoute {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly path: string;
  readonly handle: (call: ImageCall) => ServiceResponse | Promise<ServiceResponse>;
}

export const NO_CONTENT: ServiceResponse = { status: 204, headers: {}, body: "" };
