import type { EventLoopTicks } from "../../event-loop.js";
import { badRequest, tooLarge } from "../../http/http-error.js";
import { MESSAGE_LIMITS } from "../../http/listener-limits.js";
import { type RoutedRequest, readJson, ServiceCall } from "../../http/request.js";
import type { RouteResponse } from "../../http/responses.js";
import type { NetworkContext } from "./network-context.js";

/** One request to the Network API, after authentication. */
export class NetworkCall extends ServiceCall {
  readonly context: NetworkContext;
  /** Yields to other requests during long work. */
  readonly ticks: EventLoopTicks;

  constructor(routed: RoutedRequest, { context, ticks }: Pick<NetworkCall, "context" | "ticks">) {
    super(routed);
    this.context = context;
    this.ticks = ticks;
    this.boundQuery();
  }

  /** Names of the requested attributes; empty: all. */
  get fields(): ReadonlySet<string> {
    return new Set(this.query.all("fields").flatMap((field) => field.split(",")));
  }

  /** Returns the JSON of the body; undefined if there is none. @throws {HttpError} 400, 413 */
  body(): unknown {
    const body = readJson(this.request.body, MESSAGE_LIMITS.nova);
    if (body.kind === "empty") {
      return undefined;
    }
    if (body.kind === "bytes" || body.kind === "members") {
      throw tooLarge("Request is too large.");
    }
    if (body.kind !== "json") {
      throw badRequest(
        "The server could not comply with the request since it is either malformed or otherwise incorrect.",
      );
    }
    return body.value;
  }
}

export interface NetworkRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly handle: (call: NetworkCall) => RouteResponse | Promise<RouteResponse>;
}
