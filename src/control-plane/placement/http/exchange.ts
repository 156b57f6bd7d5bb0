import type { Random } from "../../../runtime/cryptography.js";
import { messageOf } from "../../../runtime/error-messages.js";
import type { ServiceRequest, ServiceResponse } from "../../../runtime/http-server.js";
import type { Logger } from "../../../runtime/runtime.js";
import type { Clock } from "../../../runtime/time.js";
import { HttpError } from "../../http/http-error.js";
import type { Action, Enforcer } from "../auth.js";
import { NotFound } from "../model.js";
import type { AuthOptions, PlacementCredentials, PlacementTuning } from "../options.js";
import type { Sink } from "../store/journal.js";
import { type State, UnitOfWork } from "../store/state.js";
import { type Call, type HandlerResponse, PolicyNotAuthorized, Query } from "./call.js";
import { acceptable, ErrorCode, renderError } from "./errors.js";
import { httpDate, MAX_MINOR, negotiate } from "./headers.js";
import { type Endpoint, type Match, matchRoute } from "./routes.js";

/** The context that all requests share. */
export interface Surface {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly state: State;
  readonly auth: AuthOptions;
  readonly enforcer: Enforcer;
  readonly tuning: PlacementTuning;
}

/** The first microversion whose errors have a code. */
const ERROR_CODE_SINCE = 23;
const MODIFIED_SINCE = 15;
const VERSION_HEADER = "openstack-api-version";
const NOBODY: PlacementCredentials = { userId: "", projectId: null, systemScope: null, roles: [] };

type Headers = Record<string, string>;

/** Handles one request: authentication, microversion, routing, content negotiation, errors. */
export class Exchange {
  readonly #surface: Surface;
  readonly #request: ServiceRequest;
  readonly #requestId: string;
  readonly #sink: Sink | undefined;
  readonly #accept: string;
  readonly #path: string;

  /** @param sink stores the changes; absent: they are in memory only */
  constructor(surface: Surface, request: ServiceRequest, requestId: string, sink: Sink | undefined) {
    this.#surface = surface;
    this.#request = request;
    this.#requestId = requestId;
    this.#sink = sink;
    const { accept } = request.headers;
    this.#accept = accept === undefined || accept === "" || accept === "*/*" ? "application/json" : accept;
    this.#path = decodePath(request.path);
  }

  handle(): ServiceResponse {
    const credentials = this.#authenticate();
    if (credentials === undefined) {
      return this.#unauthorized();
    }
    let minor: number;
    try {
      minor = negotiate(this.#request.headers[VERSION_HEADER]);
    } catch (error) {
      if (error instanceof HttpError) {
        return this.#error(error);
      }
      throw error;
    }
    const headers: Headers = { [VERSION_HEADER]: VERSIONS[minor] ?? "" };
    try {
      return this.#dispatch(credentials, minor, headers);
    } catch (error) {
      return this.#failure(error, minor, headers);
    }
  }

  #authenticate(): PlacementCredentials | undefined {
    const { auth } = this.#surface;
    const { headers } = this.#request;
    const found = auth.authenticate(headers["x-auth-token"], headers);
    if (found !== undefined) {
      return found;
    }
    // The version document is public. Placement's test middleware recognizes only one of its two paths.
    const open = this.#path === "/" || (this.#path === "" && auth.strategy === "keystone");
    return open ? NOBODY : undefined;
  }

