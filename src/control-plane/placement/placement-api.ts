import type { Random } from "../../runtime/cryptography.js";
import type { ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import { badRequest, forbidden, HttpError, notFound } from "../http/http-error.js";
import { type MicroversionRange, negotiate, standardVersion } from "../http/microversions.js";
import { tokenRequired } from "../http/responses.js";
import { serve } from "../http/serve.js";
import type { Enforcer } from "./auth.js";
import { AGGREGATE_ROUTES } from "./handlers/aggregates.js";
import { ALLOCATION_ROUTES } from "./handlers/allocations.js";
import { CANDIDATE_ROUTES } from "./handlers/candidates.js";
import { CLASS_ROUTES } from "./handlers/classes.js";
import { pythonInt } from "./handlers/filters.js";
import { INVENTORY_ROUTES } from "./handlers/inventories.js";
import { PROVIDER_ROUTES } from "./handlers/providers.js";
import { RESHAPER_ROUTES } from "./handlers/reshaper.js";
import { TRAIT_ROUTES } from "./handlers/traits.js";
import { USAGE_ROUTES } from "./handlers/usages.js";
import { Call, type HandlerResponse, type PlacementRoute, parseQuery } from "./http/call.js";
import { acceptable, ErrorCode, renderError } from "./http/errors.js";
import { PlacementError } from "./model.js";
import type { AuthOptions, PlacementCredentials, PlacementTuning } from "./options.js";
import type { Sink } from "./store/journal.js";
import { type State, UnitOfWork } from "./store/state.js";

export interface PlacementContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly state: State;
  readonly auth: AuthOptions;
  readonly enforcer: Enforcer;
  readonly tuning: PlacementTuning;
}

/** Microversions are 1.0 to 1.39; the code identifies them by the minor number. */
const MAX_MINOR = 39;

/** The first microversion whose errors have a code. */
const ERROR_CODE_SINCE = 23;

const MODIFIED_SINCE = 15;

const VERSION_HEADER = "openstack-api-version";

const VERSIONS = Array.from({ length: MAX_MINOR + 1 }, (_, minor) => `placement 1.${minor}`);

/** Minor versions by the usual form of the header, which need not be parsed. */
const KNOWN_VERSIONS: ReadonlyMap<string, number> = new Map(VERSIONS.map((text, minor) => [text, minor]));

const DOCUMENT = JSON.stringify({
  versions: [
    {
      id: "v1.0",
      max_version: `1.${MAX_MINOR}`,
      min_version: "1.0",
      status: "CURRENT",
      links: [{ rel: "self", href: "" }],
    },
  ],
});

const home: PlacementRoute["handle"] = (call) => ({ body: DOCUMENT, modified: call.unit.now });

/** All routes of the API. @internal for tests */
export const PLACEMENT_ROUTES: readonly PlacementRoute[] = [
  { method: "GET", path: "/", handle: home, json: "none" },
  { method: "GET", path: "", handle: home, json: "none" },
  ...CLASS_ROUTES,
  ...PROVIDER_ROUTES,
  ...INVENTORY_ROUTES,
  ...USAGE_ROUTES,
  ...AGGREGATE_ROUTES,
  ...ALLOCATION_ROUTES,
  ...CANDIDATE_ROUTES,
  ...TRAIT_ROUTES,
  ...RESHAPER_ROUTES,
];

/** The names of the policy rules that the routes enforce. */
export const PLACEMENT_ACTIONS: readonly string[] = PLACEMENT_ROUTES.flatMap(({ action }) => action ?? []);

interface Admission {
  readonly path: string;
  /** Errors and routes change them. */
  readonly headers: Record<string, string>;
  readonly minor: number;
  readonly caller: PlacementCredentials;
}

const NOBODY: PlacementCredentials = { userId: "", projectId: null, systemScope: null, roles: [] };

/**
 * Creates the handler of Placement's API. It is synchronous.
 * @returns a function of a request and the destination of its changes; without one, they are in memory only
 */
