import type { ServiceResponse } from "../../../runtime/http-server.js";
import { badRequest, HttpError, notFound } from "../../http/http-error.js";
import { json } from "../../http/responses.js";

/** Names under which Cinder's API reports errors, by status. Every other status is a `computeFault`. */
const FAULT_NAMES: Readonly<Record<number, string>> = {
  400: "badRequest",
  401: "unauthorized",
  403: "forbidden",
  404: "itemNotFound",
  405: "badMethod",
  409: "conflictingRequest",
  413: "overLimit",
  415: "badMediaType",
  501: "notImplemented",
  503: "serviceUnavailable",
};

/** Renders an error as Cinder does. */
export function renderBlockStorageError({ status, message, headers }: HttpError): ServiceResponse {
  const retryAfter = headers["retry-after"];
  const fault = { code: status, message, ...(retryAfter !== undefined && { retryAfter }) };
  return json(status, { [FAULT_NAMES[status] ?? "computeFault"]: fault });
}

export const invalidInput = (reason: string): HttpError => badRequest(`Invalid input received: ${reason}`);

export const invalidVolume = (reason: string): HttpError => badRequest(`Invalid volume: ${reason}`);

export const invalidSnapshot = (reason: string): HttpError => badRequest(`Invalid snapshot: ${reason}`);

export const invalidBackup = (reason: string): HttpError => badRequest(`Invalid backup: ${reason}`);

export const invalidGroup = (reason: string): HttpError => badRequest(`Invalid Group: ${reason}`);

/** @param title begins the message: `Volume` */
export function recordNotFound({ title }: { readonly title: string }, id: string): HttpError {
  return notFound(`${title} ${id} could not be found.`);
}

/** Cinder's error for an exceeded quota. @param exception its name: `VolumeLimitExceeded` */
export function overQuota(exception: string, message: string): HttpError {
  return new HttpError(413, `${exception}: ${message}`, { headers: { "retry-after": "0" } });
}

/** Cinder's error for a detachment that only Compute may request (CVE-2023-2088). */
export function conflictsWithCompute(serverId: string): HttpError {
  return new HttpError(
    409,
    `ConflictNovaUsingAttachment: Detach volume from instance ${serverId} using the Compute API`,
  );
}
