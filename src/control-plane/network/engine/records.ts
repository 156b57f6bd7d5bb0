import { isDeepStrictEqual } from "node:util";
import { isConductorError } from "../../../conductor-client/errors.js";
import type { Json } from "../../http/json.js";
import { and, where } from "../../resources/condition.js";
import type { InputOf, RecordOf } from "../../resources/resource.js";
import type { Computed, ListFilters, NetworkContext } from "./network-context.js";
import { recordNotFound } from "./network-errors.js";
import { type NetworkAttributeMap, type NetworkResource, NOT_SPECIFIED } from "./network-resource.js";
import { sharedIds, visibleTo } from "./sharing.js";
import { removeTags, replaceTags, tagsOf } from "./tags.js";

/**
 * Creates, changes and deletes records with their resource's behaviour. Neither policies nor quotas are checked: requests
 * check them before, and the service itself needs none. Callers run it in a transaction.
 * Attributes that the input leaves out have the defaults of the description.
 */
export function createRecord<M extends NetworkAttributeMap>(
  context: NetworkContext,
  resource: NetworkResource<M>,
  input: InputOf<M>,
): RecordOf<M> {
  const { clock, random, registry } = context.services;
  const behaviour = registry.behaviourOf(resource);
  const now = clock.now();
  const attributes: Readonly<Record<string, unknown>> = { ...defaultsOf(resource), ...input };
  const record = {
    ...emptyColumns(resource),
    id: random.uuid(),
    ...storedAttributes(resource, attributes as InputOf<M>),
    created_at: now,
    updated_at: now,
    revision_number: 0,
    ...behaviour.prepareCreate?.(context, attributes as InputOf<M>),
  } as unknown as RecordOf<M> & { readonly id: string };
  context.table(resource).insert(record);
  changeSharing(context, resource as unknown as NetworkResource, record, attributes.shared);
  if (Array.isArray(attributes.tags) && attributes.tags.length > 0) {
    replaceTags(context.sql, record.id, attributes.tags);
  }
  behaviour.afterCreate?.(context, record, attributes as InputOf<M>);
  return context.table(resource).get(record.id) ?? record;
}

/** Returns null for each attribute that has a column. */
function emptyColumns({ attributes }: { readonly attributes: NetworkAttributeMap }): Readonly<Record<string, null>> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, { stored }]) => (stored === false ? [] : [[name, null]])),
  );
}

/** @param changes attributes of the request, or of the service's own change */
export function updateRecord<M extends NetworkAttributeMap>(
  context: NetworkContext,
  resource: NetworkResource<M>,
  id: string,
  changes: InputOf<M>,
): RecordOf<M> {
  const behaviour = context.services.registry.behaviourOf(resource);
  const table = context.table(resource);
  const before = existing(context, resource, id);
  const columns = behaviour.prepareUpdate?.(context, before, changes) ?? storedAttributes(resource, changes);
  table.update(id, columns as Partial<RecordOf<M>>);
  // Neutron gives the policy to the caller, and that of a network to the network's project.
  const owner = resource.collection === "networks" || context.caller.isInternal ? {} : context.caller;
  changeSharing(context, resource as unknown as NetworkResource, before, Reflect.get(changes, "shared"), owner);
  if (Object.hasOwn(resource.attributes, "revision_number") && isChange(resource, before, columns, changes)) {
    context.touch(resource as unknown as NetworkResource, id);
  }
  const after = existing(context, resource, id);
  behaviour.afterUpdate?.(context, after, changes, before);
  return existing(context, resource, id);
}

/** Returns whether an update changes a column, or names an attribute that has none. Others leave the revision. */
function isChange(
  { attributes }: { readonly attributes: NetworkAttributeMap },
  before: object,
  columns: object,
  changes: object,
): boolean {
  return (
    Object.entries(columns).some(([name, value]) => !isDeepStrictEqual(Reflect.get(before, name), value)) ||
    Object.keys(changes).some((name) => attributes[name]?.stored === false)
  );
}

export function deleteRecord<M extends NetworkAttributeMap>(
  context: NetworkContext,
  resource: NetworkResource<M>,
  id: string,
): void {
  const behaviour = context.services.registry.behaviourOf(resource);
  const record = existing(context, resource, id);
  behaviour.beforeDelete?.(context, record);
  if (resource.view === undefined) {
    context.table(resource).delete(id);
  }
  if (resource.tagged) {
    removeTags(context.sql, id);
  }
  const { rbac } = resource;
  if (rbac) {
    context.sql.execute(
      "DELETE FROM network_rbac_policies WHERE object_type = ? AND object_id = ?",
      rbac.objectType,
      id,
    );
  }
  behaviour.afterDelete?.(context, record);
}

