import type { Json } from "../../http/json.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { RecordTable, StoredRecord } from "../store/record-table.js";
import type { PolicyTarget } from "./enforcer.js";
import type { IdentityCall, IdentityRoute } from "./identity-call.js";
import { IdentityError, notFound } from "./identity-error.js";
import { listBody } from "./listing.js";

/** A kind of records that are listed, shown, made, changed and removed in the same way. */
export interface Resource<T extends StoredRecord> {
  /** `users` */
  readonly plural: string;
  readonly singular: string;
  /** Default: `/v3/<plural>`. */
  readonly path?: string;
  /** Default: the word itself. */
  readonly names?: { readonly rule?: string; readonly rules?: string; readonly found?: string };
  /** Members by which a list is filtered. */
  readonly filters: readonly string[];
  readonly table: (store: IdentityStore) => Pick<RecordTable<T>, "get">;
  /** Records that come with the cluster, before those that are stored. */
  readonly own?: (call: IdentityCall) => readonly T[];
  /** What may be listed at all. */
  readonly list: (call: IdentityCall) => readonly T[];
  /** What the rule of the list may ask of; default: the domain of the token. */
  readonly listedBy?: (call: IdentityCall) => PolicyTarget;
  /** Checks and stores. Left out: the kind has a POST of its own. */
  readonly create?: (call: IdentityCall, body: unknown) => T | Promise<T>;
  readonly update: (call: IdentityCall, record: T, body: unknown) => T | Promise<T>;
  readonly remove: (call: IdentityCall, record: T) => void;
  /** Default: in the words for most kinds. */
  readonly missing?: (id: string) => IdentityError;
  /** Default: the record as it is. */
  readonly view?: (call: IdentityCall, record: T) => object;
}

/** The five routes of a kind. */
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
      handle: (call) => ({ body: render(call, found(resource, call, `identity:get_${rule}`)) }),
    },
    {
      method: "PATCH",
      path: `${path}/:id`,
      handle: async (call) => {
        const record = found(resource, call, `identity:update_${rule}`);
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
        const record = found(resource, call, `identity:delete_${rule}`);
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

/** What a rule may ask of a record: `target.user.domain_id`. */
export function targetOf(kind: string, record: unknown): PolicyTarget {
  const members = typeof record === "object" && record !== null ? Object.entries(record) : [];
  return Object.fromEntries(
    members.flatMap(([name, value]) =>
      typeof value === "string" || value === null ? [[`target.${kind}.${name}`, value]] : [],
    ),
  );
}

/** A record of another kind as its own list shows it. */
export function withLinks(call: IdentityCall, plural: string, record: StoredRecord): Readonly<Record<string, unknown>> {
  return { ...record, links: { self: `${call.root}/${plural}/${record.id}` } };
}

/** The record of the path. @throws {IdentityError} 401, 403, 404 */
function found<T extends StoredRecord>(resource: Resource<T>, call: IdentityCall, action: string): T {
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

/** A token of a domain lists what is in the domain. */
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
    throw new IdentityError(
      403,
      `The ${resource.singular} ${id} comes with the cluster and is neither changed nor deleted.`,
    );
  }
}

function assertAllowedChanges(singular: string, record: StoredRecord, body: unknown): void {
  const requested = typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  if (requested.id !== undefined && requested.id !== record.id) {
    throw new IdentityError(400, "Cannot change ID");
  }
  if (requested.domain_id !== undefined && "domain_id" in record && requested.domain_id !== record.domain_id) {
    throw new IdentityError(400, "Cannot change Domain ID");
  }
  const options = requested.options as { readonly immutable?: unknown } | undefined;
  if (isImmutable(record) && options?.immutable !== false) {
    throw immutable("update", singular, record.id);
  }
}

function isImmutable(record: StoredRecord): boolean {
  return "options" in record && (record.options as { readonly immutable?: unknown } | null)?.immutable === true;
}

function immutable(what: string, kind: string, id: string): IdentityError {
  return new IdentityError(
    403,
    `Unable to ${what} immutable ${kind} resource: \`${id}. Set resource option "immutable" to false first.`,
  );
}
