import type { ErrorObject } from "ajv";
import { type Static, type TProperties, type TSchema, Type } from "typebox";
import { badRequest, forbidden, type HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { routes } from "../../http/router.js";
import { schemaWords } from "../../http/schema-errors.js";
import { createCompiler } from "../../http/schemas.js";
import type { IdentityStore } from "../store/identity-store.js";
import { isSameName, type NamedTable, type RecordTable, type StoredRecord } from "../store/record-tables.js";
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

/** A kind of records with the usual routes: list, get, create, update and delete. */
export interface Resource<T extends StoredRecord, C extends TSchema, U extends TSchema> {
  /** Name in paths and bodies, such as `users`. */
  readonly plural: string;
  readonly singular: string;
  /** Default: `/v3/<plural>`. */
  readonly path?: string;
  /** Names for policy rules and "not found" errors. Default: the singular or plural. */
  readonly names?: { readonly rule?: string; readonly rules?: string; readonly found?: string };
  /** Members that the query of a list can filter by. */
  readonly filters: readonly string[];
  /** Schemas of the bodies of POST and PATCH. */
  readonly body: { readonly create?: C; readonly update: U };
  readonly table: (store: IdentityStore) => RecordTable<T>;
  /** Default: the table's record with the id. */
  readonly find?: (store: IdentityStore, id: string) => T | undefined;
  /** Built-in records, listed before those that are stored. */
  readonly own?: (call: IdentityCall) => readonly T[];
  /** Returns the records of a list, before filters. Default: all of the table. */
  readonly list?: (call: IdentityCall) => readonly T[];
  /** Returns the policy target of the list's rule. Default: the token's domain. */
  readonly listedBy?: (call: IdentityCall) => PolicyTarget;
  /** Stores a new record. Left out if the kind has its own POST route. */
  readonly create?: (call: IdentityCall, attributes: Static<C>) => T | Promise<T>;
  /** Default: the changes replace the record's members. */
  readonly update?: (call: IdentityCall, record: T, changes: Static<U>) => T | Promise<T>;
  /** Default: only the record itself is deleted. */
  readonly remove?: (call: IdentityCall, record: T) => void;
  /** Creates the "not found" error. Default: the message of most kinds. */
  readonly missing?: (id: string) => HttpError;
  /** Renders a record. Default: the record itself. */
  readonly view?: (call: IdentityCall, record: T) => object;
}

/** Creates the five routes of a kind. */
export function resourceRoutes<T extends StoredRecord, C extends TSchema, U extends TSchema>(
  resource: Resource<T, C, U>,
): readonly IdentityRoute[] {
  const { plural, singular, path = `/v3/${plural}`, names = {}, filters, body: schemas, table, create } = resource;
  const rule = names.rule ?? singular;
  const update = resource.update ?? (({ store }, record, changes) => table(store).update({ ...record, ...changes }));
  const remove = resource.remove ?? (({ store }, { id }) => table(store).delete(id));

  function render(call: IdentityCall, record: T): Members {
    const rendered = resource.view?.(call, record) ?? record;
    return { ...rendered, links: { self: `${call.request.baseUrl}${path}/${record.id}` } };
  }

  function show(call: IdentityCall, record: T): Json {
    return { [singular]: render(call, record) as Json };
  }

  /** Returns the record that the path names. @throws {HttpError} 401, 403, 404 */
  function find(call: IdentityCall, verb: string): T {
    const id = call.param("id");
    const record =
      resource.own?.(call).find((one) => one.id === id) ??
      (resource.find ? resource.find(call.store, id) : table(call.store).get(id));
    call.enforce(`identity:${verb}_${rule}`, targetOf(singular, record));
    if (!record) {
      throw resource.missing?.(id) ?? notFound(names.found ?? singular, id);
    }
    return record;
  }

  /** Returns the record that the path names, for a change. @throws {HttpError} 401, 403, 404 */
  function findOther(call: IdentityCall, verb: string): T {
    const record = find(call, verb);
    if (resource.own?.(call).some(({ id }) => id === record.id)) {
      throw forbidden(`The ${singular} ${record.id} comes with the cluster and is neither changed nor deleted.`);
    }
    return record;
  }

  return routes<IdentityRoute>(
    {
      "GET /": (call) => {
        call.enforce(`identity:list_${names.rules ?? plural}`, (resource.listedBy ?? ownDomain)(call, singular));
        const stored = resource.list?.(call) ?? table(call.store).list();
        const records = inOwnDomain(call, [...(resource.own?.(call) ?? []), ...stored]);
        const views = records.map((record) => render(call, record));
        return { body: listBody(call, plural, views, filters) };
      },
      ...(create && {
        "POST /": async (call) => {
          const body = call.body(singular);
          call.enforce(`identity:create_${rule}`, targetOf(singular, body));
          const attributes = schemas.create && checkBody(schemas.create, body);
          return { status: 201, body: show(call, await create(call, attributes as Static<C>)) };
        },
      }),
      "GET /:id": (call) => ({ body: show(call, find(call, "get")) }),
      "PATCH /:id": async (call) => {
        const record = findOther(call, "update");
        const body = call.body(singular);
        assertAllowedChanges(singular, record, body);
        return { body: show(call, await update(call, record, checkBody(schemas.update, body))) };
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
  table: RecordTable<T>,
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

/** Returns the body of a list: records that pass the query's filters, after its `marker`, at most `limit` of them. */
export function listBody(
  call: IdentityCall,
  plural: string,
  records: readonly Members[],
  filters: readonly string[] = [],
): Json {
  const found = records.filter((record) => passes(call, record, filters));
  const marker = call.query.get("marker");
  const from = marker === undefined ? 0 : found.findIndex(({ id }) => id === marker) + 1;
  const limit = limitOf(call);
  const page = found.slice(from, limit === undefined ? undefined : from + limit);
  const truncated = from + page.length < found.length;
  const links = { next: truncated ? nextPage(call, String(page.at(-1)?.id)) : null, self: call.url, previous: null };
  return { [plural]: page as unknown as Json, links, ...(truncated ? { truncated: true } : {}) };
}

function passes(call: IdentityCall, record: Members, filters: readonly string[]): boolean {
  return call.query.entries.every(([parameter, filterValue]) => {
    const [name = "", comparison] = parameter.split("__");
    if (!filters.includes(name)) {
      return true;
    }
    const found = record[name];
    if (comparison !== undefined) {
      return COMPARISONS[comparison]?.(String(found ?? ""), filterValue) ?? true;
    }
    if (typeof found === "boolean") {
      return found === !["0", "false", "no", "off", "f", "n"].includes(filterValue.toLowerCase());
    }
    if (found === undefined || found === null) {
      return filterValue === "";
    }
    // Keystone does not store a service's name in a column, so its database does not compare it.
    return "type" in record && name === "name" ? found === filterValue : isSameName(String(found), filterValue);
  });
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

const compile = createCompiler({ allErrors: false });

/**
 * Validates a body. The message has only the first lines of Keystone's: the remaining ones print the schema.
 * @throws {HttpError} 400
 */
export function checkBody<S extends TSchema>(schema: S, value: unknown): Static<S> {
  const validate = compile(schema);
  if (!validate(value)) {
    const errors = validate.errors ?? [];
    const error = errors.at(-1);
    throw badRequest(error ? wording(error, errors) : "The request body is not valid.");
  }
  return value as Static<S>;
}

function wording(error: ErrorObject, errors: readonly ErrorObject[]): string {
  const text = schemaWords(error, errors);
  const field = error.instancePath.split("/").at(-1);
  return field === "" ? text : `Invalid input for field '${field}': ${text}`;
}

export const BOOLEAN = Type.Boolean();

export const TEXT = Type.String();

export const NAME = Type.String({ minLength: 1, maxLength: 255, pattern: "[\\S]+" });

export const SHORT_NAME = Type.String({ minLength: 1, maxLength: 64, pattern: "[\\S]+" });

export const ID = Type.String({ minLength: 1, maxLength: 64, pattern: "^[a-zA-Z0-9-]+$" });

export const URL_TEXT = Type.String({ maxLength: 225, pattern: "^[a-zA-Z0-9+.-]+:.+" });

/** Resource options. All kinds with options support `immutable`. */
export const OPTIONS = Type.Object({ immutable: Type.Optional(orNull(Type.Boolean())) });

/** Makes a type nullable. Both types are listed, since messages of Python's jsonschema name both. */
export function orNull<S extends TSchema>(schema: S) {
  const { type } = schema as unknown as { readonly type: string };
  return Type.Unsafe<Type.Static<S> | null>({ ...schema, type: [type, "null"] });
}

/** Schema of a POST body. Unknown members are stored with the record, as in Keystone. */
export function createSchema<R extends TProperties, P extends TProperties>(required: R, optional: P) {
  const { properties } = Type.Partial(Type.Object(optional));
  return Type.Object({ ...required, ...properties });
}

/** Schema of a PATCH body: at least one member. */
export function updateSchema<P extends TProperties>(properties: P) {
  return Type.Partial(Type.Object(properties), { minProperties: 1 });
}

/**
 * Schemas of the bodies of POST and PATCH.
 * @param fixed optional members of POST that cannot change later
 */
export function bodies<R extends TProperties, P extends TProperties, F extends TProperties = Record<never, never>>(
  needed: R,
  optional: P,
  fixed?: F,
) {
  return {
    create: createSchema(needed, { ...optional, ...fixed } as P & F),
    update: updateSchema({ ...needed, ...optional }),
  };
}
