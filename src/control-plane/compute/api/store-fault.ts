import {
  ConductorError,
  InstanceNotFound,
  InvalidParameters,
  ServiceNotFound,
  UnexpectedTaskState,
  UnexpectedVmState,
} from "../../../conductor-client/errors.js";
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
import { badRequest, conflict, type Fault, notFound } from "./fault.js";

/** What the state of record refused because it has changed since the request read it; undefined: not the client's doing. */
export function storeFault(error: unknown): Fault | undefined {
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
