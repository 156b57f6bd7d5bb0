import { isoSeconds } from "../../http/times.js";
import type { NamedSchema } from "../api/validate.js";
import { ASSOCIATION_SCHEMA, OBJECT_SCHEMA, PROPERTY_SCHEMA, TAG_SCHEMA } from "./metadef-schemas.js";
import type { Entry, EntryKind } from "./metadef-store.js";

type View = Readonly<Record<string, unknown>>;

/** How the API speaks of one kind of definition. */
export interface KindOfEntry {
  readonly kind: EntryKind;
  /** In paths, and as the member of lists. */
  readonly collection: string;
  /** In the names of policies. */
  readonly policy: string;
  /** In messages that say that one is protected. */
  readonly words: string;
  readonly schema: NamedSchema;
  readonly missing: (name: string) => string;
  readonly duplicate: (name: string, namespace: string) => string;
  /** @param namespace its name */
  readonly view: (entry: Entry, namespace: string) => View;
}

export const OBJECT: KindOfEntry = {
  kind: "object",
  collection: "objects",
  policy: "metadef_object",
  words: "object",
  schema: OBJECT_SCHEMA,
  missing: (name) => `Could not find metadata object ${name}`,
  duplicate: (name, namespace) =>
    `A metadata definition object with name=${name} already exists in namespace=${namespace}.`,
  view: (entry, namespace) => ({
    name: entry.name,
    required: [],
    ...entry.content,
    ...times(entry),
    self: `/v2/metadefs/namespaces/${namespace}/objects/${entry.name}`,
    schema: "/v2/schemas/metadefs/object",
  }),
};

export const PROPERTY: KindOfEntry = {
  kind: "property",
  collection: "properties",
  policy: "metadef_property",
  words: "property",
  schema: PROPERTY_SCHEMA,
  missing: (name) => `Could not find property ${name}`,
  duplicate: (name, namespace) =>
    `A metadata definition property with name=${name} already exists in namespace=${namespace}.`,
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
};

export const ASSOCIATION: KindOfEntry = {
  kind: "resource_type",
  collection: "resource_types",
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
