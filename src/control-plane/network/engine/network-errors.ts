import type { ServiceResponse } from "../../../runtime/http-server.js";
import { HttpError } from "../../http/http-error.js";
import { json } from "../../http/responses.js";
import type { NetworkResource } from "./network-resource.js";

/** Creates an error with the name of Neutron's exception: `networkError(409, "NetworkInUse", "...")`. */
export function networkError(status: number, type: string, message: string): HttpError {
  return new HttpError(status, message, { code: type });
}

/** Neutron's error for a request that a rule of an operation rejects. */
export function invalidOperation(message: string): HttpError {
  return networkError(400, "InvalidInput", `Invalid input for operation: ${message}.`);
}

/** Neutron's error for an operation that a plugin lacks. */
export const notImplemented = (message: string): HttpError => networkError(501, "NotImplementedError", message);

/** Neutron's error for a bad request to a resource: `Bad router request: ...`. */
export function badResource(resource: string, message: string): HttpError {
  return networkError(400, "BadRequest", `Bad ${resource} request: ${message}`);
}

export function recordNotFound({ notFound, singular }: NetworkResource, id: string, parentId?: string): HttpError {
  const name = singular.charAt(0).toUpperCase() + singular.slice(1).replaceAll("_", " ");
  const message = notFound.message?.(id, parentId) ?? `${name} ${id} could not be found.`;
  return networkError(404, notFound.type, message);
}

/** Names of the web framework's errors, which have no exception of Neutron's. */
const FRAMEWORK_TYPES: Readonly<Record<number, string>> = {
  400: "HTTPBadRequest",
  403: "HTTPForbidden",
  404: "HTTPNotFound",
  405: "HTTPMethodNotAllowed",
  413: "HTTPRequestEntityTooLarge",
};

/** Renders an error as Neutron does. */
export function renderNetworkError({ status, code, message }: HttpError): ServiceResponse {
  const type = code ?? FRAMEWORK_TYPES[status] ?? "HTTPInternalServerError";
  const key = status === 501 ? type : "NeutronError";
  return json(status, { [key]: { type, message, detail: "" } });
}
