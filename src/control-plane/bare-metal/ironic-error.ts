import { badRequest, conflict, forbidden, HttpError, notFound } from "../http/http-error.js";

const quoted = (text: string): string => `"${text}"`;

export const nodeNotFound = (node: string) => notFound(`Node ${node} could not be found.`);

export function nodeLocked(node: string, host: string) {
  return conflict(`Node ${node} is locked by host ${host}, please retry after the current operation is completed.`);
}

export function nodeAssociated(node: string, instance: string) {
  return conflict(`Node ${node} is associated with instance ${instance}.`);
}

export function instanceAssociated(instance: string, node: string) {
  return conflict(
    `Instance ${instance} is already associated with a node, it cannot be associated with this other node ${node}`,
  );
}

export function invalidState(action: string, node: string, state: string | null) {
  return badRequest(
    `The requested action ${quoted(action)} can not be performed on node ${quoted(node)} while it is in state ${quoted(state ?? "None")}.`,
  );
}

export function inMaintenance(operation: string, node: string) {
  return badRequest(`The ${operation} operation can't be performed on node ${node} because it's in maintenance mode.`);
}

export function nodeProtected(node: string) {
  return forbidden(`Node ${node} is protected and cannot be undeployed, rebuilt or deleted`);
}

/** @param from the first minor version that supports it; absent for a general message */
export function notAcceptable(from?: number) {
  return new HttpError(
    406,
    from === undefined
      ? "Request not acceptable."
      : `Request not acceptable. The minimal required API version should be 1.${from}`,
  );
}
