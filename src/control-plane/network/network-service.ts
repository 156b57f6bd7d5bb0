import type { Random } from "../../runtime/cryptography.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import { FairLock } from "../../runtime/locks.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock, Timers } from "../../runtime/time.js";
import type { Credentials, ValidateToken } from "../credentials.js";
import { UnstorableValue } from "../database/database-file.js";
import type { Sql } from "../database/sql.js";
import { EventLoopTicks } from "../event-loop.js";
import { HttpError, notFound } from "../http/http-error.js";
import { atOnce } from "../http/request.js";
import { authenticate, json, toServiceResponse } from "../http/responses.js";
import { serve } from "../http/serve.js";
import { SCHEDULE_ROUTES } from "./agents/schedule-routes.js";
import { NetworkCall, type NetworkRoute } from "./engine/network-call.js";
import { NetworkContext, type RegisteredResource, Registry } from "./engine/network-context.js";
import { renderNetworkError } from "./engine/network-errors.js";
import { unexpectedType } from "./engine/python-values.js";
import { routesOf } from "./engine/requests.js";
import { extensionRoutes } from "./extension-routes.js";
import { AddressIndex } from "./ipam/address-index.js";
import { TOPOLOGY_ROUTES } from "./ipam/auto-allocated-topology.js";
import { DEFAULT_NETWORK_OPTIONS, type NetworkOptions } from "./network-options.js";
import { NETWORK_RESOURCES } from "./network-resources.js";
import type { PlacementAllocations } from "./placement-allocations.js";
import { QUOTA_ROUTES } from "./quota-routes.js";
import type { ServerEvents } from "./server-events.js";

export interface NetworkServiceOptions {
  readonly validate: ValidateToken;
  /** A connection on which `createNetworkTables` has run. */
  readonly sql: Sql;
  readonly random: Random;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly options?: Partial<NetworkOptions>;
  /** Resources beside Neutron's, whose tables exist. */
  readonly moreResources?: readonly RegisteredResource[];
  /** Default: events are dropped. */
  readonly events?: ServerEvents;
  /** Default: allocations of servers remain as they are when the QoS policies of their ports change. */
  readonly placement?: PlacementAllocations;
}

export interface NetworkService {
  /** Neutron's API v2.0; mounted at `/network`. */
  readonly handle: ServiceHandler;
  /** The service for callers in the same process, whom no policy restricts. */
  readonly context: NetworkContext;
}

interface Caller {
  readonly path: string;
  readonly caller: Credentials;
}

/** Creates the embedded Network service: a Neutron of records, which moves no packets. */
export function createNetworkService(options: NetworkServiceOptions): NetworkService {
  const { sql, random, clock, logger, events = NO_EVENTS, placement } = options;
  const resources = [...NETWORK_RESOURCES, ...(options.moreResources ?? [])];
  const context = new NetworkContext({
    sql,
    random,
    clock,
    logger,
    events,
    placement,
    externalChanges: new FairLock(),
    freeAddresses: new AddressIndex(sql),
    options: { ...DEFAULT_NETWORK_OPTIONS, ...options.options },
    registry: new Registry(resources),
  });
  sql.transaction(() => {
    for (const { behaviour } of resources) {
      behaviour.start?.(context);
    }
  });
  const routes = [
    ...resources.flatMap(({ resource }) => routesOf(context, resource)),
    ...SCHEDULE_ROUTES,
    ...QUOTA_ROUTES,
    ...TOPOLOGY_ROUTES,
    ...extensionRoutes(context.services.registry),
  ];
  const handle = serve<NetworkRoute, Caller>({
    routes,
    random,
    headers: (requestId) => ({ "x-openstack-request-id": requestId }),
    admit: (request) => admit(options, request),
    unrouted: ({ kind }) => (kind === "unknown" ? notFound() : NO_METHOD),
    handle: (route, routed, { caller }) => {
      const ticks = new EventLoopTicks(options);
      const call = new NetworkCall(routed, { context: context.as(callerOf(caller)), ticks });
      return atOnce(route.handle(call), (response) => toServiceResponse(response, routed.request, ticks));
    },
    render: renderNetworkError,
    toHttpError: (error, { request, requestId, route }) => {
      if (error instanceof UnstorableValue) {
        return unexpectedType();
      }
      const { method } = request;
      logger.error("Network API: a request failed with an unexpected error", {
        err: error,
        request_id: requestId,
        method,
        route: route?.path,
      });
      return UNEXPECTED;
    },
  });
  return { handle, context };
}

const NO_EVENTS: ServerEvents = { send: () => {} };

const NO_METHOD = new HttpError(
  405,
  "The server could not comply with the request since it is either malformed or otherwise incorrect.",
);

const UNEXPECTED = new HttpError(500, "Request Failed: internal server error while processing your request.");

/** Roles that a role implies, as Keystone's do. */
const IMPLIED_ROLES: Readonly<Record<string, readonly string[]>> = {
  admin: ["manager", "member", "reader"],
  manager: ["member", "reader"],
  member: ["reader"],
};

function callerOf(credentials: Credentials) {
  const roles = [...new Set(credentials.roles.flatMap((role) => [role, ...(IMPLIED_ROLES[role] ?? [])]))];
  return {
    projectId: credentials.projectId ?? "",
    roles,
    isAdmin: roles.includes("admin"),
    isInternal: false,
    credentials,
  };
}

/** Collections that the version document lists. */
const CORE = ["network", "subnet", "subnetpool", "port"];

function admit(
  { validate }: NetworkServiceOptions,
  request: ServiceRequest,
): Caller | { readonly response: ServiceResponse } {
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
    const resources = CORE.map((name) => ({
      name,
      collection: `${name}s`,
      links: [{ rel: "self", href: `${baseUrl}/v2.0/${name}s` }],
    }));
    return { response: json(200, { resources }) };
  }
  // Some clients append the format to the path.
  return { path: path.replace(/\.json$/, ""), caller };
}
