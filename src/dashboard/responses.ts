import type { ServiceRequest, ServiceResponse } from "../runtime/http-server.js";

const NAMES = ["127.0.0.1", "localhost", "[::1]"];

/** On every answer of the window: scripts, styles and data of its own alone, in no frame, and nothing that a browser guesses. */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
} as const;

/** Nothing of the window is kept by browsers or proxies, but for the files of the page, which are checked each time. */
const HEADERS = { ...SECURITY_HEADERS, "cache-control": "no-store" };

export function jsonResponse(status: number, value: unknown): ServiceResponse {
  return { status, headers: { ...HEADERS, "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** @param error for a person: what was found, and what to do */
export const errorResponse = (status: number, error: string): ServiceResponse => jsonResponse(status, { error });

export function emptyResponse(status: number, headers: Readonly<Record<string, string>> = {}): ServiceResponse {
  return { status, headers: { ...HEADERS, ...headers }, body: "" };
}

/** The same answer, behind the window's doors. */
export function guarded(response: ServiceResponse): ServiceResponse {
  return { ...response, headers: { ...HEADERS, ...response.headers } };
}

/**
 * Why a request does not come from a page of this window or from a program on this machine; undefined: it does. A page of another
 * site can send requests here, and can make a name of its own lead to this machine (DNS rebinding): the browser says where
 * a request comes from and what host it was sent to.
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
    return `found origin ${JSON.stringify(origin)}, expected http://${host}: another site has asked for this`;
  }
  return undefined;
}

/**
 * Why a request for data or deeds is another site's; undefined: it is not. A link on another site may lead to the page, but what
 * the page asks for is asked for by the page alone.
 */
export function foreignFetch({ headers }: Pick<ServiceRequest, "headers">): string | undefined {
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none"
    ? undefined
    : `found a request from a page of ${site} origin, expected one of this window`;
}
