import type { ErrorObject } from "ajv";
import { type Static, type TProperties, type TSchema, Type } from "typebox";
import { HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { schemaWords } from "../../http/schema-errors.js";
import { createCompiler } from "../../http/schemas.js";
import type { IdentityStore } from "../store/identity-store.js";
import { isSameName, type RecordTable, type StoredRecord } from "../store/record-tables.js";
import type { IdentityCall, IdentityRoute } from "./identity-call.js";
import { notFound } from "./identity-error.js";
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
export interface Resource<T extends StoredRecord> {
  /** Name in paths and bodies, such as `users`. */
  readonly plural: string;
  readonly singular: string;
  /** Default: `/v3/<plural>`. */
  readonly path?: string;
  /** Names for policy rules and "not found" errors. Default: the singular or plural. */
  readonly names?: { readonly rule?: string; readonly rules?: string; readonly found?: string };
  /** Members that the query of a list can filter by. */
  readonly filters: readonly string[];
  readonly table: (store: IdentityStore) => Pick<RecordTable<T>, "get">;
  /** Built-in records, listed before those that are stored. */
  readonly own?: (call: IdentityCall) => readonly T[];
  /** Returns the records of a list, before filters. */
  readonly list: (call: IdentityCall) => readonly T[];
  /** Returns the policy target of the list's rule. Default: the token's domain. */
  readonly listedBy?: (call: IdentityCall) => PolicyTarget;
  /** Validates and stores a new record. Left out if the kind has its own POST route. */
  readonly create?: (call: IdentityCall, body: unknown) => T | Promise<T>;
  readonly update: (call: IdentityCall, record: T, body: unknown) => T | Promise<T>;
  readonly remove: (call: IdentityCall, record: T) => void;
  /** Creates the "not found" error. Default: the message of most kinds. */
  readonly missing?: (id: string) => HttpError;
  /** Renders a record. Default: the record itself. */
  readonly view?: (call: IdentityCall, record: T) => object;
}

/** Creates the five routes of a kind. */
export function resourceRoutes<T extends StoredRecord>(resource: Resource<T>): readonly IdentityRoute[] {
  const { plural, singular, path = `/v3/${plural}`, names = {}, filters, create } = resource;
  const rule = names.rule ?? singular;
  const render = (call: IdentityCall, record: T): Json => ({ [singular]: viewOf(resource, call, record) as Json });
  return [
    {
      method: "GET",
      path,
      handle: (call) => {
        call.enforce(`identity:list_${names.rules ?? plural}`, (resource.listedBy ?? ownDomain)(call, singular));
        const records = inOwnDomain(call, [...(resource.own?.(call) ?? []), ...resource.list(call)]).map((record) =>
          viewOf(resource, call, record),
        );
        return { body: listBody(call, plural, records, filters) };
      },
    },
    ...(create === undefined
      ? []
      : [
          {
            method: "POST",
            path,
            handle: async (call: IdentityCall) => {
              const body = call.body(singular);
              call.enforce(`identity:create_${rule}`, targetOf(singular, body));
              return { status: 201, body: render(call, await create(call, body)) };
            },
          },
        ]),
    {
      method: "GET",
      path: `${path}/:id`,
      handle: (call) => ({ body: render(call, findRecord(resource, call, `identity:get_${rule}`)) }),
    },
    {
      method: "PATCH",
      path: `${path}/:id`,
      handle: async (call) => {
        const record = findRecord(resource, call, `identity:update_${rule}`);
        assertNotBuiltIn(resource, call, record);
        const body = call.body(singular);
        assertAllowedChanges(singular, record, body);
        return { body: render(call, await resource.update(call, record, body)) };
      },
    },
    {
      method: "DELETE",
      path: `${path}/:id`,
      handle: (call) => {
        const record = findRecord(resource, call, `identity:delete_${rule}`);
        assertNotBuiltIn(resource, call, record);
        if (isImmutable(record)) {
          throw immutable("delete", singular, record.id);
        }
        call.store.sql.transaction(() => resource.remove(call, record));
        return { status: 204 };
      },
    },
  ];
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

/** Returns the record that the path names. @throws {HttpError} 401, 403, 404 */
function findRecord<T extends StoredRecord>(resource: Resource<T>, call: IdentityCall, action: string): T {
  const { singular, names = {} } = resource;
  const id = call.param("id");
  const record = resource.own?.(call).find((one) => one.id === id) ?? resource.table(call.store).get(id);
  call.enforce(action, targetOf(singular, record));
  if (!record) {
    throw resource.missing?.(id) ?? notFound(names.found ?? singular, id);
  }
  return record;
}

function viewOf<T extends StoredRecord>(resource: Resource<T>, call: IdentityCall, record: T) {
  const { view, path = `/v3/${resource.plural}` } = resource;
  const rendered = view ? view(call, record) : record;
  return { ...rendered, links: { self: `${call.request.baseUrl}${path}/${record.id}` } } as Readonly<
    Record<string, unknown>
  >;
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

function assertNotBuiltIn<T extends StoredRecord>(resource: Resource<T>, call: IdentityCall, { id }: T): void {
  if (resource.own?.(call).some((one) => one.id === id)) {
    throw new HttpError(
      403,
      `The ${resource.singular} ${id} comes with the cluster and is neither changed nor deleted.`,
    );
  }
}

function assertAllowedChanges(singular: string, record: StoredRecord, body: unknown): void {
  const requested = typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  if (requested.id !== undefined && requested.id !== record.id) {
    throw new HttpError(400, "Cannot change ID");
  }
  if (requested.domain_id !== undefined && "domain_id" in record && requested.domain_id !== record.domain_id) {
    throw new HttpError(400, "Cannot change Domain ID");
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
  return new HttpError(
    403,
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
    throw new HttpError(400, error ? wording(error, errors) : "The request body is not valid.");
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
