import type { ServiceRequest, ServiceResponse } from "../../runtime/service.js";

export function json(status: number, body: unknown): ServiceResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

/** The same answer with these headers, too. Later ones replace earlier ones of the same name. */
export function withHeaders(response: ServiceResponse, ...more: Readonly<Record<string, string>>[]): ServiceResponse {
  // One by one: this is part of every answer, and to spread one object behind another is ten times as slow.
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

/** What keystonemiddleware answers in front of a service. @param mount the service's: `/compute` */
export function authenticationRequired({ baseUrl }: ServiceRequest, mount: string): ServiceResponse {
  const message = "The request you have made requires authentication.";
  const root = baseUrl.endsWith(mount) ? `${baseUrl.slice(0, -mount.length)}/identity` : baseUrl;
  return withHeaders(json(401, { error: { code: 401, title: "Unauthorized", message } }), {
    "www-authenticate": `Keystone uri="${root}"`,
  });
}
