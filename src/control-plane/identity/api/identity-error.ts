import type { ServiceResponse } from "../../../runtime/http-server.js";
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

/** Keystone's error response. */
export class IdentityError extends Error {
  override readonly name = "IdentityError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  toResponse(): ServiceResponse {
    const error = { code: this.status, message: this.message, title: TITLES[this.status] ?? "Error" };
    return json(this.status, { error });
  }
}

export function unauthorized(): IdentityError {
  return new IdentityError(401, "The request you have made requires authentication.");
}

export function forbidden(rule: string): IdentityError {
  return new IdentityError(403, `You are not authorized to perform the requested action: ${rule}.`);
}

export function expecting(attribute: string, target: string): IdentityError {
  return new IdentityError(
    400,
    `Expecting to find ${attribute} in ${target}. The server could not comply with the request since it is either ` +
      "malformed or otherwise incorrect. The client is assumed to be in error.",
  );
}

export function notFound(kind: string, id: string): IdentityError {
  return new IdentityError(404, `Could not find ${kind}: ${id}.`);
}

export function conflict(kind: string, why: string): IdentityError {
  return new IdentityError(409, `Conflict occurred attempting to store ${kind} - ${why}.`);
}