  #unauthorized(): ServiceResponse {
    const { auth } = this.#surface;
    if (auth.strategy === "noauth2") {
      return this.#error(new HttpError(401, ""), undefined, {}, false);
    }
    const message = "The request you have made requires authentication.";
    return {
      status: 401,
      headers: {
        "content-type": "application/json",
        "www-authenticate": `Keystone uri="${auth.identityUri}"`,
        "x-openstack-request-id": this.#requestId,
      },
      body: JSON.stringify({ error: { code: 401, title: "Unauthorized", message } }),
    };
  }

  #dispatch(credentials: PlacementCredentials, minor: number, headers: Headers): ServiceResponse {
    this.#checkContent();
    const match = matchRoute(this.#path);
    if (match === undefined) {
      throw new HttpError(404, "");
    }
    headers.vary = VERSION_HEADER;
    const endpoint = match.route.endpoints.get(this.#request.method);
    if (endpoint === undefined) {
      const detail = "The method specified is not allowed for this resource.";
      throw new HttpError(405, detail, { headers: { allow: match.route.allow } });
    }
    if (endpoint.contentFirst) {
      this.#negotiateContent(endpoint, minor);
    }
    if (minor < endpoint.since) {
      throw new HttpError(endpoint.earlier, "");
    }
    if (!endpoint.contentFirst) {
      this.#negotiateContent(endpoint, minor);
    }
    return this.#respond(this.#run(endpoint, match, credentials, minor), minor, headers);
  }

  /** Checks the headers of a body: it needs a content type even if the handler ignores it. */
  #checkContent(): void {
    const { headers, body } = this.#request;
    const length = headers["content-length"];
    if (length !== undefined && !/^\s*[-+]?[0-9]+\s*$/.test(length)) {
      throw new HttpError(400, "content-length header must be an integer");
    }
    const chunked = headers["transfer-encoding"] !== undefined;
    const filled = length === undefined ? body !== "" && !chunked : Number(length) > 0;
    if (filled && !headers["content-type"]) {
      throw new HttpError(400, "content-type header required when content-length > 0");
    }
  }

  #negotiateContent(endpoint: Endpoint, minor: number): void {
    if (endpoint.json === "answers" && !this.#acceptsJson()) {
      throw new HttpError(406, "Only application/json is provided");
    }
    if (endpoint.json !== "takes" || minor >= endpoint.jsonUntil) {
      return;
    }
    const type = (this.#request.headers["content-type"] ?? "").split(";")[0] ?? "";
    if (type !== "application/json") {
      throw new HttpError(415, `The media type ${type || "None"} is not supported, use application/json`);
    }
  }

  #acceptsJson(): boolean {
    return this.#accept === "application/json" || acceptable(this.#accept, ["application/json"]).length > 0;
  }

  #run(endpoint: Endpoint, match: Match, credentials: PlacementCredentials, minor: number): HandlerResponse {
    const { clock, state, tuning, random, enforcer } = this.#surface;
    const unit = new UnitOfWork(clock, this.#sink);
    const call: Call = {
      request: this.#request,
      minor,
      params: match.params,
      query: new Query(this.#request.query),
      prefix: pathOf(this.#request.baseUrl),
      tuning,
      random,
      state,
      unit,
      can: (action: Action, target) => {
        const reason = enforcer.rejectionReason(credentials, action, target);
        if (reason !== undefined) {
          throw new PolicyNotAuthorized(reason);
        }
      },
    };
    try {
      const response = endpoint.handler(call);
      unit.commit();
      return response;
    } catch (error) {
      unit.rollback();
      throw error;
    }
  }

  #respond(response: HandlerResponse, minor: number, headers: Headers): ServiceResponse {
    headers["x-openstack-request-id"] = this.#requestId;
    if (response.body !== undefined) {
      headers["content-type"] = "application/json";
    }
    if (response.location !== undefined) {
      headers.location = this.#request.baseUrl + response.location;
    }
    if (response.modified !== undefined && minor >= MODIFIED_SINCE) {
      headers["cache-control"] = "no-cache";
      if (response.modified !== null) {
        headers["last-modified"] = httpDate(response.modified);
      }
    }
    const { status = 200, body = "", records } = response;
    if (records !== undefined) {
      return { status, headers, body: "", records };
    }
    if (typeof body === "string") {
      return { status, headers, body };
    }
    const text = joined(body);
    return text === null ? { status, headers, body: "", pieces: body } : { status, headers, body: text };
  }

  #failure(error: unknown, minor: number, headers: Headers): ServiceResponse {
    if (error instanceof HttpError) {
      return this.#error(error, minor, headers);
    }
    if (error instanceof NotFound || error instanceof PolicyNotAuthorized) {
      // Upstream adds Vary in its handlers, which these errors bypass.
      delete headers.vary;
      const status = error instanceof NotFound ? 404 : 403;
      return this.#error(new HttpError(status, error.message), minor, headers);
    }
    const { method, path } = this.#request;
    this.#surface.logger.error("placement failed to handle a request; responding with 500", {
      err: error,
      method,
      path,
      request_id: this.#requestId,
    });
    // Upstream catches these before the middleware that adds the microversion headers.
    return this.#error(new HttpError(500, messageOf(error)), minor);
  }

  /** @param guidelines true: the error format of the API guidelines; false: webob's own format */
  #error(error: HttpError, minor?: number, headers: Headers = {}, guidelines = true): ServiceResponse {
    const { status, message: detail } = error;
    const json: Record<string, unknown> = { request_id: this.#requestId };
    if (minor !== undefined && minor >= ERROR_CODE_SINCE) {
      json.code = error.code ?? ErrorCode.undefinedCode;
    }
    if (minor === undefined && status === 406) {
      json.max_version = `1.${MAX_MINOR}`;
      json.min_version = "1.0";
    }
    Object.assign(headers, error.headers, { "x-openstack-request-id": this.#requestId });
    const { method } = this.#request;
    if (method === "HEAD") {
      return { status, headers: { ...headers, "content-type": "text/html; charset=UTF-8" }, body: "" };
    }
    const rendered = renderError({
      status,
      detail,
      method,
      accept: this.#accept,
      contentType: this.#request.headers["content-type"] ?? "",
      json: guidelines ? json : undefined,
    });
    return { status, headers: { ...headers, "content-type": rendered.contentType }, body: rendered.body };
  }
}

const VERSIONS = Array.from({ length: MAX_MINOR + 1 }, (_, minor) => `placement 1.${minor}`);

/** The number of characters from which a response is sent in pieces. */
const LONG = 65_536;

/**
 * Joins the pieces; null if the result is long. Concatenating is faster than adding up the lengths and then joining.
 */
function joined(pieces: readonly string[]): string | null {
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length >= LONG) {
      return null;
    }
  }
  return text;
}

function decodePath(path: string): string {
  if (!path.includes("%")) {
    return path;
  }
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Returns the path of a base URL, which is the service's mount point. */
function pathOf(baseUrl: string): string {
  const slash = baseUrl.indexOf("/", baseUrl.indexOf("//") + 2);
  return slash < 0 ? "" : baseUrl.slice(slash);
}
