import type { ServiceRequest, ServiceResponse } from "../../../runtime/service.js";
import type { CorsOptions } from "../options.js";

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

/** Adds what oslo.middleware's CORS filter adds to an answer. */
export function applyCors(cors: CorsOptions, request: ServiceRequest, response: ServiceResponse): ServiceResponse {
  return request.method === "OPTIONS" ? preflight(cors, request, response) : decorate(cors, request, response);
}

function allowedOrigin(cors: CorsOptions, origin: string): string | undefined {
  if (cors.allowedOrigin.includes(origin)) {
    return origin;
  }
  return cors.allowedOrigin.includes("*") ? "*" : undefined;
}

function preflight(cors: CorsOptions, request: ServiceRequest, response: ServiceResponse): ServiceResponse {
  const base = response.status >= 200 && response.status < 300 ? response : { status: 200, headers: {}, body: "" };
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
