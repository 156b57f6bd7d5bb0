import type { Faults } from "../../../faults/faults.js";
import type { Logger } from "../../../runtime/logger.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../../runtime/service.js";
import type { Timers } from "../../../runtime/timers.js";
import type { ValidateToken } from "../../credentials.js";
import { DOOR_LIMITS, excessOf, excessText } from "../../http/door-limits.js";
import { Query } from "../../http/query.js";
import { newRequestId } from "../../http/request-id.js";
import { Router } from "../../http/router.js";
import { IronicError } from "../ironic-error.js";
import { attachmentRoutes } from "./attachment-routes.js";
import type { Answer, IronicRoute } from "./call.js";
import { rootDocument, v1Document } from "./discovery.js";
import { gate } from "./fault-gate.js";
import { hardwareRoutes } from "./hardware-routes.js";
import { type ApiParts, nodeRoutes } from "./node-routes.js";
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
  const router = new Router([
    ...nodeRoutes(options),
    ...stateRoutes(options),
    ...attachmentRoutes(options),
    ...hardwareRoutes(options, options.faults),
  ]);
  return gate(options, async (request) => {
    const response = await respond(options, router, request);
    return { ...response, headers: { ...response.headers, "openstack-request-id": newRequestId(options.random) } };
  });
}

async function respond(
  options: IronicApiOptions,
  router: Router<IronicRoute>,
  request: ServiceRequest,
): Promise<ServiceResponse> {
  const root = request.baseUrl;
  if (["", "/"].includes(request.path)) {
    return json(200, rootDocument(root));
  }
  const path = request.path.replace(/^\/v1(?=\/|$)/, "").replace(/\/+$/, "");
  const discovery = path === "";
  if (!discovery) {
    const refused = refusal(options, request);
    if (refused) {
      return refused;
    }
  }
  const minor = negotiateIronic(request.headers[VERSION_HEADER]);
  if (typeof minor !== "number") {
    return minor;
  }
  if (discovery) {
    return request.method === "GET"
      ? withHeaders(json(200, v1Document(root, minor)), versionHeaders(minor))
      : webError(405, "Method Not Allowed");
  }
  const match = router.match(request.method, path);
  if (match.kind === "unknown") {
    return webError(404, "Not Found");
  }
  if (match.kind === "wrong-method") {
    return webError(405, "Method Not Allowed", "", { allow: match.allowed.join(", ") });
  }
  const { route, params } = match;
  if (minor < (route.from ?? 1)) {
    return webError(404, "Not Found");
  }
  const answered = await run(options, request, async () =>
    route.answer({ request, minor, params, query: new Query(request.query), body: readBody(request.body), root }),
  );
  return withHeaders(answered, versionHeaders(minor));
}

async function run(
  { logger }: IronicApiOptions,
  { method, path }: ServiceRequest,
  work: () => Promise<Answer>,
): Promise<ServiceResponse> {
  try {
    const { status = 200, body, location } = await work();
    const headers = location === undefined ? {} : { location };
    return body === undefined ? { status, headers, body: "" } : withHeaders(json(status, body), headers);
  } catch (error) {
    if (error instanceof IronicError) {
      return ironicFault(error.status, error.message);
    }
    logger.error("a request failed unexpectedly", { err: error, method, path });
    return ironicFault(500, error instanceof Error ? error.message : String(error));
  }
}

const ADMINISTRATORS = ["admin", "service"];

/** Bare metal is for administrators and services. */
function refusal({ validate }: IronicApiOptions, { headers, baseUrl }: ServiceRequest): ServiceResponse | undefined {
  const credentials = validate(headers["x-auth-token"] ?? "");
  if (!credentials) {
    const message = "The request you have made requires authentication.";
    const response = json(401, { error: { code: 401, title: "Unauthorized", message } });
    const identity = baseUrl.replace(/\/baremetal$/, "/identity");
    return withHeaders(response, { "www-authenticate": `Keystone uri="${identity}"` });
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
  const excess = excessOf(text, DOOR_LIMITS.ironic);
  if (excess) {
    throw new IronicError(excess === "depth" ? 400 : 413, excessText(excess, DOOR_LIMITS.ironic));
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new IronicError(400, `The body is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function withHeaders(response: ServiceResponse, headers: Readonly<Record<string, string>>): ServiceResponse {
  return {
    ...response,
    headers: { ...response.headers, ...headers },
  };
}

function json(status: number, body: unknown): ServiceResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}
