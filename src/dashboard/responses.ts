import type { ServiceRequest, ServiceResponse } from "../runtime/http-server.js";

const NAMES = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Headers of every response of the dashboard: only its own scripts, styles and data, no framing, and no guessing of
 * types.
 */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
} as const;

/** Browsers and proxies must not cache responses, except the files of the page, which they revalidate each time. */
const HEADERS = { ...SECURITY_HEADERS, "cache-control": "no-store" };

export function jsonResponse(status: number, value: unknown): ServiceResponse {
  return { status, headers: { ...HEADERS, "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** @param error message for users: what was found, and what to do */
export const errorResponse = (status: number, error: string): ServiceResponse => jsonResponse(status, { error });

export function emptyResponse(status: number, headers: Readonly<Record<string, string>> = {}): ServiceResponse {
  return { status, headers: { ...HEADERS, ...headers }, body: "" };
}

/** Adds the dashboard's security headers to a response. */
export function guarded(response: ServiceResponse): ServiceResponse {
  return { ...response, headers: { ...HEADERS, ...response.headers } };
}

/**
 * Returns why a request comes neither from a page of this dashboard nor from a program on this machine, or undefined.
 * Pages of other sites can send requests, and can point a name of their own at this machine (DNS rebinding). Hence this
 * checks the browser's headers for the origin and the host of a request.
 * @param url of the control plane
 */
export function foreignRequest({ headers }: Pick<ServiceRequest, "headers">, url: string): string | undefined {
  const { port } = new URL(url);
  const hosts = NAMES.map((name) => (port === "" ? name : `${name}:${port}`));
  const host = headers.host?.toLowerCase();
  if (host === undefined || !hosts.includes(host)) {
    return `found host ${JSON.stringify(headers.host ?? "")}, expected ${hosts.join(" or ")}`;
  }
  const { origin } = headers;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`) {
    return `found origin ${JSON.stringify(origin)}, expected http://${host}: the request comes from another site`;
  }
  return undefined;
}

/**
 * Returns why a request for data or actions comes from another site, or undefined. Another site may link to the page,
 * but only the page may request its data.
 */
export function foreignFetch({ headers }: Pick<ServiceRequest, "headers">): string | undefined {
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none"
    ? undefined
    : `found a request from a page of ${site} origin, expected one of this dashboard`;
}
