import type { ServiceResponse } from "../../../runtime/service.js";
import { json } from "../../http/responses.js";
import { type ImageCall, type ImageRoute, NO_CONTENT } from "../api/call.js";
import { notFound } from "../api/fault.js";
import type { KindOfEntry } from "./entry-kinds.js";
import { findNamespace, requireWriter } from "./find-namespace.js";
import type { Entry, Namespace } from "./metadef-store.js";
import { addEntry, assertUnprotected, orConflict, readEntry } from "./write-entry.js";

const NAMESPACE = "/v2/metadefs/namespaces/:namespace";

/** What each kind of definition that has a path of its own is asked for. */
export function entryRoutes(of: KindOfEntry): readonly ImageRoute[] {
  const one = `${NAMESPACE}/${of.collection}/:name`;
  return [
    {
      method: "GET",
      path: one,
      handle: (call) => {
        const namespace = findNamespace(call);
        return json(200, of.view(find(call, of, namespace), namespace.name));
      },
    },
    { method: "PUT", path: one, handle: (call) => update(call, of) },
    { method: "DELETE", path: one, handle: (call) => remove(call, of) },
    { method: "DELETE", path: `${NAMESPACE}/${of.collection}`, handle: (call) => removeAll(call, of) },
  ];
}

/** POST of one, which a body describes. */
export function createRoute(of: KindOfEntry): ImageRoute {
  return {
    method: "POST",
    path: `${NAMESPACE}/${of.collection}`,
    handle: (call) => {
      const text = readEntry(of, call.object());
      const namespace = findNamespace(call);
      requireWriter(call, `add_${of.policy}`);
      return json(201, of.view(addEntry(call, of, namespace, text), namespace.name));
    },
  };
}

function update(call: ImageCall, of: KindOfEntry): ServiceResponse {
  const text = readEntry(of, call.object());
  const namespace = findNamespace(call);
  requireWriter(call, `modify_${of.policy}`);
  const { name } = find(call, of, namespace);
  const { metadefs } = call.store;
  orConflict(of.duplicate(text.name, namespace.name), () =>
    metadefs.changeEntry(namespace.number, of.kind, name, text),
  );
  const changed = metadefs.entry(namespace.number, of.kind, text.name);
  return json(200, changed ? of.view(changed, namespace.name) : {});
}

/** DELETE of one. @throws {ImageFault} 403, 404 */
export function remove(call: ImageCall, of: KindOfEntry): ServiceResponse {
  const namespace = findNamespace(call);
  requireWriter(call, `delete_${of.policy}`);
  const { name } = find(call, of, namespace);
  assertUnprotected(namespace, `${of.words} ${name}`);
  call.store.metadefs.removeEntries(namespace.number, of.kind, name);
  return NO_CONTENT;
}

function removeAll(call: ImageCall, of: KindOfEntry): ServiceResponse {
  const namespace = findNamespace(call);
  requireWriter(call, "delete_metadef_namespace");
  assertUnprotected(namespace, `namespace ${namespace.name}`);
  call.store.metadefs.removeEntries(namespace.number, of.kind);
  return NO_CONTENT;
}

function find(call: ImageCall, of: KindOfEntry, namespace: Namespace): Entry {
  const name = call.param("name");
  const entry = call.store.metadefs.entry(namespace.number, of.kind, name);
  if (!entry) {
    throw notFound(of.missing(name));
  }
  return entry;
}
