import { DuplicateRecord } from "../../../conductor-client/errors.js";
import type { ImageCall } from "../api/call.js";
import { conflict, forbidden, tooLarge } from "../api/fault.js";
import { checkObject } from "../api/validate.js";
import type { KindOfEntry } from "./entry-kinds.js";
import type { Entry, Namespace } from "./metadef-store.js";

/** Definitions of one kind that a namespace may have. */
const MAX_ENTRIES = 1000;

/** Members that the service sets. */
const READ_ONLY = ["self", "schema", "created_at", "updated_at"];

export interface EntryText {
  readonly name: string;
  readonly content: Entry["content"];
}

/** What a body says of a definition. @throws {ImageFault} 400, 403 */
export function readEntry({ schema }: KindOfEntry, body: Readonly<Record<string, unknown>>): EntryText {
  assertNoReadOnlyMembers(body);
  checkObject(body, schema);
  const { name, ...content } = body;
  return { name: String(name), content };
}

/** @throws {ImageFault} 403 */
export function assertNoReadOnlyMembers(body: Readonly<Record<string, unknown>>): void {
  const found = READ_ONLY.find((name) => name in body);
  if (found) {
    throw forbidden(`Attribute '${found}' is read-only.`);
  }
}

/** @throws {ImageFault} 409, 413 */
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

/** @throws {ImageFault} 409 what else the work throws */
export function orConflict<T>(message: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof DuplicateRecord ? conflict(message) : error;
  }
}

/** @param what `namespace n1`, `object o1` @throws {ImageFault} 403 */
export function assertUnprotected(namespace: Namespace, what: string): void {
  if (namespace.protected) {
    throw forbidden(`Metadata definition ${what} is protected and cannot be deleted.`);
  }
}
