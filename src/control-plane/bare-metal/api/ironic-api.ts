import type { Faults } from "../../../faults/faults.js";
import type { Logger } from "../../../runtime/logger.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../../runtime/service.js";
import type { Timers } from "../../../runtime/timers.js";
import type { ValidateToken } from "../../credentials.js";
import { atOnce } from "../../http/request.js";
import { excessOf, excessText, MESSAGE_LIMITS } from "../../http/listener-limits.js";
import { authenticationRequired, json, withHeaders } from "../../http/responses.js";
import { serve } from "../../http/serve.js";
import { IronicError } from "../ironic-error.js";
import { attachmentRoutes } from "./attachment-routes.js";
import type { IronicCall, IronicResponse, IronicRoute } from "./call.js";
import { rootDocument, v1Document } from "./discovery.js";
import { gate } from "./fault-gate.js";
import { hardwareRoutes } from "./hardware-routes.js";
import { type ApiParts, nodeRoutes } from "./node-routes.js";
import { portRoutes } from "./port-routes.js";
import { stateRoutes } from "./state-routes.js";
import { ironicFault, negotiateIronic, VERSION_HEADER, versionHeaders, webError } from "./versions.js";

export interface IronicApiOptions extends ApiParts {
  readonly validate: ValidateToken;
  readonly faults: Faults;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** Ironic's API v1; mount it at `/baremetal`. */
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
    lacks: ({ from = 1 }, { minor }) => minor < from,
    unrouted: (_, match) =>
      match.kind === "unknown"
        ? webError(404, "Not Found")
        : webError(405, "Method Not Allowed", "", { allow: match.allowed.join(", ") }),
    handle: (route, routed, { minor, root }) =>
      atOnce(route.handle({ ...routed, minor, root, body: readBody(routed.request.body) }), toServiceResponse),
    failed: (error, { request: { method, path } }) => {
      if (error instanceof IronicError) {
        return ironicFault(error.status, error.message);
      }
      options.logger.error("a request failed unexpectedly", { err: error, method, path });
      return ironicFault(500, error instanceof Error ? error.message : String(error));
    },
  });
  return gate(options, handler);
}

/** What the way to a route found out. */
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
  const rejection = discovery ? undefined : findRejection(options, request);
  if (rejection) {
    return { response: rejection };
  }
  const minor = negotiateIronic(request.headers[VERSION_HEADER]);
  if (typeof minor !== "number") {
    return { response: minor };
  }
  const headers = versionHeaders(minor);
  if (!discovery) {
    return { path, headers, minor, root };
  }
  return {
    response:
      request.method === "GET"
        ? withHeaders(json(200, v1Document(root, minor)), headers)
        : webError(405, "Method Not Allowed"),
  };
}

function toServiceResponse({ status = 200, body, location }: IronicResponse): ServiceResponse {
  const headers = location === undefined ? {} : { location };
  return body === undefined ? { status, headers, body: "" } : withHeaders(json(status, body), headers);
}

const ADMINISTRATORS = ["admin", "service"];

/** Bare metal is for administrators and services. */
function findRejection({ validate }: IronicApiOptions, request: ServiceRequest): ServiceResponse | undefined {
  const credentials = validate(request.headers["x-auth-token"] ?? "");
  if (!credentials) {
    return authenticationRequired(request, "/baremetal");
  }
  if (credentials.roles.some((role) => ADMINISTRATORS.includes(role))) {
    return undefined;
  }
  return ironicFault(403, "Access was denied to the following resource: baremetal:node:get");
}

/** @throws {IronicError} 400, 413 */
function readBody(text: string): unknown {
  if (text === "") {
    return {};
  }
  const excess = excessOf(text, MESSAGE_LIMITS.ironic);
  if (excess) {
    throw new IronicError(excess === "depth" ? 400 : 413, excessText(excess, MESSAGE_LIMITS.ironic));
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new IronicError(400, `The body is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}
