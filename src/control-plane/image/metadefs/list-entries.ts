import type { ServiceResponse } from "../../../runtime/service.js";
import { json } from "../../http/responses.js";
import type { ImageCall } from "../api/call.js";
import { badRequest } from "../api/fault.js";
import { ASSOCIATION, OBJECT, PROPERTY } from "./entry-kinds.js";
import { findNamespace } from "./find-namespace.js";
import type { Entry, Namespace } from "./metadef-store.js";

/** GET of a namespace's objects: the newest first. */
export function listObjects(call: ImageCall): ServiceResponse {
  const namespace = findNamespace(call);
  const objects = page(call, newestFirst(call, namespace, "object")).map((each) => OBJECT.view(each, namespace.name));
  return json(200, { objects, schema: "v2/schemas/metadefs/objects" });
}

/** GET of a namespace's properties, by name. */
export function listProperties(call: ImageCall): ServiceResponse {
  const namespace = findNamespace(call);
  return json(200, { properties: propertiesOf(call, namespace) });
}

/** GET of a namespace's tags: the newest first. */
export function listTags(call: ImageCall): ServiceResponse {
  const tags = page(call, newestFirst(call, findNamespace(call), "tag")).map(({ name }) => ({ name }));
  return json(200, { tags });
}

/** GET of the types that a namespace is for. */
export function listAssociations(call: ImageCall): ServiceResponse {
  return json(200, { resource_type_associations: associationsOf(call, findNamespace(call)) });
}

export function propertiesOf(call: ImageCall, { number, name }: Namespace): Readonly<Record<string, unknown>> {
  const entries = call.store.metadefs.entries(number, "property");
  return Object.fromEntries(entries.map((entry) => [entry.name, withoutName(PROPERTY.view(entry, name))]));
}

export function associationsOf(call: ImageCall, { number, name }: Namespace): readonly unknown[] {
  return call.store.metadefs.entries(number, "resource_type").map((entry) => ASSOCIATION.view(entry, name));
}

export function objectsOf(call: ImageCall, namespace: Namespace): readonly unknown[] {
  return newestFirst(call, namespace, "object").map((entry) => OBJECT.view(entry, namespace.name));
}

export function tagsOf(call: ImageCall, namespace: Namespace): readonly unknown[] {
  return newestFirst(call, namespace, "tag").map(({ name }) => ({ name }));
}

function newestFirst(call: ImageCall, { number }: Namespace, kind: "object" | "tag"): readonly Entry[] {
  return call.store.metadefs.entries(number, kind).toReversed();
}

function withoutName({ name: _name, ...rest }: Readonly<Record<string, unknown>>): unknown {
  return rest;
}

/** @throws {ImageFault} 400 */
function page({ query }: ImageCall, entries: readonly Entry[]): readonly Entry[] {
  const limit = query.get("limit");
  if (limit !== undefined && !/^\d{1,9}$/.test(limit)) {
    throw badRequest(/^-\d+$/.test(limit) ? "limit param must be positive" : "limit param must be an integer");
  }
  const marker = query.get("marker");
  const start = marker === undefined ? 0 : entries.findIndex(({ name }) => name === marker) + 1;
  return limit === undefined ? entries.slice(start) : entries.slice(start, start + Number(limit));
}
