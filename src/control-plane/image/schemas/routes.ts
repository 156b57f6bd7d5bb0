import { json } from "../../http/responses.js";
import type { ImageRoute } from "../api/call.js";
import type { NamedSchema } from "../api/validate.js";
import { TASK_SCHEMA, TASK_SUMMARY_SCHEMA } from "../data/task-schema.js";
import { IMAGE_SCHEMA } from "../images/image-schema.js";
import { MEMBER_SCHEMA } from "../members/member-schema.js";
import {
  ASSOCIATION_SCHEMA,
  NAMESPACE_SCHEMA,
  OBJECT_SCHEMA,
  PROPERTY_IN_LIST_SCHEMA,
  PROPERTY_SCHEMA,
  TAG_SCHEMA,
} from "../metadefs/metadef-schemas.js";

const FIRST = { rel: "first", href: "{first}" };
const NEXT = { rel: "next", href: "{next}" };
const DESCRIBED = { rel: "describedby", href: "{schema}" };
const TEXT = { type: "string" };

/** What clients read before they list: names and types of what things have. */
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

/** A list that comes in pages. */
function paged(name: string, list: object): NamedSchema {
  return {
    name,
    properties: { [name]: list, first: TEXT, next: TEXT, schema: TEXT },
    links: [FIRST, NEXT, DESCRIBED],
  };
}

/** The definitions that the items refer to stand beside them. */
function pagedWith(
  { definitions, ...item }: NamedSchema,
  name: string,
  list: (item: NamedSchema) => object,
): NamedSchema {
  return { ...paged(name, list(item as NamedSchema)), definitions };
}

/** A list that comes as a whole. */
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
