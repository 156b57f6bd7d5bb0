import type { ServiceResponse } from "../runtime/http-server.js";
import { SECURITY_HEADERS } from "./session/routes.js";

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
