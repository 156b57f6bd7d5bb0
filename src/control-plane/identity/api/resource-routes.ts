import { badRequest, forbidden, type HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { routes } from "../../http/router.js";
import {
  type CreateOf,
  createSchema,
  type IdentityAttributeMap,
  type IdentityRecord,
  type IdentityResource,
  type StoredRecord,
  type UpdateOf,
  updateSchema,
} from "../store/identity-resource.js";
import type { IdentityStore } from "../store/identity-store.js";
import { type IdentityTable, type NamedTable, nameKey } from "../store/record-tables.js";
import { checkBody } from "./check-body.js";
import type { IdentityCall, IdentityRoute } from "./identity-call.js";
import { conflict, notFound } from "./identity-error.js";
import type { PolicyTarget } from "./policy.js";

type Members = Readonly<Record<string, unknown>>;

/** String comparisons by the suffix of a query parameter's name: `name__contains`. */
const COMPARISONS: Readonly<Record<string, (found: string, value: string) => boolean>> = {
  contains: (found, value) => found.includes(value),
  icontains: (found, value) => found.toLowerCase().includes(value.toLowerCase()),
  startswith: (found, value) => found.startsWith(value),
  istartswith: (found, value) => found.toLowerCase().startsWith(value.toLowerCase()),
  endswith: (found, value) => found.endsWith(value),
  iendswith: (found, value) => found.toLowerCase().endsWith(value.toLowerCase()),
};

/** The functions of a resource that differ from those of most resources. */
export interface Behaviour<M extends IdentityAttributeMap> {
  readonly table: (store: IdentityStore) => IdentityTable<IdentityRecord<M>>;
  /** Default: the table's record with the id. */
  readonly find?: (store: IdentityStore, id: string) => IdentityRecord<M> | undefined;
  /** Built-in records, listed before those that are stored. */
  readonly own?: (call: IdentityCall) => readonly IdentityRecord<M>[];
  /** Returns the records of a list, before filters. Default: all of the table. */
  readonly list?: (call: IdentityCall) => readonly IdentityRecord<M>[];
  /** Returns the policy target of the list's rule. Default: the token's domain. */
  readonly listedBy?: (call: IdentityCall) => PolicyTarget;
  /** Stores a new record. Left out if the resource has its own POST route. */
  readonly create?: (call: IdentityCall, attributes: CreateOf<M>) => IdentityRecord<M> | Promise<IdentityRecord<M>>;
  /** Default: the changes replace the record's members. */
  readonly update?: (
    call: IdentityCall,
    record: IdentityRecord<M>,
    changes: UpdateOf<M>,
  ) => IdentityRecord<M> | Promise<IdentityRecord<M>>;
  /** Default: only the record itself is deleted. */
  readonly remove?: (call: IdentityCall, record: IdentityRecord<M>) => void;
  /** Creates the "not found" error. Default: the message of most resources. */
  readonly missing?: (id: string) => HttpError;
  /** Renders a record. Default: the record itself. */
  readonly view?: (call: IdentityCall, record: IdentityRecord<M>) => object;
}

/** Creates the five routes of a resource. */
export function resourceRoutes<M extends IdentityAttributeMap>(
  resource: IdentityResource<M>,
  behaviour: Behaviour<M>,
): readonly IdentityRoute[] {
  type R = IdentityRecord<M>;
  const { collection, singular, path = `/v3/${collection}` } = resource;
  const { table, own = () => [], create } = behaviour;
  const [createBody, updateBody] = [createSchema(resource), updateSchema(resource)];
  const update = behaviour.update ?? (({ store }, record, changes) => table(store).update({ ...record, ...changes }));
  const remove = behaviour.remove ?? (({ store }, { id }) => table(store).delete(id));

  function render(call: IdentityCall, record: R): Members {
    const rendered = behaviour.view?.(call, record) ?? record;
    return { ...rendered, links: { self: `${call.request.baseUrl}${path}/${record.id}` } };
  }

  function show(call: IdentityCall, record: R): Json {
    return { [singular]: render(call, record) as Json };
  }

  /** Returns the record that the path names. @throws {HttpError} 401, 403, 404 */
  function find(call: IdentityCall, verb: string): R {
    const id = call.param("id");
    const record =
      own(call).find((one) => one.id === id) ??
      (behaviour.find ? behaviour.find(call.store, id) : table(call.store).get(id));
    call.enforce(`identity:${verb}_${singular}`, targetOf(singular, record));
    if (!record) {
      throw behaviour.missing?.(id) ?? notFound(singular, id);
    }
    return record;
  }

  /** Returns the record that the path names, for a change. @throws {HttpError} 401, 403, 404 */
  function findOther(call: IdentityCall, verb: string): R {
    const record = find(call, verb);
    if (own(call).some(({ id }) => id === record.id)) {
      throw forbidden(`The ${singular} ${record.id} comes with the cluster and is neither changed nor deleted.`);
    }
    return record;
  }

  return routes<IdentityRoute>(
    {
      "GET /": (call) => {
        call.enforce(`identity:list_${collection}`, (behaviour.listedBy ?? ownDomain)(call, singular));
        const stored = behaviour.list?.(call) ?? table(call.store).list();
        const views = inOwnDomain(call, [...own(call), ...stored]).map((record) => render(call, record));
        return { body: listBody(call, collection, views, resource.attributes) };
      },
      ...(create && {
        "POST /": async (call) => {
          const body = call.body(singular);
          call.enforce(`identity:create_${singular}`, targetOf(singular, body));
          return { status: 201, body: show(call, await create(call, checkBody(createBody, body))) };
        },
      }),
      "GET /:id": (call) => ({ body: show(call, find(call, "get")) }),
      "PATCH /:id": async (call) => {
        const record = findOther(call, "update");
        const body = call.body(singular);
        assertAllowedChanges(singular, record, body);
        return { body: show(call, await update(call, record, checkBody(updateBody, body))) };
      },
      "DELETE /:id": (call) => {
        const record = findOther(call, "delete");
        if (isImmutable(record)) {
          throw immutable("delete", singular, record.id);
        }
        call.store.sql.transaction(() => remove(call, record));
        return { status: 204 };
      },
    },
    { prefix: path },
  );
}

/** Returns the members of a record as policy attributes, such as `target.user.domain_id`. */
export function targetOf(kind: string, record: unknown): PolicyTarget {
  const members = typeof record === "object" && record !== null ? Object.entries(record) : [];
  return Object.fromEntries(
    members.flatMap(([name, value]) =>
      typeof value === "string" || value === null ? [[`target.${kind}.${name}`, value]] : [],
    ),
  );
}

/** Renders a record of another kind as its own list does. */
export function withLinks(call: IdentityCall, plural: string, record: StoredRecord): Readonly<Record<string, unknown>> {
  return { ...record, links: { self: `${call.root}/${plural}/${record.id}` } };
}

/**
 * Returns the record that the path names, if the action's rule permits it.
 * @param kind `user`: its name in rules and errors
 * @throws {HttpError} 401, 403, 404
 */
export function authorizedRecord<T extends StoredRecord>(
  call: IdentityCall,
  kind: string,
  table: IdentityTable<T>,
  action: string,
): T {
  const id = call.param("id");
  const record = table.get(id);
  call.enforce(`identity:${action}`, targetOf(kind, record));
  return requireRecord(kind, id, record);
}

/** @throws {HttpError} 404 if there is no record */
export function requireRecord<T>(kind: string, id: string, record: T | undefined): T {
  if (record === undefined) {
    throw notFound(kind, id);
  }
  return record;
}

/** @throws {HttpError} 409 if the domain has another record of that name */
export function assertUniqueName<T extends StoredRecord & { readonly name: string; readonly domain_id: string | null }>(
  kind: string,
  table: NamedTable<T>,
  { id, name, domain_id: domainId }: T,
): void {
  const other = table.named(name, domainId);
  if (other && other.id !== id) {
    const where = domainId === null ? "" : ` at domain ID ${domainId}`;
    throw conflict(kind, `Duplicate entry found with name ${name}${where}`);
  }
}

/** Filters records by the token's domain; tokens of other scopes list all records. */
function inOwnDomain<T extends StoredRecord>(call: IdentityCall, records: readonly T[]): readonly T[] {
  const { domainId } = call.token.record;
  return domainId === null
    ? records
    : records.filter((record) => !("domain_id" in record) || record.domain_id === domainId || record.id === domainId);
}

function ownDomain(call: IdentityCall, singular: string): PolicyTarget {
  const { domainId } = call.token.record;
  return domainId === null
    ? {}
    : { "target.domain_id": domainId, [`target.${singular}.domain_id`]: domainId, "target.domain.id": domainId };
}

function assertAllowedChanges(singular: string, record: StoredRecord, body: unknown): void {
  const requested = typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  if (requested.id !== undefined && requested.id !== record.id) {
    throw badRequest("Cannot change ID");
  }
  if (requested.domain_id !== undefined && "domain_id" in record && requested.domain_id !== record.domain_id) {
    throw badRequest("Cannot change Domain ID");
  }
  const options = requested.options as { readonly immutable?: unknown } | undefined;
  if (isImmutable(record) && options?.immutable !== false) {
    throw immutable("update", singular, record.id);
  }
}

function isImmutable(record: StoredRecord): boolean {
  return "options" in record && (record.options as { readonly immutable?: unknown } | null)?.immutable === true;
}

function immutable(what: string, kind: string, id: string): HttpError {
  return forbidden(
    `Unable to ${what} immutable ${kind} resource: \`${id}. Set resource option "immutable" to false first.`,
  );
}

/**
 * Returns the body of a list: records that pass the query's filters, after its `marker`, at most `limit` of them.
 * @param attributes filters are those with `filter`
 */
export function listBody(
  call: IdentityCall,
  collection: string,
  records: readonly Members[],
  attributes: IdentityAttributeMap = {},
): Json {
  const filters = call.query.entries.flatMap(([parameter, value]) => filterBy(attributes, parameter, value) ?? []);
  const found = records.filter((record) => filters.every((passes) => passes(record)));
  const marker = call.query.get("marker");
  const from = marker === undefined ? 0 : found.findIndex(({ id }) => id === marker) + 1;
  const limit = limitOf(call);
  const page = found.slice(from, limit === undefined ? undefined : from + limit);
  const truncated = from + page.length < found.length;
  const links = { next: truncated ? nextPage(call, String(page.at(-1)?.id)) : null, self: call.url, previous: null };
  return { [collection]: page as unknown as Json, links, ...(truncated ? { truncated: true } : {}) };
}

/**
 * Returns the filter of a query parameter; undefined if it is none. SQL cannot compare as Keystone's database does, and
 * built-in and computed attributes have no rows.
 */
function filterBy(
  attributes: IdentityAttributeMap,
  parameter: string,
  value: string,
): ((record: Members) => boolean) | undefined {
  const [name = "", comparison] = parameter.split("__");
  const attribute = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (!attribute?.filter) {
    return undefined;
  }
  if (comparison !== undefined) {
    const compare = COMPARISONS[comparison];
    return compare && ((record) => compare(String(record[name] ?? ""), value));
  }
  if (attribute.type.column === "boolean") {
    const isTrue = !["0", "false", "no", "off", "f", "n"].includes(value.toLowerCase());
    return (record) => record[name] === isTrue;
  }
  const toKey = attribute.isCaseSensitive ? String : nameKey;
  const key = toKey(value);
  return (record) => (record[name] == null ? value === "" : toKey(String(record[name])) === key);
}

function limitOf({ query }: IdentityCall): number | undefined {
  const limit = Number(query.get("limit"));
  return Number.isInteger(limit) && limit > 0 ? limit : undefined;
}

function nextPage({ request, query }: IdentityCall, marker: string): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of query.entries.filter(([name]) => name !== "marker")) {
    parameters.append(name, value);
  }
  parameters.set("marker", marker);
  return `${request.baseUrl}${request.path}?${parameters}`;
}
