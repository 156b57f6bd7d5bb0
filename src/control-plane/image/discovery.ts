import type { ServiceResponse } from "../../runtime/http-server.js";
import { conflict, forbidden } from "../http/http-error.js";
import { json } from "../http/responses.js";
import { routes } from "../http/router.js";
import { type ImageCall, type ImageRoute, imageUsage, NO_CONTENT } from "./api/call.js";
import type { NamedSchema } from "./api/fault.js";
import { findOwnImage, requirePolicy } from "./api/policy.js";
import { MEMBER_STATUSES } from "./image-tables.js";
import { IMAGE_SCHEMA, UUID_PATTERN } from "./images/image-attributes.js";
import {
  ASSOCIATION_SCHEMA,
  NAMESPACE_SCHEMA,
  OBJECT_SCHEMA,
  PROPERTY_IN_LIST_SCHEMA,
  PROPERTY_SCHEMA,
  TAG_SCHEMA,
} from "./metadefs/metadef-schemas.js";
import { checkStore, DEFAULT_STORE, IMPORT_METHODS, STORES, without } from "./stores.js";

const TASK_TEXT = { type: "string" } as const;

const READ_ONLY = { type: "string", readOnly: true } as const;

const OBJECT = { type: ["null", "object"] } as const;

/** Properties of a task in lists. */
const SUMMARY = {
  id: { type: "string", pattern: UUID_PATTERN },
  type: { type: "string", enum: ["import", "api_image_import"] },
  status: { type: "string", enum: ["pending", "processing", "success", "failure"] },
  owner: TASK_TEXT,
  image_id: TASK_TEXT,
  request_id: TASK_TEXT,
  user_id: TASK_TEXT,
  expires_at: { type: ["null", "string"] },
  created_at: TASK_TEXT,
  updated_at: TASK_TEXT,
  self: READ_ONLY,
  schema: READ_ONLY,
} as const;

const TASK_SCHEMA = {
  name: "task",
  properties: { ...SUMMARY, input: OBJECT, result: OBJECT, message: TASK_TEXT },
} as const satisfies NamedSchema;

const TASK_SUMMARY_SCHEMA = { name: "task", properties: SUMMARY } as const satisfies NamedSchema;

const MEMBER_SCHEMA = {
  name: "member",
  properties: {
    member_id: { type: "string", description: "Id of a project." },
    image_id: { type: "string", pattern: UUID_PATTERN },
    created_at: { type: "string" },
    updated_at: { type: "string" },
    status: { type: "string", enum: MEMBER_STATUSES },
    schema: { type: "string", readOnly: true },
  },
} as const satisfies NamedSchema;

const FIRST = { rel: "first", href: "{first}" };

const NEXT = { rel: "next", href: "{next}" };

const DESCRIBED = { rel: "describedby", href: "{schema}" };

const TEXT = { type: "string" };

/** Published schemas, which clients read to learn the properties of resources. */
const SCHEMAS: Readonly<Record<string, NamedSchema>> = {
  image: IMAGE_SCHEMA,
  images: paged("images", arrayOf(IMAGE_SCHEMA)),
  member: MEMBER_SCHEMA,
  members: unpaged("members", arrayOf(MEMBER_SCHEMA)),
  task: TASK_SCHEMA,
  tasks: unpaged("tasks", arrayOf(TASK_SUMMARY_SCHEMA)),
  "metadefs/namespace": NAMESPACE_SCHEMA,
  "metadefs/namespaces": pagedWith(NAMESPACE_SCHEMA, "namespaces", arrayOf),
  "metadefs/resource_type": ASSOCIATION_SCHEMA,
  "metadefs/resource_types": paged("resource_type_associations", arrayOf(ASSOCIATION_SCHEMA)),
  "metadefs/property": PROPERTY_SCHEMA,
  "metadefs/properties": pagedWith(PROPERTY_IN_LIST_SCHEMA, "properties", (item) => ({
    type: "object",
    additionalProperties: item,
  })),
  "metadefs/object": OBJECT_SCHEMA,
  "metadefs/objects": pagedWith(OBJECT_SCHEMA, "objects", arrayOf),
  "metadefs/tag": TAG_SCHEMA,
  "metadefs/tags": paged("tags", arrayOf(TAG_SCHEMA)),
};

export const SCHEMA_ROUTES: readonly ImageRoute[] = Object.entries(SCHEMAS).map(([path, schema]) => ({
  method: "GET",
  path: `/v2/schemas/${path}`,
  handle: () => json(200, schema),
}));

/** Returns the schema of a list with paging. */
function paged(name: string, list: object): NamedSchema {
  return {
    name,
    properties: { [name]: list, first: TEXT, next: TEXT, schema: TEXT },
    links: [FIRST, NEXT, DESCRIBED],
  };
}

/** Returns the schema of a list with paging, with the items' definitions at its top level. */
function pagedWith(
  { definitions, ...item }: NamedSchema,
  name: string,
  list: (item: NamedSchema) => object,
): NamedSchema {
  return { ...paged(name, list(item as NamedSchema)), definitions };
}

/** Returns the schema of a list without paging. */
function unpaged(name: string, list: object): NamedSchema {
  return {
    name,
    properties: { [name]: list, schema: TEXT },
    links: [DESCRIBED],
  };
}

function arrayOf(items: NamedSchema): object {
  return { type: "array", items };
}

/** Routes of the service's import methods, stores and usage. */
export const INFO_ROUTES = routes<ImageRoute>({
  "GET /v2/info/import": () =>
    json(200, {
      "import-methods": { description: "Import methods available.", type: "array", value: IMPORT_METHODS },
    }),
  "GET /v2/info/stores": () => json(200, { stores: STORES.map(storeView) }),
  "GET /v2/info/stores/detail": ({ caller }) => {
    requirePolicy(caller, "stores_info_detail");
    return json(200, { stores: STORES.map((store) => ({ ...storeView(store), type: "file", properties: {} })) });
  },
  "GET /v2/info/usage": (call) => json(200, { usage: imageUsage(call) }),
  "DELETE /v2/stores/:store/:id": removeFromStore,
});

function storeView({ id, description }: (typeof STORES)[number]): Readonly<Record<string, string>> {
  return {
    id,
    description,
    ...(id === DEFAULT_STORE ? { default: "true" } : {}),
  };
}

function removeFromStore(call: ImageCall): ServiceResponse {
  const store = checkStore(call.param("store"));
  const image = findOwnImage(call, "delete_image_location", { missing: (id) => `Failed to find image ${id}` });
  if (image.status !== "active") {
    throw conflict("It's not allowed to remove image data from store if image status is not 'active'");
  }
  const stores = without(image, store);
  if (stores.length === 0) {
    throw forbidden("Cannot delete image data from the only store containing it. Consider deleting the image instead.");
  }
  call.store.table.change(image.id, ["active"], { stores });
  return NO_CONTENT;
}
