import type { ServiceResponse } from "../../../runtime/http-server.js";
import { HttpError } from "../../http/http-error.js";
import { json } from "../../http/responses.js";

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  413: "Request Entity Too Large",
  500: "Internal Server Error",
};

/** Renders an error as Keystone does. */
export function renderIdentityError({ status, message }: HttpError): ServiceResponse {
  return json(status, { error: { code: status, message, title: TITLES[status] ?? "Error" } });
}

export function unauthorized(): HttpError {
  return new HttpError(401, "The request you have made requires authentication.");
}

export function forbidden(rule: string): HttpError {
  return new HttpError(403, `You are not authorized to perform the requested action: ${rule}.`);
}

export function expecting(attribute: string, target: string): HttpError {
  return new HttpError(
    400,
    `Expecting to find ${attribute} in ${target}. The server could not comply with the request since it is either ` +
      "malformed or otherwise incorrect. The client is assumed to be in error.",
  );
}

export function notFound(kind: string, id: string): HttpError {
  return new HttpError(404, `Could not find ${kind}: ${id}.`);
}

export function conflict(kind: string, why: string): HttpError {
  return new HttpError(409, `Conflict occurred attempting to store ${kind} - ${why}.`);
}
