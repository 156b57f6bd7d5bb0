import type { ServiceResponse } from "../../../runtime/http-server.js";
import { notFound } from "../../http/http-error.js";
import { json } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { isoSeconds } from "../../http/times.js";
import { type ImageCall, type ImageRoute, NO_CONTENT } from "../api/call.js";
import { checkObject } from "../api/fault.js";
import {
  ASSOCIATION,
  addEntry,
  assertUnprotected,
  findNamespace,
  type KindOfEntry,
  listEntries,
  OBJECT,
  orConflict,
  PROPERTY,
  readEntry,
  requireWriter,
  TAG,
} from "./entries.js";
import { TAGS_SCHEMA } from "./metadef-schemas.js";
import type { Entry, Namespace } from "./metadef-store.js";
import { createNamespace, deleteNamespace, listNamespaces, showNamespace, updateNamespace } from "./namespaces.js";

/** Routes of metadata definitions for images, flavors and other resources. */
export const METADEF_ROUTES: readonly ImageRoute[] = [
  ...routes<ImageRoute>({
    "GET /v2/metadefs/resource_types": listResourceTypes,
    "GET /v2/metadefs/namespaces": listNamespaces,
    "POST /v2/metadefs/namespaces": createNamespace,
    "GET /v2/metadefs/namespaces/:namespace": showNamespace,
    "PUT /v2/metadefs/namespaces/:namespace": updateNamespace,
    "DELETE /v2/metadefs/namespaces/:namespace": deleteNamespace,
  }),
  ...[OBJECT, PROPERTY, TAG, ASSOCIATION].flatMap(entryRoutes),
];

/** Creates the routes of a namespace's definitions of one kind. */
function entryRoutes(of: KindOfEntry): readonly ImageRoute[] {
  return routes<ImageRoute>(
    {
      "GET /": (call) => listEntries(call, of),
      "POST /": of === TAG ? createTags : (call) => create(call, of, call.object()),
      "DELETE /:name": (call) => remove(call, of),
      // The path names the tag; there is no body.
      ...(of === TAG && { "POST /:name": (call) => create(call, of, { name: call.param("name") }) }),
      ...(of !== ASSOCIATION && {
        "GET /:name": (call) => {
          const namespace = findNamespace(call);
          return json(200, of.view(find(call, of, namespace), namespace.name));
        },
        "PUT /:name": (call) => update(call, of),
        "DELETE /": (call) => removeAll(call, of),
      }),
    },
    { prefix: `/v2/metadefs/namespaces/:namespace/${of.collection}` },
  );
}

/** Resource types known in every cluster. */
const KNOWN_TYPES = [
  ...["OS::Cinder::Volume", "OS::Glance::Image", "OS::Nova::Aggregate", "OS::Nova::Flavor", "OS::Nova::Server"],
  "OS::Trove::Instance",
];

const LONG_AGO = Date.UTC(2024, 0, 1);

function listResourceTypes({ store }: ImageCall): ServiceResponse {
  const known = KNOWN_TYPES.map((name) => ({ name, createdAt: LONG_AGO }));
  const further = store.metadefs.resourceTypes().filter(({ name }) => !KNOWN_TYPES.includes(name));
  return json(200, {
    resource_types: [...known, ...further].map(({ name, createdAt }) => ({
      name,
      created_at: isoSeconds(createdAt),
      updated_at: isoSeconds(createdAt),
    })),
  });
}

/** Creates tags. They replace the existing ones unless the header `x-openstack-append` is true. */
function createTags(call: ImageCall): ServiceResponse {
  const body = call.object();
  checkObject(body, TAGS_SCHEMA);
  const tags = (body.tags ?? []) as readonly { readonly name: string }[];
  const namespace = findNamespace(call);
  requireWriter(call, "add_metadef_tags");
  const isAppended = /^(true|1|yes|on|t|y)$/i.test(call.request.headers["x-openstack-append"] ?? "");
  const { metadefs } = call.store;
  metadefs.transaction(() => {
    if (!isAppended) {
      metadefs.removeEntries(namespace.number, "tag");
    }
    for (const tag of tags) {
      addEntry(call, TAG, namespace, readEntry(TAG, tag));
    }
  });
  return json(201, { tags: tags.map(({ name }) => ({ name })) });
}

function create(call: ImageCall, of: KindOfEntry, body: Readonly<Record<string, unknown>>): ServiceResponse {
  const text = readEntry(of, body);
  const namespace = findNamespace(call);
  requireWriter(call, `add_${of.policy}`);
  return json(201, of.view(addEntry(call, of, namespace, text), namespace.name));
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

/** Handles DELETE of one definition. @throws {HttpError} 403, 404 */
function remove(call: ImageCall, of: KindOfEntry): ServiceResponse {
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