/**
 * Creates, or deletes, the RBAC policy that `shared` stands for: the first action of the kind for all projects.
 * @param owner the policy's project. Default: that of the record
 */
function changeSharing(
  context: NetworkContext,
  { rbac }: NetworkResource,
  record: Readonly<Record<string, unknown>>,
  shared: unknown,
  { projectId = record.project_id }: { readonly projectId?: unknown } = {},
): void {
  const policies = context.services.registry.find("rbac_policies");
  const [action] = rbac?.actions ?? [];
  if (rbac === undefined || action === undefined || policies === undefined || typeof shared !== "boolean") {
    return;
  }
  const { objectType: object_type } = rbac;
  const object_id = String(record.id);
  const policy: Readonly<Record<string, unknown>> | undefined = context
    .table(policies)
    .first(where`object_id = ${object_id} AND action = ${action} AND target_tenant = '*'`);
  if (shared && policy === undefined) {
    const attributes = { project_id: projectId, object_type, object_id, action, target_tenant: "*" };
    createRecord(context.internal, policies, attributes as never);
  } else if (!shared && policy !== undefined) {
    deleteRecord(context.internal, policies, String(policy.id));
  }
}

/** Returns a record that the caller may see. @throws {HttpError} 404 with Neutron's exception of the resource */
export function findRecord<M extends NetworkAttributeMap>(
  context: NetworkContext,
  resource: NetworkResource<M>,
  id: string,
): RecordOf<M> {
  const known = resource as unknown as NetworkResource;
  const record = context.table(resource).first(and(where`id = ${id}`, visibleTo(context, known)));
  if (record === undefined) {
    throw recordNotFound(known, id);
  }
  return record;
}

function existing<M extends NetworkAttributeMap>(
  context: NetworkContext,
  resource: NetworkResource<M>,
  id: string,
): RecordOf<M> {
  const record = context.table(resource).get(id);
  if (record === undefined) {
    throw recordNotFound(resource as unknown as NetworkResource, id);
  }
  return record;
}

/** Returns the defaults of a create, which callers other than requests may leave out. */
function defaultsOf({ attributes }: { readonly attributes: NetworkAttributeMap }): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, attribute]) =>
      attribute.post && attribute.default !== undefined && attribute.default !== NOT_SPECIFIED
        ? [[name, attribute.default]]
        : [],
    ),
  );
}

/** Returns the attributes of a request that have a column. */
export function storedAttributes<M extends NetworkAttributeMap>(
  { attributes }: NetworkResource<M>,
  input: InputOf<M>,
): Partial<RecordOf<M>> {
  return Object.fromEntries(
    Object.entries(input).filter(([name]) => Object.hasOwn(attributes, name) && attributes[name]?.stored !== false),
  ) as Partial<RecordOf<M>>;
}

/** Values of all attributes of a record by their names; those without a column are computed. */
export type View = Readonly<Record<string, Json | undefined>>;

/**
 * Renders all attributes of records, in their order. Policies of attributes are the caller's to apply.
 * @param filters those of a list
 */
export function viewsOf(
  context: NetworkContext,
  resource: NetworkResource,
  records: readonly Readonly<Record<string, unknown>>[],
  filters?: ListFilters,
): readonly View[] {
  const behaviour = context.services.registry.behaviourOf(resource);
  const computed: readonly Computed[] = behaviour.compute?.(context, records as never, filters) ?? [];
  const ids = records.map((record) => String(record.id));
  const tags = resource.tagged ? tagsOf(context.sql, ids) : undefined;
  const shared = resource.rbac ? sharedIds(context, resource, ids) : undefined;
  const attributes = Object.entries(resource.attributes);
  return records.map((record, index) => {
    const view: Record<string, Json | undefined> = {};
    for (const [name, { type, stored: hasColumn, visible }] of attributes) {
      if (hasColumn === false || visible === false) {
        continue;
      }
      const value = record[name];
      view[name] =
        value === null || value === undefined || !type.render ? ((value as Json) ?? null) : type.render(value as never);
      if (name === "project_id") {
        view.tenant_id = view.project_id;
      }
    }
    if (tags) {
      view.tags = [...(tags.get(ids[index] ?? "") ?? [])];
    }
    if (shared) {
      view.shared = shared.has(ids[index] ?? "");
    }
    return { ...view, ...computed[index] };
  });
}

/** Runs a change; converts a violated unique index to Neutron's error. */
export function uniquely<T>(work: () => T, toError: () => Error): T {
  try {
    return work();
  } catch (error) {
    throw isConductorError(error, "DuplicateRecord") ? toError() : error;
  }
}
