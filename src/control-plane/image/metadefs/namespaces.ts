import { isObject } from "../../../runtime/collections.js";
import type { ServiceResponse } from "../../../runtime/http-server.js";
import { badRequest, notFound } from "../../http/http-error.js";
import { json, withHeaders } from "../../http/responses.js";
import { isoSeconds } from "../../http/times.js";
import { type ImageCall, NO_CONTENT } from "../api/call.js";
import { checkObject } from "../api/fault.js";
import { pageLinks } from "../images/list-images.js";
import {
  ASSOCIATION,
  addEntry,
  assertNoReadOnlyMembers,
  assertUnprotected,
  definitionsOf,
  findNamespace,
  isOpen,
  type KindOfEntry,
  OBJECT,
  orConflict,
  PROPERTY,
  readEntry,
  readLimit,
  requireWriter,
  TAG,
} from "./entries.js";
import { NAMESPACE_SCHEMA } from "./metadef-schemas.js";
import type { Namespace, NamespaceAttributes } from "./metadef-store.js";

type Body = Readonly<Record<string, unknown>>;

/**
 * Handles POST: creates a namespace with all definitions in the body, or nothing. @throws {HttpError} 400, 403, 409,
 * 413
 */
export function createNamespace(call: ImageCall): ServiceResponse {
  const body = readBody(call);
  requireWriter(call, "add_metadef_namespace");
  const { metadefs } = call.store;
  const namespace = metadefs.transaction(() => {
    const made = addNamespace(call, body);
    for (const [of, entries] of contentsOf(body)) {
      for (const text of entries) {
        addEntry(call, of, made, readEntry(of, text));
      }
    }
    return made;
  });
  const { resource_type_associations, properties, objects, tags } = body;
  const contents = { resource_type_associations, properties, objects, tags };
  return withHeaders(json(201, { ...namespaceView(namespace), ...contents }), {
    location: `${call.request.baseUrl}/v2/metadefs/namespaces/${encodeURIComponent(namespace.name)}`,
  });
}

/** Handles GET of a namespace with all its definitions. @throws {HttpError} 404 */
export function showNamespace(call: ImageCall): ServiceResponse {
  const name = call.param("namespace");
  const namespace = call.store.metadefs.namespace(name);
  if (!namespace) {
    throw notFound(`Metadata definition namespace=${name} was not found.`);
  }
  if (!isOpen(call, namespace)) {
    throw notFound();
  }
  const definitions = definitionsOf(call, namespace, [ASSOCIATION, PROPERTY, OBJECT, TAG]);
  return json(200, { ...namespaceView(namespace), ...definitions });
}

/** Handles PUT. Attributes that the body omits get their defaults. @throws {HttpError} 400, 403, 404, 409 */
export function updateNamespace(call: ImageCall): ServiceResponse {
  const body = readBody(call);
  const namespace = findNamespace(call);
  requireWriter(call, "modify_metadef_namespace");
  const { metadefs } = call.store;
  const name = String(body.namespace);
  const duplicate = `Invalid update. It would result in a duplicate namespace with the same name of ${name}`;
  orConflict(duplicate, () => metadefs.changeNamespace(namespace.number, name, attributesOf(call, body)));
  return json(200, namespaceView(metadefs.namespace(name) ?? namespace));
}

/** Handles DELETE. @throws {HttpError} 403, 404 */
export function deleteNamespace(call: ImageCall): ServiceResponse {
  const namespace = findNamespace(call);
  requireWriter(call, "delete_metadef_namespace");
  assertUnprotected(namespace, `namespace ${namespace.name}`);
  call.store.metadefs.removeNamespace(namespace.number);
  return NO_CONTENT;
}

function namespaceView(namespace: Namespace): Body {
  const { name, displayName, description, visibility, protected: isProtected, owner } = namespace;
  return {
    namespace: name,
    ...(displayName === null ? {} : { display_name: displayName }),
    ...(description === null ? {} : { description }),
    visibility,
    protected: isProtected,
    owner,
    created_at: isoSeconds(namespace.createdAt),
    updated_at: isoSeconds(namespace.updatedAt),
    self: `/v2/metadefs/namespaces/${name}`,
    schema: "/v2/schemas/metadefs/namespace",
  };
}

function readBody(call: ImageCall): Body {
  const body = call.object();
  assertNoReadOnlyMembers(body);
  checkObject(body, NAMESPACE_SCHEMA);
  return body;
}

function addNamespace(call: ImageCall, body: Body): Namespace {
  const name = String(body.namespace);
  return orConflict(`The metadata definition namespace=${name} already exists.`, () =>
    call.store.metadefs.addNamespace(name, attributesOf(call, body)),
  );
}

/** Returns the attributes in a body that the schema has validated. */
function attributesOf({ caller }: ImageCall, body: Body): NamespaceAttributes {
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  return {
    displayName: text(body.display_name),
    description: text(body.description),
    visibility: body.visibility === "public" ? "public" : "private",
    protected: body.protected === true,
    owner: text(body.owner) ?? caller.projectId,
  };
}

/** Returns the definitions in a body. */
function contentsOf(body: Body): readonly (readonly [KindOfEntry, readonly Body[]])[] {
  const list = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : []);
  const properties = isObject(body.properties) ? Object.entries(body.properties) : [];
  return [
    [ASSOCIATION, list(body.resource_type_associations)],
    [OBJECT, list(body.objects)],
    [TAG, list(body.tags)],
    [PROPERTY, properties.map(([name, value]) => ({ ...(isObject(value) ? value : {}), name }))],
  ];
}

/** Glance's `limit_param_default` and `api_limit_max`. */
const PAGE = 25;

const LONGEST_PAGE = 1000;

/** Handles GET of the namespaces that the caller may see, newest first. @throws {HttpError} 400, 404 */
export function listNamespaces(call: ImageCall): ServiceResponse {
  const query = call.boundQuery();
  const limit = readLimit(query) ?? PAGE;
  const found = visibleNamespaces(call);
  const marker = query.get("marker");
  const start = marker === undefined ? 0 : found.findIndex(({ name }) => name === marker) + 1;
  if (marker !== undefined && start === 0) {
    throw notFound(`Metadata definition namespace=${marker} was not found.`);
  }
  const page = found.slice(start, start + Math.min(limit, LONGEST_PAGE));
  const last = page.length === limit ? page.at(-1) : undefined;
  return json(200, {
    namespaces: page.map((namespace) => ({
      ...namespaceView(namespace),
      ...definitionsOf(call, namespace, [ASSOCIATION]),
    })),
    schema: "/v2/schemas/metadefs/namespaces",
    ...pageLinks("/v2/metadefs/namespaces", query, last?.name),
  });
}

function visibleNamespaces(call: ImageCall): readonly Namespace[] {
  const visibility = call.query.get("visibility");
  if (visibility !== undefined && visibility !== "public" && visibility !== "private") {
    throw badRequest(`Invalid visibility value: ${visibility}`);
  }
  const types = call.query.get("resource_types")?.split(",");
  const { metadefs } = call.store;
  return metadefs
    .namespaces()
    .filter((namespace) => isOpen(call, namespace) && (visibility ?? namespace.visibility) === namespace.visibility)
    .filter(({ number }) => types?.some((type) => metadefs.entry(number, "resource_type", type)) ?? true);
}
