import type { ImageCall } from "../api/call.js";
import { forbidden, notFound } from "../api/fault.js";
import { may } from "../api/policy.js";
import type { Namespace } from "./metadef-store.js";

export function isOpen(call: ImageCall, namespace: Namespace): boolean {
  return may(call.caller, "get_metadef", namespace);
}

/** The namespace of the path. @throws {ImageFault} 404 */
export function findNamespace(call: ImageCall): Namespace {
  const name = call.param("namespace");
  const namespace = call.store.metadefs.namespace(name);
  if (!namespace || !isOpen(call, namespace)) {
    throw notFound(`Namespace ${name} not found`);
  }
  return namespace;
}

/** Definitions are made, changed and deleted by administrators. @throws {ImageFault} 403 */
export function requireWriter(call: ImageCall, action: string): void {
  if (!may(call.caller, "modify_metadef")) {
    throw forbidden(`You are not authorized to complete ${action} action.`);
  }
}