export function createPlacementApi(context: PlacementContext) {
  const { clock, random, logger, state, auth, enforcer, tuning } = context;
  let sink: Sink | undefined;
  const handle = serve<PlacementRoute, Admission>({
    routes: PLACEMENT_ROUTES,
    strictPaths: true,
    random,
    headers: (requestId) => ({ "x-openstack-request-id": requestId }),
    admit: (request) => admit(auth, request),
    unrouted: (match, request, { minor }) => {
      checkContent(request);
      const headers = versionHeader(minor);
      return match.kind === "unknown"
        ? new HttpError(404, "", { headers })
        : wrongMethod(match.allowed, { ...headers, vary: VERSION_HEADER });
    },
    check: checkRoute,
    parseQuery,
    handle: (route, routed, { minor, caller }) => {
      const unit = new UnitOfWork(clock, sink);
      const call = new Call(routed, { minor, state, unit, tuning, random });
      try {
        if (route.action !== undefined) {
          enforcer.enforce(caller, route.action, route.target?.(call));
        }
        const response = route.handle(call);
        unit.commit();
        return toServiceResponse(response, call);
      } catch (error) {
        unit.rollback();
        throw error;
      }
    },
    render,
    toHttpError: (error, { request: { method, path }, requestId, admission }) => {
      // Upstream adds Vary in its handlers, which these errors bypass.
      delete admission?.headers.vary;
      if (error instanceof PlacementError && error.is("NotFound")) {
        return notFound(error.message);
      }
      if (error instanceof PlacementError && error.is("PolicyNotAuthorized")) {
        return forbidden(error.message);
      }
      // Upstream catches these before the middleware that adds the microversion headers.
      delete admission?.headers[VERSION_HEADER];
      logger.error("placement failed to handle a request; responding with 500", {
        err: error,
        method,
        path,
        request_id: requestId,
      });
      return new HttpError(500, error instanceof Error ? error.message : String(error));
    },
  });
  return (request: ServiceRequest, destination: Sink | undefined): ServiceResponse | Promise<ServiceResponse> => {
    sink = destination;
    return handle(request);
  };
}

function admit(auth: AuthOptions, request: ServiceRequest): Admission | { readonly response: ServiceResponse } {
  const { headers } = request;
  const path = encodedPath(request.path);
  // The version document is public. Placement's test middleware recognizes only one of its two paths.
  const isPublic = path === "/" || (path === "" && auth.strategy === "keystone");
  const caller = auth.authenticate(headers["x-auth-token"], headers) ?? (isPublic ? NOBODY : undefined);
  if (caller === undefined) {
    if (auth.strategy === "keystone") {
      return { response: tokenRequired(auth.identityUri) };
    }
    throw new HttpError(401, "");
  }
  const minor =
    KNOWN_VERSIONS.get(headers[VERSION_HEADER] ?? "") ?? negotiate(standardVersion(headers, "placement"), RANGE);
  return { path, headers: versionHeader(minor), minor, caller };
}

/** Encodes a path again: WSGI servers decode it before they split it, so `%2F` separates segments. */
function encodedPath(path: string): string {
  if (!path.includes("%")) {
    return path;
  }
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // The path is literal.
  }
  return decoded.split("/").map(encodeURIComponent).join("/");
}

const RANGE: MicroversionRange = {
  major: 1,
  minimum: 0,
  maximum: MAX_MINOR,
  parse: (text) => {
    const dot = text.indexOf(".");
    const parts = dot < 0 ? [text] : [text.slice(0, dot), text.slice(dot + 1)];
    const [major, minor] = parts.map((part) => {
      const number = pythonInt(part);
      if (number === undefined) {
        throw invalidVersion(text, `invalid literal for int() with base 10: '${part}'`);
      }
      return number;
    });
    return major === undefined || minor === undefined ? undefined : [major, minor];
  },
  malformed: (text) => invalidVersion(text, "Version.__new__() missing 1 required positional argument: 'minor'"),
  unsupported: (text) => new HttpError(406, `Invalid microversion: Unacceptable version header: ${text}`),
};

function invalidVersion(text: string, reason: string): HttpError {
  return badRequest(`Invalid microversion: invalid version string: ${text}; ${reason}`);
}

function versionHeader(minor: number): Record<string, string> {
  return { [VERSION_HEADER]: VERSIONS[minor] ?? "" };
}

function wrongMethod(allowed: readonly string[], headers: Readonly<Record<string, string>> = {}): HttpError {
  const detail = "The method specified is not allowed for this resource.";
  return new HttpError(405, detail, { headers: { ...headers, allow: allowed.join(", ") } });
}

