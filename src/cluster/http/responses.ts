import type { ServiceRequest, ServiceResponse } from "../../runtime/service.js";

export function json(status: number, body: unknown): ServiceResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

export function withHeaders(response: ServiceResponse, headers: Readonly<Record<string, string>>): ServiceResponse {
  return {
    ...response,
    headers: { ...response.headers, ...headers },
  };
}

/** What keystonemiddleware answers in front of a service. @param mount the service's: `/compute` */
export function authenticationRequired({ baseUrl }: ServiceRequest, mount: string): ServiceResponse {
  const message = "The request you have made requires authentication.";
  const root = baseUrl.endsWith(mount) ? `${baseUrl.slice(0, -mount.length)}/identity` : baseUrl;
  return withHeaders(json(401, { error: { code: 401, title: "Unauthorized", message } }), {
    "www-authenticate": `Keystone uri="${root}"`,
  });
}
