import { isConductorError } from "../../../conductor-client/errors.js";
import type { ServiceResponse } from "../../../runtime/http-server.js";
import { badRequest, conflict, forbidden, notFound, tooLarge } from "../../http/http-error.js";
import type { Query } from "../../http/request.js";
import { json } from "../../http/responses.js";
import { isoSeconds } from "../../http/times.js";
import type { ImageCall } from "../api/call.js";
import { checkObject, type NamedSchema } from "../api/fault.js";
import { may } from "../api/policy.js";
import { ASSOCIATION_SCHEMA, OBJECT_SCHEMA, PROPERTY_SCHEMA, TAG_SCHEMA } from "./metadef-schemas.js";
import type { Entry, EntryKind, Namespace } from "./metadef-store.js";

type View = Readonly<Record<string, unknown>>;

/** A kind of definition, with its names and messages in the API. */
export interface KindOfEntry {
  readonly kind: EntryKind;
  /** Name in paths. */
  readonly collection: string;
  /** Name in lists and in a complete namespace. Default: `collection`. */
  readonly member?: string;
  /** Name in policies. */
  readonly policy: string;
  /** Name in the message about a protected definition. */
  readonly words: string;
  readonly schema: NamedSchema;
  readonly missing: (name: string) => string;
  readonly duplicate: (name: string, namespace: string) => string;
  /** @param namespace the namespace's name */
  readonly view: (entry: Entry, namespace: string) => View;
  /** Renders an entry of a list. Default: the complete view. */
  readonly brief?: (entry: Entry) => View;
  /** Lists are newest first and have pages; the others are in the order of their creation. */
  readonly paged?: boolean;
  /** Members of a list's response besides the definitions. */
  readonly listed?: View;
}

const duplicateOf = (what: string) => (name: string, namespace: string) =>
  `A metadata definition ${what} with name=${name} already exists in namespace=${namespace}.`;

export const OBJECT: KindOfEntry = {
  kind: "object",
  collection: "objects",
  policy: "metadef_object",
  words: "object",
  schema: OBJECT_SCHEMA,
  missing: (name) => `Could not find metadata object ${name}`,
  duplicate: duplicateOf("object"),
  view: (entry, namespace) => ({
    name: entry.name,
    required: [],
    ...entry.content,
    ...times(entry),
    self: `/v2/metadefs/namespaces/${namespace}/objects/${entry.name}`,
    schema: "/v2/schemas/metadefs/object",
  }),
  paged: true,
  listed: { schema: "v2/schemas/metadefs/objects" },
};

export const PROPERTY: KindOfEntry = {
  kind: "property",
  collection: "properties",
  policy: "metadef_property",
  words: "property",
  schema: PROPERTY_SCHEMA,
  missing: (name) => `Could not find property ${name}`,
  duplicate: duplicateOf("property"),
  view: ({ name, content }) => ({ name, ...content }),
};

export const TAG: KindOfEntry = {
  kind: "tag",
  collection: "tags",
  policy: "metadef_tag",
  words: "tag",
  schema: TAG_SCHEMA,
  missing: (name) => `Could not find metadata tag ${name}`,
  duplicate: (name, namespace) =>
    `A metadata tag with name=${name} already exists in namespace=${namespace}. (Please note that metadata tag names are case insensitive).`,
  view: (entry) => ({ name: entry.name, ...times(entry) }),
  brief: ({ name }) => ({ name }),
  paged: true,
};

export const ASSOCIATION: KindOfEntry = {
  kind: "resource_type",
  collection: "resource_types",
  member: "resource_type_associations",
  policy: "metadef_resource_type_association",
  words: "resource-type-association",
  schema: ASSOCIATION_SCHEMA,
  missing: (name) => `Failed to find resource type ${name} to delete`,
  duplicate: (name, namespace) =>
    `The metadata definition resource-type association of resource-type=${name} to namespace=${namespace} already exists.`,
  view: (entry) => ({ name: entry.name, ...entry.content, ...times(entry) }),
};

function times({ createdAt, updatedAt }: Entry): View {
  return {
    created_at: isoSeconds(createdAt),
    updated_at: isoSeconds(updatedAt),
  };
}

export function isOpen(call: ImageCall, namespace: Namespace): boolean {
  return may(call.caller, "get_metadef", namespace);
}

/** Returns the namespace that the path names. @throws {HttpError} 404 */
export function findNamespace(call: ImageCall): Namespace {
  const name = call.param("namespace");
  const namespace = call.store.metadefs.namespace(name);
  if (!namespace || !isOpen(call, namespace)) {
    throw notFound(`Namespace ${name} not found`);
  }
  return namespace;
}