/** Checks the headers of a body: it needs a content type even if the handler ignores it. */
function checkContent({ headers, body }: ServiceRequest): void {
  const length = headers["content-length"];
  if (length !== undefined && !/^\s*[-+]?[0-9]+\s*$/.test(length)) {
    throw badRequest("content-length header must be an integer");
  }
  const chunked = headers["transfer-encoding"] !== undefined;
  const filled = length === undefined ? body !== "" && !chunked : Number(length) > 0;
  if (filled && !headers["content-type"]) {
    throw badRequest("content-type header required when content-length > 0");
  }
}

function checkRoute(route: PlacementRoute, request: ServiceRequest, { headers, minor }: Admission): void {
  checkContent(request);
  headers.vary = VERSION_HEADER;
  if (request.method === "HEAD") {
    throw wrongMethod(PLACEMENT_ROUTES.filter(({ path }) => path === route.path).map(({ method }) => method));
  }
  const isSupported = minor >= (route.since ?? 0);
  if (isSupported || route.contentFirst) {
    negotiateContent(route, request, minor);
  }
  if (!isSupported) {
    throw new HttpError(route.earlier ?? 404, "");
  }
}

const DEFAULT_JSON = { GET: "response", POST: "request", PUT: "request", DELETE: "none" } as const;

function negotiateContent(route: PlacementRoute, { headers }: ServiceRequest, minor: number): void {
  const json = route.json ?? DEFAULT_JSON[route.method];
  if (json === "response") {
    const accept = acceptOf(headers);
    if (accept !== JSON_TYPE && acceptable(accept, [JSON_TYPE]).length === 0) {
      throw new HttpError(406, `Only ${JSON_TYPE} is provided`);
    }
  } else if (json === "request" && minor < (route.jsonUntil ?? Number.POSITIVE_INFINITY)) {
    const type = (headers["content-type"] ?? "").split(";")[0] ?? "";
    if (type !== JSON_TYPE) {
      throw new HttpError(415, `The media type ${type || "None"} is not supported, use ${JSON_TYPE}`);
    }
  }
}

const JSON_TYPE = "application/json";

function acceptOf({ accept }: ServiceRequest["headers"]): string {
  return accept === undefined || accept === "" || accept === "*/*" ? JSON_TYPE : accept;
}

function toServiceResponse(response: HandlerResponse, { request, minor }: Call): ServiceResponse {
  const { status = 200, body = "", records, location, modified } = response;
  const headers: Record<string, string> = {};
  if (response.body !== undefined) {
    headers["content-type"] = JSON_TYPE;
  }
  if (location !== undefined) {
    headers.location = request.baseUrl + location;
  }
  if (modified !== undefined && minor >= MODIFIED_SINCE) {
    headers["cache-control"] = "no-cache";
    if (modified !== null) {
      headers["last-modified"] = httpDate(modified);
    }
  }
  if (records !== undefined) {
    return { status, headers, body: "", records };
  }
  const text = typeof body === "string" ? body : joined(body);
  return text === null
    ? { status, headers, body: "", pieces: body as readonly string[] }
    : { status, headers, body: text };
}

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

let lastSecond = -1;

let lastText = "";

/** Formats a time as HTTP does. Caches the last result, since most calls are for the current second. */
function httpDate(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  if (second !== lastSecond) {
    lastText = new Date(milliseconds).toUTCString();
    lastSecond = second;
  }
  return lastText;
}

type Rejected = Parameters<Parameters<typeof serve<PlacementRoute, Admission>>[0]["render"]>[1];

function render({ status, message, code }: HttpError, { request, requestId, admission }: Rejected): ServiceResponse {
  const { method, headers } = request;
  if (method === "HEAD") {
    return { status, headers: { "content-type": "text/html; charset=UTF-8" }, body: "" };
  }
  const json: Record<string, unknown> = { request_id: requestId };
  if (admission !== undefined && status < 500 && admission.minor >= ERROR_CODE_SINCE) {
    json.code = code ?? ErrorCode.undefinedCode;
  }
  if (admission === undefined && status === 406) {
    json.max_version = `1.${MAX_MINOR}`;
    json.min_version = "1.0";
  }
  const { contentType, body } = renderError({
    status,
    detail: message,
    method,
    accept: acceptOf(headers),
    contentType: headers["content-type"] ?? "",
    json: status === 401 ? undefined : json,
  });
  return { status, headers: { "content-type": contentType }, body };
}
