import type { Random } from "../../runtime/cryptography.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import { HttpError } from "./http-error.js";
import { newRequestId, parseQuery, Query, type RoutedRequest } from "./request.js";
import { withHeaders } from "./responses.js";
import { type RouteMatch, type RoutePattern, Router } from "./router.js";

/** The service's result of admitting a request: its caller and version. */
export interface Admission {
  /** Path below the version's prefix. */
  readonly path: string;
  /** Headers of every response of a route. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The service-specific parts of request handling. Each may throw an {@link HttpError} to reject the request. */
export interface Service<R extends RoutePattern, A extends Admission> {
  readonly routes: readonly R[];
  /** Whether an empty segment of a path matches nothing, as in `/traits/`. Default: it is ignored. */
  readonly strictPaths?: boolean;
  readonly random: Random;
  /** Headers of every response. */
  readonly headers: (requestId: string) => Readonly<Record<string, string>>;
  /** Authenticates the caller and negotiates the version. Returns a response if the request needs no route. */
  readonly admit: (request: ServiceRequest) => { readonly response: ServiceResponse } | A;
  readonly unrouted: (
    match: Exclude<RouteMatch<R>, { kind: "found" }>,
    request: ServiceRequest,
    admission: A,
  ) => HttpError;
  /** Checks the version and the headers of a request whose route is known. */
  readonly check?: (route: R, request: ServiceRequest, admission: A) => void;
  /** Default: {@link parseQuery}. */
  readonly parseQuery?: (text: string) => Query["entries"];
  readonly handle: (route: R, routed: RoutedRequest, admission: A) => ServiceResponse | Promise<ServiceResponse>;
  /**
   * Renders an error in the format of the service's API. The error's own headers are added.
   */
  readonly render: (error: HttpError, context: RejectedRequest<R, A>) => ServiceResponse;
  /**
   * Converts, and logs if unexpected, any other error that a route threw. If absent, the HTTP server responds to such
   * errors.
   */
  readonly toHttpError?: (error: unknown, context: RejectedRequest<R, A>) => HttpError;
}

interface RejectedRequest<R, A> {
  readonly request: ServiceRequest;
  readonly requestId: string;
  /** Absent if the request was not admitted. */
  readonly admission: A | undefined;
  /** Absent if none matches. */
  readonly route: R | undefined;
}

/** Creates the handler of one service: discovery, authentication and version, then the route, then its errors. */
export function serve<R extends RoutePattern, A extends Admission>(service: Service<R, A>): ServiceHandler {
  const router = new Router(service.routes, service.strictPaths);
  const parse = service.parseQuery ?? parseQuery;

  function respond(request: ServiceRequest, requestId: string): ServiceResponse | Promise<ServiceResponse> {
    const headers = service.headers(requestId);
    let admission: A | undefined;
    let route: R | undefined;
    const failure = (thrown: unknown): ServiceResponse => {
      const context = { request, requestId, admission, route };
      const error = thrown instanceof HttpError ? thrown : service.toHttpError?.(thrown, context);
      if (error === undefined) {
        throw thrown;
      }
      return withHeaders(service.render(error, context), (route && admission?.headers) ?? NONE, error.headers, headers);
    };
    try {
      const admitted = service.admit(request);
      if ("response" in admitted) {
        return withHeaders(admitted.response, headers);
      }
      admission = admitted;
      const match = router.match(request.method, admission.path);
      if (match.kind !== "found") {
        throw service.unrouted(match, request, admission);
      }
      route = match.route;
      service.check?.(route, request, admission);
      const routed = { request, requestId, params: match.params, query: new Query(parse(request.query)) };
      const response = service.handle(route, routed, admission);
      const { headers: routeHeaders = NONE } = admission;
      return response instanceof Promise
        ? response.then((value) => withHeaders(value, routeHeaders, headers), failure)
        : withHeaders(response, routeHeaders, headers);
    } catch (error) {
      return failure(error);
    }
  }

  return (request) => respond(request, newRequestId(service.random));
}

const NONE: Readonly<Record<string, string>> = {};