/** Allows only administrators to create, change and delete definitions. @throws {HttpError} 403 */
export function requireWriter(call: ImageCall, action: string): void {
  if (!may(call.caller, "modify_metadef")) {
    throw forbidden(`You are not authorized to complete ${action} action.`);
  }
}

/** Handles GET of a namespace's definitions of one kind. */
export function listEntries(call: ImageCall, of: KindOfEntry): ServiceResponse {
  const namespace = findNamespace(call);
  const entries = entriesOf(call, of, namespace);
  const { member = of.collection } = of;
  return json(200, { [member]: viewsOf(of, namespace, of.paged ? page(call, entries) : entries), ...of.listed });
}

/** Returns the definitions of these kinds by the kind's name, without kinds that the namespace has none of. */
export function definitionsOf(call: ImageCall, namespace: Namespace, kinds: readonly KindOfEntry[]): View {
  return Object.fromEntries(
    kinds.flatMap((of) => {
      const entries = entriesOf(call, of, namespace);
      return entries.length === 0 ? [] : [[of.member ?? of.collection, viewsOf(of, namespace, entries)]];
    }),
  );
}

function entriesOf(call: ImageCall, { kind, paged }: KindOfEntry, { number }: Namespace): readonly Entry[] {
  const entries = call.store.metadefs.entries(number, kind);
  return paged ? entries.toReversed() : entries;
}

/** Renders a list of definitions. Properties are an object by their names. */
function viewsOf(of: KindOfEntry, { name }: Namespace, entries: readonly Entry[]): unknown {
  const { view, brief = (entry) => view(entry, name) } = of;
  return of === PROPERTY ? Object.fromEntries(entries.map((entry) => [entry.name, entry.content])) : entries.map(brief);
}

function page({ query }: ImageCall, entries: readonly Entry[]): readonly Entry[] {
  const limit = readLimit(query);
  const marker = query.get("marker");
  const start = marker === undefined ? 0 : entries.findIndex(({ name }) => name === marker) + 1;
  return entries.slice(start, limit === undefined ? undefined : start + limit);
}

/** Returns undefined if the query has no limit. @throws {HttpError} 400 */
export function readLimit(query: Query): number | undefined {
  const limit = query.get("limit");
  if (limit !== undefined && !/^\d{1,9}$/.test(limit)) {
    throw badRequest(/^-\d+$/.test(limit) ? "limit param must be positive" : "limit param must be an integer");
  }
  return limit === undefined ? undefined : Number(limit);
}

/** Max definitions of one kind in a namespace. */
const MAX_ENTRIES = 1000;

/** Properties that the service sets. */
const READ_ONLY = ["self", "schema", "created_at", "updated_at"];

interface EntryText {
  readonly name: string;
  readonly content: Entry["content"];
}

/** Parses a definition. @throws {HttpError} 400, 403 */
export function readEntry({ schema }: KindOfEntry, body: Readonly<Record<string, unknown>>): EntryText {
  assertNoReadOnlyMembers(body);
  checkObject(body, schema);
  const { name, ...content } = body;
  return { name: String(name), content };
}

/** @throws {HttpError} 403 */
export function assertNoReadOnlyMembers(body: Readonly<Record<string, unknown>>): void {
  const found = READ_ONLY.find((name) => name in body);
  if (found) {
    throw forbidden(`Attribute '${found}' is read-only.`);
  }
}

/** @throws {HttpError} 409, 413 */
export function addEntry(call: ImageCall, of: KindOfEntry, namespace: Namespace, { name, content }: EntryText): Entry {
  const { metadefs } = call.store;
  const count = metadefs.countEntries(namespace.number, of.kind);
  if (count >= MAX_ENTRIES) {
    throw tooLarge(`Namespace ${namespace.name} has ${count} ${of.collection}; it may have ${MAX_ENTRIES}.`);
  }
  return orConflict(of.duplicate(name, namespace.name), () =>
    metadefs.addEntry(namespace.number, of.kind, name, content),
  );
}

/** Runs `work`. @throws {HttpError} 409 for a duplicate; rethrows other errors */
export function orConflict<T>(message: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw isConductorError(error, "DuplicateRecord") ? conflict(message) : error;
  }
}

/** @param what `namespace n1`, `object o1` @throws {HttpError} 403 */
export function assertUnprotected(namespace: Namespace, what: string): void {
  if (namespace.protected) {
    throw forbidden(`Metadata definition ${what} is protected and cannot be deleted.`);
  }
}
