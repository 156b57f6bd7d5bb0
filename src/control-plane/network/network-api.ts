import type { Random } from "../../runtime/cryptography.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock, Timers } from "../../runtime/time.js";
import type { Credentials, ValidateToken } from "../credentials.js";
import { EventLoopTicks } from "../event-loop.js";
import { HttpError, notFound } from "../http/http-error.js";
import { jsonText } from "../http/json.js";
import { atOnce } from "../http/request.js";
import { authenticate, json } from "../http/responses.js";
import { serve } from "../http/serve.js";
import type { Store } from "../store/store.js";
import { NetworkCall, type NetworkRoute, networkFault, renderNetworkError } from "./api/call.js";
import { routesOf } from "./api/resource-routes.js";
import { NETWORK_ROUTES } from "./networks.js";
import { BINDING_ROUTES } from "./port-bindings.js";
import { PORT_TAGS, PORTS } from "./ports.js";
import { SECURITY_GROUP_RULES } from "./security-group-rules.js";
import { SECURITY_GROUP_TAGS, SECURITY_GROUPS } from "./security-groups.js";
import { INFO_ROUTES } from "./service-info.js";

/** All routes of the API. */
const NETWORK_API_ROUTES: readonly NetworkRoute[] = [
  ...NETWORK_ROUTES,
  ...routesOf(PORTS),
  ...BINDING_ROUTES,
  ...PORT_TAGS,
  ...routesOf(SECURITY_GROUPS),
  ...SECURITY_GROUP_TAGS,
  ...routesOf(SECURITY_GROUP_RULES),
  ...INFO_ROUTES,
];

export interface NetworkOptions {
  readonly validate: ValidateToken;
  readonly store: Store;
  readonly random: Random;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

interface Caller {
  readonly path: string;
  readonly caller: Credentials;
}

/** Creates Neutron's API v2.0 for one flat network; mount it at `/network`. */
export function createNetworkApi(options: NetworkOptions): ServiceHandler {
  const { store, random, logger } = options;
  return serve<NetworkRoute, Caller>({
    routes: NETWORK_API_ROUTES,
    random,
    headers: (requestId) => ({ "x-openstack-request-id": requestId }),
    admit: (request) => admit(options, request),
    unrouted: ({ kind }) => (kind === "unknown" ? notFound() : NO_METHOD),
    handle: (route, routed, { caller }) => {
      const ticks = new EventLoopTicks(options);
      const call = new NetworkCall(routed, { caller, store, ticks });
      return atOnce(route.handle(call), ({ status = 200, body }) => {
        const headers: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
        const text = body === undefined || routed.request.method === "HEAD" ? "" : jsonText(body, ticks);
        return atOnce(text, (written) => ({ status, headers, body: written }));
      });
    },
    render: renderNetworkError,
    toHttpError: (error, { request, requestId, route }) => {
      const fault = networkFault(error);
      if (!fault) {
        const { method } = request;
        logger.error("Network API: a request failed with an unexpected error", {
          err: error,
          request_id: requestId,
          method,
          route: route?.path,
        });
      }
      return fault ?? UNEXPECTED;
    },
  });
}

const NO_METHOD = new HttpError(405, "The method is not allowed for this resource.");

const UNEXPECTED = new HttpError(500, "Request Failed: internal server error while processing your request.");

/** Collections that the version document lists. */
const COLLECTIONS = ["network", "subnet", "port", "security-group", "security-group-rule", "extension", "quota"];

function admit({ validate }: NetworkOptions, request: ServiceRequest): Caller | { readonly response: ServiceResponse } {
  const { method, path, baseUrl } = request;
  if (method === "GET" && (path === "" || path === "/")) {
    const links = [{ rel: "self", href: `${baseUrl}/v2.0/` }];
    return { response: json(200, { versions: [{ id: "v2.0", status: "CURRENT", links }] }) };
  }
  const caller = authenticate(validate, request, "/network");
  if ("response" in caller) {
    return caller;
  }
  if (method === "GET" && /^\/v2\.0\/?$/.test(path)) {
    return { response: json(200, { resources: COLLECTIONS.map((name) => collection(baseUrl, name)) }) };
  }
  // Some clients append the format to the path.
  return { path: path.replace(/\.json$/, ""), caller };
}

function collection(baseUrl: string, name: string) {
  const singular = name.replaceAll("-", "_");
  return { name: singular, collection: `${singular}s`, links: [{ rel: "self", href: `${baseUrl}/v2.0/${name}s` }] };
}
