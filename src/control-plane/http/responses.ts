import type { Rejection, ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import type { Credentials, ValidateToken } from "../credentials.js";
import type { EventLoopTicks } from "../event-loop.js";
import { type Json, jsonText } from "./json.js";
import { atOnce } from "./request.js";

export function json(status: number, body: unknown): ServiceResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

/** A route's response, before its body is serialized. */
export interface RouteResponse {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
  /** A body that is plain text instead. */
  readonly text?: string;
}

/** Serializes a response, with `ticks` for other requests in long lists. A response to HEAD has no body. */
export function toServiceResponse(
  { status = 200, headers, body, text: plainText }: RouteResponse,
  { method }: Pick<ServiceRequest, "method">,
  ticks?: EventLoopTicks,
): ServiceResponse | Promise<ServiceResponse> {
  if (plainText !== undefined) {
    return { status, headers: { "content-type": "text/plain; charset=UTF-8", ...headers }, body: plainText };
  }
  if (body === undefined) {
    return { status, headers: headers ?? {}, body: "" };
  }
  const text = method === "HEAD" ? "" : ticks ? jsonText(body, ticks) : JSON.stringify(body);
  return atOnce(text, (written) => ({ status, headers: { ...JSON_CONTENT, ...headers }, body: written }));
}

const JSON_CONTENT = { "content-type": "application/json" };

/** Adds headers to a response. Later ones replace earlier ones of the same name. */
export function withHeaders(response: ServiceResponse, ...more: Readonly<Record<string, string>>[]): ServiceResponse {
  // Copied one by one: every response needs this, and spreading two objects is ten times as slow.
  const headers: Record<string, string> = {};
  copyHeaders(headers, response.headers);
  for (const each of more) {
    copyHeaders(headers, each);
  }
  return { ...response, headers };
}

function copyHeaders(to: Record<string, string>, from: Readonly<Record<string, string>>): void {
  for (const name in from) {
    to[name] = from[name] ?? "";
  }
}

/**
 * Returns the caller of a request, or the response to one without a valid token.
 * @param mount path of the service: `/compute`
 */
export function authenticate(
  validate: ValidateToken,
  request: ServiceRequest,
  mount: string,
): Credentials | { readonly response: ServiceResponse } {
  return validate(request.headers["x-auth-token"] ?? "") ?? { response: authenticationRequired(request, mount) };
}

export function authenticationRequired({ baseUrl }: ServiceRequest, mount: string): ServiceResponse {
  return tokenRequired(baseUrl.endsWith(mount) ? `${baseUrl.slice(0, -mount.length)}/identity` : baseUrl);
}

/** Returns keystonemiddleware's response to a request without a valid token. */
export function tokenRequired(identityUri: string): ServiceResponse {
  const message = "The request you have made requires authentication.";
  return withHeaders(json(401, { error: { code: 401, title: "Unauthorized", message } }), {
    "www-authenticate": `Keystone uri="${identityUri}"`,
  });
}

/** Escapes text as Python's `html.escape` does. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#x27;");
}

/** Titles and explanations of OpenStack's web framework, by status. */
const EXPLANATIONS: Readonly<Record<number, readonly [title: string, explanation: string]>> = {
  400: [
    "Bad Request",
    "The server could not comply with the request since it is either malformed or otherwise incorrect.",
  ],
  403: ["Forbidden", "Access was denied to this resource."],
  404: ["Not Found", "The resource could not be found."],
  408: ["Request Timeout", "The server has waited too long for the request to be sent by the client."],
  413: ["Request Entity Too Large", "The body of your request was too large for this server."],
  431: ["Request Header Fields Too Large", "The header fields of your request were too large for this server."],
  500: ["Internal Server Error", "The server has either erred or is incapable of performing the requested operation."],
};

/** Creates a response for a request that reaches no service, in the format of Placement's errors. */
export function openstackError({ status, reason, requestId }: Rejection): ServiceResponse {
  const [title, explanation] = EXPLANATIONS[status] ?? ["Error", ""];
  const error = { status, title, detail: `${explanation}\n\n ${reason}  `, request_id: requestId };
  return {
    status,
    headers: { "content-type": "application/json", "x-openstack-request-id": requestId },
    body: JSON.stringify({ errors: [error] }),
  };
}

const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;

/**
 * Accepts only requests that were sent to an address, to `localhost` or to one of these names; `*.example.org` matches
 * all hosts of a domain. A web page can make its own name resolve to this machine (DNS rebinding) and then call the
 * service from the same origin. The browser's Host header reveals that; a request without one does not come from a
 * browser.
 * @param how explains in the message how a name is added: `given with --server-name`
 */
export function onlyForKnownHosts(
  handler: ServiceHandler,
  names: readonly string[],
  newRequestId: () => string,
  how = "given with --server-name",
): ServiceHandler {
  const known = new Set(["localhost", ...names].map((name) => name.toLowerCase()));
  return (request) => {
    const { host } = request.headers;
    const name = host?.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
    if (name === undefined || known.has(name) || ADDRESS.test(name) || known.has(inDomain(name))) {
      return handler(request);
    }
    const expected = `found ${JSON.stringify(host)}, expected an address, ${[...known].join(", ")} or a name ${how}`;
    const reason = `the Host header names no host of this service: ${expected}`;
    return openstackError({ status: 403, reason, requestId: newRequestId() });
  };
}

const inDomain = (name: string): string => name.replace(/^[^.]*/, "*");
