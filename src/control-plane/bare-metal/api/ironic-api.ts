import type { FaultAction, Faults } from "../../../faults/faults.js";
import { messageOf } from "../../../runtime/error-messages.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../../runtime/http-server.js";
import type { Logger } from "../../../runtime/runtime.js";
import type { Timers } from "../../../runtime/time.js";
import type { ValidateToken } from "../../credentials.js";
import { forbidden, HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { excessOf, excessText, MESSAGE_LIMITS } from "../../http/listener-limits.js";
import { type MicroversionRange, negotiate } from "../../http/microversions.js";
import { atOnce } from "../../http/request.js";
import { authenticate, json, withHeaders } from "../../http/responses.js";
import { serve } from "../../http/serve.js";
import { pythonJson } from "../../python/repr.js";
import { attachmentRoutes } from "./attachment-routes.js";
import { type IronicCall, type IronicResponse, type IronicRoute, links } from "./call.js";
import { hardwareRoutes } from "./hardware-routes.js";
import { type ApiParts, nodeRoutes } from "./node-routes.js";
import { portRoutes } from "./port-routes.js";
import { stateRoutes } from "./state-routes.js";

/** 1.82 is Ironic 21.4, the first version with shards. */
const MAX_MINOR = 82;

const VERSION_HEADER = "x-openstack-ironic-api-version";

const LIMITS = {
  "x-openstack-ironic-api-minimum-version": "1.1",
  "x-openstack-ironic-api-maximum-version": `1.${MAX_MINOR}`,
};

const RANGE: MicroversionRange = {
  major: 1,
  minimum: 1,
  maximum: MAX_MINOR,
  parse: (text) => {
    const [, major, minor] = /^\s*([+-]?\d{1,9})\s*\.\s*([+-]?\d{1,9})\s*$/.exec(text) ?? [];
    return major === undefined ? undefined : [Number(major), Number(minor)];
  },
  malformed: () => webError(406, "Not Acceptable", "Invalid value for X-OpenStack-Ironic-API-Version header"),
  unsupported: (_, major, minor) => {
    const reason =
      major === 1
        ? `Version 1.${minor} was requested but the minor version is not supported by this service.`
        : `Mutually exclusive versions requested. Version ${major}.${minor} requested but not supported by this service.`;
    const range = `The supported version range is: [1.1, 1.${MAX_MINOR}].`;
    return webError(406, "Not Acceptable", `${reason} ${range}`, LIMITS);
  },
};

/** The first minor version of each collection. */
const COLLECTIONS: Readonly<Record<string, number>> = { nodes: 1, ports: 1, drivers: 1, portgroups: 23, volume: 32 };

/** Milliseconds until a gateway's timeout. */
const GATEWAY_TIMEOUT = 60_000;

const GATEWAY_GAVE_UP: ServiceResponse = {
  status: 504,
  headers: { "content-type": "text/html" },
  body: "<html><body><h1>504 Gateway Time-out</h1></body></html>\n",
};

export interface IronicApiOptions extends ApiParts {
  readonly validate: ValidateToken;
  readonly faults: Faults;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** Creates Ironic's API v1; mount it at `/baremetal`. */
export function createIronicApi(options: IronicApiOptions): ServiceHandler {
  const handler = serve<IronicRoute, Caller>({
    routes: [
      ...nodeRoutes(options),
      ...stateRoutes(options),
      ...attachmentRoutes(options),
      ...portRoutes(options),
      ...hardwareRoutes(options, options.faults),
    ],
    random: options.random,
    headers: (requestId) => ({ "openstack-request-id": requestId }),
    admit: (request) => admit(options, request),
    unrouted: (match) =>
      match.kind === "unknown"
        ? webError(404, "Not Found")
        : webError(405, "Method Not Allowed", "", { allow: match.allowed.join(", ") }),
    check: ({ from = 1 }, _request, { minor }) => {
      if (minor < from) {
        throw webError(404, "Not Found");
      }
    },
    handle: (route, routed, { minor, root }) =>
      atOnce(route.handle({ ...routed, minor, root, body: readBody(routed.request.body) }), toServiceResponse),
    render: renderError,
    toHttpError: (error, { request: { method, path } }) => {
      options.logger.error("a request failed unexpectedly", { err: error, method, path });
      return new HttpError(500, messageOf(error));
    },
  });
  return gate(options, handler);
}

/** Results of the checks that precede a route. */
interface Caller extends Pick<IronicCall, "minor" | "root"> {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

function admit(options: IronicApiOptions, request: ServiceRequest): Caller | { readonly response: ServiceResponse } {
  const root = request.baseUrl;
  if (["", "/"].includes(request.path)) {
    return { response: json(200, rootDocument(root)) };
  }
  const path = request.path.replace(/^\/v1(?=\/|$)/, "").replace(/\/+$/, "");
  const discovery = path === "";
  if (!discovery) {
    const caller = authenticate(options.validate, request, "/baremetal");
    if ("response" in caller) {
      return caller;
    }
    if (!caller.roles.some((role) => ALLOWED_ROLES.includes(role))) {
      throw forbidden("Access was denied to the following resource: baremetal:node:get");
    }
  }
  const minor = negotiate(request.headers[VERSION_HEADER]?.toLowerCase(), RANGE);
  const headers = versionHeaders(minor);
  if (!discovery) {
    return { path, headers, minor, root };
  }
  if (request.method !== "GET") {
    throw webError(405, "Method Not Allowed");
  }
  return { response: withHeaders(json(200, v1Document(root, minor)), headers) };
}

const ALLOWED_ROLES = ["admin", "service"];

function toServiceResponse({ status = 200, body, location }: IronicResponse): ServiceResponse {
  const headers = location === undefined ? {} : { location };
  return body === undefined ? { status, headers, body: "" } : withHeaders(json(status, body), headers);
}

/** @throws {HttpError} 400, 413 */
function readBody(text: string): unknown {
  if (text === "") {
    return {};
  }
  const excess = excessOf(text, MESSAGE_LIMITS.ironic);
  if (excess) {
    throw new HttpError(excess === "depth" ? 400 : 413, excessText(excess, MESSAGE_LIMITS.ironic));
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HttpError(400, `The body is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** Applies the faults `api.<method>` and `api` like a gateway in front of the service, so that responses may be lost. */
function gate(
  { faults, timers }: { readonly faults: Faults; readonly timers: Timers },
  next: ServiceHandler,
): ServiceHandler {
  return async (request) => {
    const action = decide(faults, request);
    switch (action?.kind) {
      case "status":
        return renderError(new HttpError(action.status, "a fault is set for this request"));
      case "lose-answer":
        await next(request);
        return GATEWAY_GAVE_UP;
      case "slow":
        await timers.sleep(action.milliseconds);
        return next(request);
      case "hang":
        await timers.sleep(action.milliseconds ?? GATEWAY_TIMEOUT);
        return GATEWAY_GAVE_UP;
      default:
        return next(request);
    }
  };
}

function decide(faults: Faults, { method }: ServiceRequest): FaultAction | undefined {
  return faults.decide(`api.${method.toLowerCase()}`) ?? faults.decide("api");
}

function versionDocument(root: string): Json {
  return {
    id: "v1",
    links: [{ href: `${root}/v1/`, rel: "self" }],
    status: "CURRENT",
    min_version: "1.1",
    version: `1.${MAX_MINOR}`,
  };
}

/** Returns the body of GET /. */
function rootDocument(root: string): Json {
  return {
    name: "OpenStack Ironic API",
    description: "Ironic is an OpenStack project which enables the provision and management of baremetal machines.",
    default_version: versionDocument(root),
    versions: [versionDocument(root)],
  };
}

/** Returns the body of GET /v1, without collections that this service lacks. */
function v1Document(root: string, minor: number): Json {
  return {
    id: "v1",
    links: [
      { href: `${root}/v1/`, rel: "self" },
      {
        href: "https://docs.openstack.org//ironic/latest/contributor//webapi.html",
        rel: "describedby",
        type: "text/html",
      },
    ],
    media_types: { base: "application/json", type: "application/vnd.openstack.ironic.v1+json" },
    ...Object.fromEntries(
      Object.entries(COLLECTIONS)
        .filter(([, from]) => minor >= from)
        .map(([name]) => [name, links(root, `${name}/`).map(({ href, rel }) => ({ href, rel }))]),
    ),
    version: versionDocument(root),
  };
}

function versionHeaders(minor: number): Readonly<Record<string, string>> {
  return {
    ...LIMITS,
    [VERSION_HEADER]: `1.${minor}`,
  };
}

/** An error of the web framework below Ironic. {@link renderError} tells it by its code. */
function webError(
  status: number,
  title: string,
  description = "",
  headers: Readonly<Record<string, string>> = {},
): HttpError {
  return new HttpError(status, description, { code: title, headers });
}

/** Renders an error as Ironic does: JSON as a string within JSON. */
function renderError({ status, code: title, message }: HttpError): ServiceResponse {
  const fields =
    title === undefined
      ? { faultcode: status < 500 ? "Client" : "Server", faultstring: message, debuginfo: null }
      : { code: status, title, description: message };
  return json(status, { error_message: pythonJson(fields) });
}
