import type { ServiceResponse } from "../../../runtime/service.js";
import { json } from "../../http/responses.js";
import { isoSeconds } from "../../http/times.js";
import type { ImageCall, ImageRoute } from "../api/call.js";
import { checkObject } from "../api/validate.js";
import { ASSOCIATION, OBJECT, PROPERTY, TAG } from "./entry-kinds.js";
import { createRoute, entryRoutes, remove } from "./entry-routes.js";
import { findNamespace, requireWriter } from "./find-namespace.js";
import { listAssociations, listObjects, listProperties, listTags } from "./list-entries.js";
import { listNamespaces } from "./list-namespaces.js";
import { TAGS_SCHEMA } from "./metadef-schemas.js";
import { createNamespace, deleteNamespace, showNamespace, updateNamespace } from "./namespaces.js";
import { addEntry, readEntry } from "./write-entry.js";

const ALL = "/v2/metadefs/namespaces";
const ONE = `${ALL}/:namespace`;

/** Definitions of the metadata that images, flavors and so on may have. */
export const METADEF_ROUTES: readonly ImageRoute[] = [
  { method: "GET", path: "/v2/metadefs/resource_types", handle: listResourceTypes },
  { method: "GET", path: ALL, handle: listNamespaces },
  { method: "POST", path: ALL, handle: createNamespace },
  { method: "GET", path: ONE, handle: showNamespace },
  { method: "PUT", path: ONE, handle: updateNamespace },
  { method: "DELETE", path: ONE, handle: deleteNamespace },
  { method: "GET", path: `${ONE}/objects`, handle: listObjects },
  createRoute(OBJECT),
  ...entryRoutes(OBJECT),
  { method: "GET", path: `${ONE}/properties`, handle: listProperties },
  createRoute(PROPERTY),
  ...entryRoutes(PROPERTY),
  { method: "GET", path: `${ONE}/tags`, handle: listTags },
  { method: "POST", path: `${ONE}/tags`, handle: createTags },
  { method: "POST", path: `${ONE}/tags/:name`, handle: createTag },
  ...entryRoutes(TAG),
  { method: "GET", path: `${ONE}/resource_types`, handle: listAssociations },
  createRoute(ASSOCIATION),
  { method: "DELETE", path: `${ONE}/resource_types/:name`, handle: (call) => remove(call, ASSOCIATION) },
];

/** What metadata can be of in any cloud. */
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

/** In place of all tags, or, when the request says so, besides them. */
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

/** The path names it; there is no body. */
function createTag(call: ImageCall): ServiceResponse {
  const text = readEntry(TAG, { name: call.param("name") });
  const namespace = findNamespace(call);
  requireWriter(call, "add_metadef_tag");
  return json(201, TAG.view(addEntry(call, TAG, namespace, text), namespace.name));
}
