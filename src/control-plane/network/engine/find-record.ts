import { and, type Condition, EVERY } from "../../resources/condition.js";
import { columnOf } from "../../resources/resource.js";
import type { NetworkCall } from "./network-call.js";
import { recordNotFound } from "./network-errors.js";
import { hidden } from "./network-policy.js";
import type { NetworkResource } from "./network-resource.js";
import { findRecord } from "./records.js";
import { visibleTo } from "./sharing.js";

type Attributes = Readonly<Record<string, unknown>>;

/** Returns the id of the parent in the path; undefined if the path has none. */
export function parentIdOf(call: NetworkCall, { parent, path }: NetworkResource): string | undefined {
  return parent && path.includes(`/:${parent.attribute}/`) ? call.param(parent.attribute) : undefined;
}

/** Returns the parent that the path names, if the caller may see it. @throws {HttpError} 404 */
export function requireParent(call: NetworkCall, resource: NetworkResource): Attributes | undefined {
  const id = parentIdOf(call, resource);
  return id === undefined || resource.parent?.isRequired === false ? undefined : findParent(call, resource, id);
}

function findParent({ context }: NetworkCall, { parent }: NetworkResource, id: string): Attributes | undefined {
  const resource = parent && context.services.registry.find(parent.collection);
  return resource && findRecord(context, resource, id);
}

/** Matches the records of the parent in the path. */
export function inParent(call: NetworkCall, resource: NetworkResource): Condition {
  const { parent, table } = resource;
  const id = parentIdOf(call, resource);
  return parent && id !== undefined ? { sql: `${table}.${columnOf(parent.attribute)} = ?`, values: [id] } : EVERY;
}

/** Returns the record of the path, if the caller may see it and its parent. @throws {HttpError} 404 */
export function recordOf(call: NetworkCall, resource: NetworkResource): Attributes & { readonly id: string } {
  const { context } = call;
  const { parent, table, key = "id" } = resource;
  requireParent(call, resource);
  const parentId = parentIdOf(call, resource);
  const behaviour = context.services.registry.behaviourOf(resource);
  if (parentId !== undefined) {
    behaviour.assertParent?.(context, parentId);
  }
  const name = call.param("id");
  const isNamed: Condition = { sql: `${table}.${columnOf(key)} = ?`, values: [name] };
  const record: Attributes | undefined = context
    .table(resource)
    .first(and(isNamed, inParent(call, resource), visibleTo(context, resource)));
  if (record === undefined) {
    const { isForeignHidden = false } = behaviour;
    throw isForeignHidden && context.table(resource).has(isNamed) ? hidden() : recordNotFound(resource, name, parentId);
  }
  if (parent && parentId === undefined) {
    findParent(call, resource, String(record[parent.attribute]));
  }
  return { ...record, id: String(record.id) };
}
