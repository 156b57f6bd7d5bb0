import { ConductorError } from "../../../conductor-client/errors.js";
import type { ServiceResponse } from "../../../runtime/service.js";
import { json } from "../../http/responses.js";

/** What Neutron answers instead of a result. */
export class NetworkFault extends Error {
  override readonly name = "NetworkFault";
  readonly status: number;
  /** Name of Neutron's exception. */
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }

  toResponse(): ServiceResponse {
    return json(this.status, { NeutronError: { type: this.type, message: this.message, detail: "" } });
  }
}

export const badRequest = (message: string): NetworkFault => new NetworkFault(400, "HTTPBadRequest", message);

export function notFound(): NetworkFault {
  return new NetworkFault(404, "HTTPNotFound", "The resource could not be found.");
}

export function invalidInput(name: string, reason: string): NetworkFault {
  return badRequest(`Invalid input for ${name}. Reason: ${reason}`);
}

/** Statuses of what the state of record refuses, by the names that Neutron has for it. */
const REJECTION_STATUSES: Readonly<Record<string, number>> = {
  SecurityGroupDefaultAlreadyExists: 409,
  SecurityGroupInUse: 409,
  PortNotFound: 404,
  PortInUse: 409,
  InvalidIpForNetwork: 400,
  IpAddressAlreadyAllocated: 409,
  IpAddressGenerationFailure: 409,
};

/** Undefined: not the client's doing. */
export function networkFault(error: unknown): NetworkFault | undefined {
  if (error instanceof NetworkFault) {
    return error;
  }
  const status = error instanceof ConductorError ? REJECTION_STATUSES[error.name] : undefined;
  return error instanceof Error && status !== undefined
    ? new NetworkFault(status, error.name, error.message)
    : undefined;
}
