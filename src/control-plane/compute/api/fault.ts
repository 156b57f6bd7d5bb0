import {
  ConductorError,
  InstanceNotFound,
  InvalidParameters,
  ServiceNotFound,
  UnexpectedTaskState,
  UnexpectedVmState,
} from "../../../conductor-client/errors.js";
import type { ServiceResponse } from "../../../runtime/http-server.js";
import { badRequest, conflict, type HttpError, notFound } from "../../http/http-error.js";
import {
  AggregateHostExists,
  AggregateNameExists,
  AggregateNotFound,
  FlavorAccessExists,
  FlavorAccessNotFound,
  FlavorExists,
  FlavorIdExists,
  InvalidIpForNetwork,
  IpAddressGenerationFailure,
  IpAddressInUse,
  KeyPairExists,
  PortInUse,
  PortNotFound,
} from "../../store/store-errors.js";

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
  if (!(error instanceof ConductorError)) {
    return undefined;
  }
  if (error instanceof InstanceNotFound || error instanceof ServiceNotFound) {
    return notFound(error.message);
  }
  if (error instanceof UnexpectedTaskState || error instanceof UnexpectedVmState) {
    return conflict(error.message);
  }
  if (error instanceof FlavorExists || error instanceof FlavorIdExists) {
    return conflict(error.message);
  }
  if (error instanceof FlavorAccessExists || error instanceof KeyPairExists) {
    return conflict(error.message);
  }
  if (error instanceof AggregateNotFound || error instanceof FlavorAccessNotFound) {
    return notFound(error.message);
  }
  if (error instanceof AggregateNameExists || error instanceof AggregateHostExists) {
    return conflict(error.message);
  }
  if (error instanceof PortNotFound) {
    return notFound(error.message);
  }
  if (error instanceof PortInUse || error instanceof IpAddressInUse) {
    return conflict(error.message);
  }
  if (error instanceof InvalidIpForNetwork || error instanceof IpAddressGenerationFailure) {
    return badRequest(error.message);
  }
  if (error instanceof InvalidParameters) {
    return badRequest(error.message);
  }
  return undefined;
}
