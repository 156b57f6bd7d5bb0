import type { ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import { atOnce } from "../http/request.js";
import { Enforcer, noauth2 } from "./auth.js";
import type { Consumer, Provider } from "./model.js";
import { type CorsOptions, DEFAULT_TUNING, type PlacementOptions } from "./options.js";
import { createPlacementApi, PLACEMENT_ACTIONS } from "./placement-api.js";
import { GroupCommit, Journal, type Sink, type TouchedRecords } from "./store/journal.js";
import { addStandards, load, migrate } from "./store/load.js";
import { State } from "./store/state.js";

const SIMPLE_HEADERS = [
  "Accept",
  "Accept-Language",
  "Content-Type",
  "Cache-Control",
  "Content-Language",
  "Expires",
  "Last-Modified",
  "Pragma",
];

/**
 * The Placement API without a socket.
 * @internal for tests
 */
export type PlacementService = ReturnType<typeof createPlacement>;

/** Placement's records, for read-only access by code of the same process. */
export interface PlacementRecords {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly consumers: ReadonlyMap<string, Consumer>;
  /** Calls the listener after each stored change; returns an unsubscribe function. The listener must not throw. */
  readonly onChange: (listener: (touched: TouchedRecords) => void) => () => void;
}

/** Creates Placement on a database, or in memory if there is none. */
export function createPlacement(options: PlacementOptions) {
  const { clock, random, logger, database, servers, cors } = options;
  const state = new State();
  let journal: Journal | undefined;
  if (database !== undefined) {
    database.exec("PRAGMA foreign_keys = ON");
    migrate(database);
    load(state, database);
    journal = new Journal(database);
  }
  addStandards(state, journal, clock.now());
  const api = createPlacementApi({
    clock,
    random,
    logger,
    state,
    auth: options.auth ?? noauth2,
    enforcer: new Enforcer(PLACEMENT_ACTIONS, options.policy ?? {}),
    tuning: { ...DEFAULT_TUNING, ...options.placement },
  });
  const group = journal && servers && new GroupCommit(journal, clock, servers);
  const respond = (request: ServiceRequest, sink: Sink | undefined) =>
    atOnce(api(request, sink), (response) => (cors === undefined ? response : applyCors(cors, request, response)));
  const { providers, consumers } = state;
  const records: PlacementRecords = {
    providers,
    consumers,
    onChange: (listener) => journal?.onWritten(listener) ?? (() => undefined),
  };
  return {
    records,
    /**
     * Handles a request. Acknowledged changes, and changes that a response shows, are in the database. Synchronous,
     * except for batched writes.
     */
    handle: (request: ServiceRequest): ServiceResponse | Promise<ServiceResponse> => {
      if (group === undefined) {
        return respond(request, journal);
      }
      if (request.method === "GET") {
        group.flush();
        return respond(request, journal);
      }
      return group.handle((sink) => respond(request, sink));
    },
  };
}

/** Adds the headers of oslo.middleware's CORS filter to a response. */
function applyCors(cors: CorsOptions, request: ServiceRequest, response: ServiceResponse): ServiceResponse {
  return request.method === "OPTIONS" ? preflight(cors, request, response) : decorate(cors, request, response);
}

function allowedOrigin(cors: CorsOptions, origin: string): string | undefined {
  if (cors.allowedOrigin.includes(origin)) {
    return origin;
  }
  return cors.allowedOrigin.includes("*") ? "*" : undefined;
}

function preflight(cors: CorsOptions, request: ServiceRequest, response: ServiceResponse): ServiceResponse {
  const requestId = { "x-openstack-request-id": response.headers["x-openstack-request-id"] ?? "" };
  const isSuccess = response.status >= 200 && response.status < 300;
  const base = isSuccess ? response : { status: 200, headers: requestId, body: "" };
  const origin = allowedOrigin(cors, request.headers.origin ?? "");
  const method = request.headers["access-control-request-method"];
  if (request.headers.origin === undefined || origin === undefined || method === undefined) {
    return base;
  }
  const requestedHeaders = (request.headers["access-control-request-headers"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const permitted = new Set([...cors.allowHeaders, ...SIMPLE_HEADERS].map((name) => name.toUpperCase()));
  if (!cors.allowMethods.includes(method) || !requestedHeaders.every((name) => permitted.has(name.toUpperCase()))) {
    return base;
  }
  return {
    ...base,
    headers: {
      ...base.headers,
      vary: "Origin",
      "access-control-allow-origin": origin,
      ...(cors.allowCredentials ? { "access-control-allow-credentials": "true" } : {}),
      ...(cors.maxAge > 0 ? { "access-control-max-age": String(cors.maxAge) } : {}),
      "access-control-allow-methods": method,
      ...(requestedHeaders.length > 0 ? { "access-control-allow-headers": requestedHeaders.join(",") } : {}),
    },
  };
}

function decorate(cors: CorsOptions, request: ServiceRequest, response: ServiceResponse): ServiceResponse {
  const origin = request.headers.origin === undefined ? undefined : allowedOrigin(cors, request.headers.origin);
  if (origin === undefined) {
    return response;
  }
  const vary = response.headers.vary;
  return {
    ...response,
    headers: {
      ...response.headers,
      vary: vary === undefined ? "Origin" : `${vary},Origin`,
      "access-control-allow-origin": origin,
      ...(cors.allowCredentials ? { "access-control-allow-credentials": "true" } : {}),
      ...(cors.exposeHeaders.length > 0 ? { "access-control-expose-headers": cors.exposeHeaders.join(",") } : {}),
    },
  };
}
