import { isObject } from "../../../runtime/is-object.js";
import type { ServiceRequest } from "../../../runtime/service.js";
import type { Credentials } from "../../credentials.js";
import type { Json } from "../../http/json.js";
import { MAX_QUERY_PARAMETERS } from "../../http/listener-limits.js";
import type { Query } from "../../http/query.js";
import { readJson } from "../../http/read-json.js";
import type { Store } from "../../store/store.js";
import type { EventLoopTicks } from "../../time-slices.js";
import { badRequest, NetworkFault } from "./fault.js";

export type NetworkCallOptions = Pick<NetworkCall, "request" | "caller" | "params" | "query" | "store" | "ticks">;

/** One request to the Network API, after authentication. */
export class NetworkCall {
  readonly request: ServiceRequest;
  readonly caller: Credentials;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly store: Store;
  /** Lets others go first in what takes long. */
  readonly ticks: EventLoopTicks;

  constructor(options: NetworkCallOptions) {
    this.request = options.request;
    this.caller = options.caller;
    this.params = options.params;
    this.query = options.query;
    this.store = options.store;
    this.ticks = options.ticks;
    if (this.query.entries.length > MAX_QUERY_PARAMETERS) {
      throw badRequest(`The query has ${this.query.entries.length} parameters; there may be ${MAX_QUERY_PARAMETERS}.`);
    }
  }

  get isAdmin(): boolean {
    return this.caller.roles.includes("admin");
  }

  /** The project that a list is about; undefined: every project. */
  get listedProject(): string | undefined {
    return this.isAdmin ? undefined : (this.caller.projectId ?? "");
  }

  param(name: string): string {
    return this.params[name] ?? "";
  }

  /** @throws {NetworkFault} 400, 413 */
  body(): Readonly<Record<string, unknown>> {
    const body = readJson(this.request);
    if (body.kind === "too-large") {
      throw new NetworkFault(413, "HTTPRequestEntityTooLarge", "Request is too large.");
    }
    if (body.kind !== "json" || !isObject(body.value)) {
      throw badRequest("Body required: expected a JSON object as the body of the request.");
    }
    return body.value;
  }
}

export interface NetworkResponse {
  /** Default 200. */
  readonly status?: number;
  readonly body?: Json;
}

export interface NetworkRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly handle: (call: NetworkCall) => NetworkResponse | Promise<NetworkResponse>;
}
