import type { NetworkCall } from "./network-call.js";
import { recordNotFound } from "./network-errors.js";
import type { NetworkResource } from "./network-resource.js";
import { findRecord } from "./records.js";

type Attributes = Readonly<Record<string, unknown>>;

/** Returns the parent, if the caller may see it. @throws {HttpError} 404 */
export function requireParent(call: NetworkCall, { parent }: NetworkResource): Attributes | undefined {
  const resource = parent && call.context.services.registry.find(parent.collection);
  return resource && parent ? findRecord(call.context, resource, call.param(parent.attribute)) : undefined;
}

/** Returns the record of the path, if the caller may see it. @throws {HttpError} 404 */
export function recordOf(call: NetworkCall, resource: NetworkResource): Attributes & { readonly id: string } {
  const { parent } = resource;
  requireParent(call, resource);
  const id = call.param("id");
  const record: Attributes = findRecord(call.context, resource, id);
  if (parent && record[parent.attribute] !== call.param(parent.attribute)) {
    throw recordNotFound(resource, id, call.param(parent.attribute));
  }
  return { ...record, id };
}
