import type { Random } from "../../runtime/cryptography.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import { HttpError } from "./http-error.js";
import { atOnce, newRequestId, Query } from "./request.js";
import { withHeaders } from "./responses.js";
import { type RouteMatch, type RoutePattern, Router } from "./router.js";

/**
 * A request with its route's parameters. All services use this one shape, so that V8 optimizes the code that handles
 * it.
 */
interface RoutedRequest {
  readonly request: ServiceRequest;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

/** The service's result of admitting a request: its caller and version. */
export interface Admission {
  /** Path below the version's prefix. */
  readonly path: string;
  /** Headers of every response of a route. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The service-specific parts of request handling. */
export interface Service<R extends RoutePattern, A extends Admission> {
  readonly routes: readonly R[];
  readonly random: Random;
  /** Headers of every response. */
  readonly headers: (requestId: string) => Readonly<Record<string, string>>;
  /**
   * Authenticates the caller and negotiates the version. Returns a response if the request needs no route or is
   * rejected.
   */
  readonly admit: (request: ServiceRequest) => { readonly response: ServiceResponse } | A;
  /** Returns whether the version lacks the route, which then counts as unknown. */
  readonly lacks?: (route: R, admission: A) => boolean;
  readonly unrouted: (request: ServiceRequest, match: Exclude<RouteMatch<R>, { kind: "found" }>) => ServiceResponse;
  readonly handle: (route: R, routed: RoutedRequest, admission: A) => ServiceResponse | Promise<ServiceResponse>;
  /** Renders an error in the format of the service's API. */
  readonly render: (error: HttpError, request: ServiceRequest) => ServiceResponse;
  /**
   * Converts, and logs if unexpected, any other error that a route threw. If absent, the HTTP server responds to such
   * errors.
   */
  readonly toHttpError?: (error: unknown, routed: RoutedRequest, route: R) => HttpError;
}

/** Creates the handler of one service: discovery, authentication and version, then the route, then its errors. */
export function serve<R extends RoutePattern, A extends Admission>(service: Service<R, A>): ServiceHandler {
  const router = new Router(service.routes);

  function respond(request: ServiceRequest, requestId: string): ServiceResponse | Promise<ServiceResponse> {
    const headers = service.headers(requestId);
    const admission = service.admit(request);
    if ("response" in admission) {
      return withHeaders(admission.response, headers);
    }
    const match = router.match(request.method, admission.path);
    if (match.kind !== "found") {
      return withHeaders(service.unrouted(request, match), headers);
    }
    const { route, params } = match;
    if (service.lacks?.(route, admission)) {
      return withHeaders(service.unrouted(request, { kind: "unknown" }), headers);
    }
    const routed = { request, requestId, params, query: new Query(request.query) };
    const responseOrPromise = handle(route, routed, admission);
    return atOnce(responseOrPromise, (response) => withHeaders(response, admission.headers ?? NONE, headers));
  }

  function handle(route: R, routed: RoutedRequest, admission: A): ServiceResponse | Promise<ServiceResponse> {
    try {
      const responseOrPromise = service.handle(route, routed, admission);
      return responseOrPromise instanceof Promise
        ? responseOrPromise.catch((error: unknown) => failure(error, route, routed))
        : responseOrPromise;
    } catch (error) {
      return failure(error, route, routed);
    }
  }

  function failure(error: unknown, route: R, routed: RoutedRequest): ServiceResponse {
    if (error instanceof HttpError) {
      return service.render(error, routed.request);
    }
    if (!service.toHttpError) {
      throw error;
    }
    return service.render(service.toHttpError(error, routed, route), routed.request);
  }

  return (request) => respond(request, newRequestId(service.random));
}

const NONE: Readonly<Record<string, string>> = {};
