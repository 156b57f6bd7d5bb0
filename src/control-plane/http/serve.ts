import type { Random } from "../../runtime/cryptography.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import { atOnce, newRequestId, Query } from "./request.js";
import { withHeaders } from "./responses.js";
import { type RouteMatch, type RoutePattern, Router } from "./router.js";

/** A request on its way to a route. Those of all services are alike: what passes them on is compiled for one form, and fast. */
interface RoutedRequest {
  readonly request: ServiceRequest;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

/** What a service found out of a request before its route: the caller, the version to answer in. */
export interface Admission {
  /** Below the version's prefix. */
  readonly path: string;
  /** Headers of everything that a route answers. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What is a service's own in the way of a request through it. */
export interface Service<R extends RoutePattern, A extends Admission> {
  readonly routes: readonly R[];
  readonly random: Random;
  /** The headers of every answer. */
  readonly headers: (requestId: string) => Readonly<Record<string, string>>;
  /** Says who asks, and in which version. Answers what needs no route, or is refused. */
  readonly admit: (request: ServiceRequest) => { readonly response: ServiceResponse } | A;
  /** This version does not have the route: it counts as unknown. */
  readonly lacks?: (route: R, admission: A) => boolean;
  readonly unrouted: (request: ServiceRequest, match: Exclude<RouteMatch<R>, { kind: "found" }>) => ServiceResponse;
  readonly handle: (route: R, routed: RoutedRequest, admission: A) => ServiceResponse | Promise<ServiceResponse>;
  /** A route threw; absent: the server's own answer to an error. */
  readonly failed?: (error: unknown, routed: RoutedRequest, route: R) => ServiceResponse;
}

/** Serves the requests of one service: discovery, authentication and version, then the route, then what it throws. */
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
    if (!service.failed) {
      throw error;
    }
    return service.failed(error, routed, route);
  }

  return (request) => respond(request, newRequestId(service.random));
}

const NONE: Readonly<Record<string, string>> = {};
