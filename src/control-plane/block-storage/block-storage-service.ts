import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import type { Timers } from "../../runtime/time.js";
import type { ValidateToken } from "../credentials.js";
import { UnstorableValue } from "../database/database-file.js";
import { EventLoopTicks } from "../event-loop.js";
import { badRequest, HttpError, notFound } from "../http/http-error.js";
import { atOnce, newRequestId } from "../http/request.js";
import { authenticate, json, toServiceResponse, withHeaders } from "../http/responses.js";
import { serve } from "../http/serve.js";
import { type BlockStorageOptions, DEFAULT_BLOCK_STORAGE_OPTIONS } from "./block-storage-options.js";
import { BLOCK_STORAGE_ROUTES } from "./block-storage-routes.js";
import { createServerVolumes } from "./embedded-server-volumes.js";
import { BlockStorageCall, type BlockStorageRoute } from "./engine/block-storage-call.js";
import {
  type BlockStorageCaller,
  BlockStorageContext,
  type BlockStorageServices,
} from "./engine/block-storage-context.js";
import { renderBlockStorageError } from "./engine/block-storage-errors.js";
import { callerOf } from "./engine/callers.js";
import type { ServerVolumes } from "./server-volumes.js";
import { createStartRecords } from "./start-records.js";
import { negotiateBlockStorage, versionHeaders, versionList } from "./versions.js";
import { type BlockStorageWorker, createWorker } from "./work/run-work.js";

export interface BlockStorageServiceOptions extends Omit<BlockStorageServices, "options"> {
  readonly validate: ValidateToken;
  readonly timers: Timers;
  readonly options?: Partial<BlockStorageOptions>;
}

export interface BlockStorageService {
  /** Cinder's API v3; mounted at `/volume`. */
  readonly handle: ServiceHandler;
  /** Runs the stored work. */
  readonly worker: BlockStorageWorker;
  /** Volumes for Compute. */
  readonly volumes: ServerVolumes;
}

interface Caller {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly version: number;
  readonly caller: BlockStorageCaller;
}

/**
 * Creates the embedded Block Storage service: a Cinder of records, which moves no bytes. Its tables exist.
 */
export function createBlockStorageService(options: BlockStorageServiceOptions): BlockStorageService {
  const { random, logger } = options;
  const context = new BlockStorageContext({
    ...options,
    options: { ...DEFAULT_BLOCK_STORAGE_OPTIONS, ...options.options },
  });
  context.sql.transaction(() => createStartRecords(context));
  const handle = serve<BlockStorageRoute, Caller>({
    routes: BLOCK_STORAGE_ROUTES,
    random,
    headers: (requestId) => ({ "x-openstack-request-id": requestId, "x-compute-request-id": requestId }),
    admit: (request) => admit(options, request),
    unrouted: () => UNROUTED,
    check: (route, _request, { version }) => {
      if (version < (route.from ?? 0)) {
        throw notFound();
      }
    },
    handle: (route, routed, { version, caller }) => {
      const call = new BlockStorageCall(routed, { context: context.as(routed.requestId, caller), version });
      const run = () =>
        route.method === "GET" ? route.handle(call) : context.sql.transaction(() => route.handle(call));
      const isFaulty = route.fault !== undefined && context.services.faults.peek(route.fault) !== undefined;
      const response = isFaulty ? context.services.faults.hit(route.fault).then(run) : run();
      return atOnce(response, (done) => {
        if (done instanceof HttpError) {
          throw done;
        }
        return toServiceResponse(done ?? {}, routed.request, new EventLoopTicks(options));
      });
    },
    render: (error) => (error === UNROUTED ? UNROUTED_PAGE : renderBlockStorageError(error)),
    toHttpError: (error, { request, requestId, route }) => {
      if (error instanceof UnstorableValue) {
        return badRequest("The request has a value of an unexpected type.");
      }
      logger.error("Block Storage API: a request failed with an unexpected error", {
        err: error,
        request_id: requestId,
        method: request.method,
        route: route?.path,
      });
      return new HttpError(500, "The server has either erred or is incapable of performing the requested operation.");
    },
  });
  return { handle, worker: createWorker(context), volumes: createServerVolumes(context) };
}

/** Paths that begin with the version and have no project. */
const WITHOUT_PROJECT = /^\/default-types(?:\/|$)/;

/** A project's id at the start of a path. */
const PROJECT = /^\/([0-9a-f-]+)(?=\/)/;

function admit(
  { validate, random }: BlockStorageServiceOptions,
  request: ServiceRequest,
): Caller | { readonly response: ServiceResponse } {
  const { method, path, baseUrl } = request;
  const isRead = method === "GET" || method === "HEAD";
  if (isRead && /^\/?$/.test(path)) {
    return { response: withHeaders(json(300, versionList(baseUrl)), versionHeaders(0)) };
  }
  if (isRead && /^\/v3\/?$/.test(path)) {
    return { response: withHeaders(json(200, versionList(baseUrl)), versionHeaders(0)) };
  }
  const credentials = authenticate(validate, request, "/volume");
  if ("response" in credentials) {
    return credentials;
  }
  const version = negotiateBlockStorage(request);
  const headers = versionHeaders(version);
  // Paths that end with a slash, such as that of a record without an id, have no route.
  if (!path.startsWith("/v3/") || path.endsWith("/")) {
    return { response: withHeaders(UNROUTED_PAGE, headers, { "x-openstack-request-id": newRequestId(random) }) };
  }
  const rest = path.slice(3);
  const [prefix, project] = PROJECT.exec(rest) ?? [];
  const caller = callerOf(credentials, validate(request.headers["x-service-token"] ?? ""));
  if (prefix === undefined || WITHOUT_PROJECT.test(rest)) {
    return { path: rest, headers, version, caller };
  }
  if (project !== caller.projectId) {
    throw badRequest("Malformed request url");
  }
  return { path: rest.slice(prefix.length), headers, version, caller };
}

const UNROUTED = notFound();

/** The response of Cinder's web framework to a path without a route, or to another method. */
const UNROUTED_PAGE = json(404, {
  message: "The resource could not be found.<br /><br />\n\n\n",
  code: "404 Not Found",
  title: "Not Found",
});
