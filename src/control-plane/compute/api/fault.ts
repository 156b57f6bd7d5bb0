import { isConductorError } from "../../../conductor-client/errors.js";
import type { ServiceResponse } from "../../../runtime/http-server.js";
import { badRequest, conflict, type HttpError, notFound } from "../../http/http-error.js";

/** Names under which Nova's API reports errors. Every other status is a `computeFault`. */
const FAULT_NAMES: Readonly<Record<number, string>> = {
  400: "badRequest",
  401: "unauthorized",
  403: "forbidden",
  404: "itemNotFound",
  405: "badMethod",
  409: "conflictingRequest",
  413: "overLimit",
  415: "badMediaType",
  429: "overLimit",
  501: "notImplemented",
  503: "serviceUnavailable",
};

/** Renders an error as Nova's API does. */
export function renderFault({ status, message }: HttpError): ServiceResponse {
  const body = { [FAULT_NAMES[status] ?? "computeFault"]: { code: status, message } };
  return { status, headers: { "content-type": "application/json; charset=UTF-8" }, body: JSON.stringify(body) };
}

/**
 * Returns the API's error for a conflict in the store, where a row changed after the request read it.
 * @returns undefined if the error is not caused by the client
 */
export function storeFault(error: unknown): HttpError | undefined {
  if (isConductorError(error, ...NOT_FOUND)) {
    return notFound(error.message);
  }
  if (isConductorError(error, ...CONFLICTS)) {
    return conflict(error.message);
  }
  return isConductorError(error, ...BAD_REQUESTS) ? badRequest(error.message) : undefined;
}

const NOT_FOUND = [
  "InstanceNotFound",
  "ServiceNotFound",
  "AggregateNotFound",
  "FlavorAccessNotFound",
  "PortNotFound",
] as const;

const CONFLICTS = [
  "UnexpectedTaskState",
  "UnexpectedVmState",
  "FlavorExists",
  "FlavorIdExists",
  "FlavorAccessExists",
  "KeyPairExists",
  "AggregateNameExists",
  "AggregateHostExists",
  "PortInUse",
  "IpAddressAlreadyAllocated",
] as const;

const BAD_REQUESTS = ["InvalidIpForNetwork", "IpAddressGenerationFailure", "InvalidParameters"] as const;
