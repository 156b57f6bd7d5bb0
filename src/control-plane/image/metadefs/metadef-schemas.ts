import type { NamedSchema } from "../api/fault.js";

const READ_ONLY = { type: "string", readOnly: true } as const;
const TIME = { type: "string", readOnly: true, format: "date-time" } as const;

/** Returns the schema of a string with at most `maxLength` characters. */
const text = (maxLength: number) => ({ type: "string", maxLength }) as const;

const TYPE = {
  type: "string",
  enum: ["array", "boolean", "integer", "number", "object", "string", null],
} as const;

const AMOUNT = { $ref: "#/definitions/positiveInteger" } as const;
const AMOUNT_OR_NONE = { $ref: "#/definitions/positiveIntegerDefault0" } as const;
const STRING_ARRAY = { $ref: "#/definitions/stringArray" } as const;
const PROPERTIES = { $ref: "#/definitions/property" } as const;

/** Properties of a property's definition, which is a JSON schema of its value. */
const PROPERTY = {
  name: text(80),
  title: { type: "string" },
  description: { type: "string" },
  operators: { type: "array", items: { type: "string" } },
  type: TYPE,
  required: STRING_ARRAY,
  minimum: { type: "number" },
  maximum: { type: "number" },
  maxLength: AMOUNT,
  minLength: AMOUNT_OR_NONE,
  pattern: { type: "string", format: "regex" },
  enum: { type: "array" },
  readonly: { type: "boolean" },
  default: {},
  items: { type: "object", properties: { type: TYPE, enum: { type: "array" } } },
  maxItems: AMOUNT,
  minItems: AMOUNT_OR_NONE,
  uniqueItems: { type: "boolean", default: false },
  additionalItems: { type: "boolean" },
} as const;

const AMOUNTS = {
  positiveInteger: { type: "integer", minimum: 0 },
  positiveIntegerDefault0: { allOf: [AMOUNT, { default: 0 }] },
} as const;

const STRINGS = { type: "array", items: { type: "string" }, uniqueItems: true } as const;

/** Definitions that the schemas of namespaces and objects refer to. */
const DEFINITIONS = {
  ...AMOUNTS,
  stringArray: STRINGS,
  property: {
    type: "object",
    additionalProperties: { type: "object", required: ["title", "type"], properties: PROPERTY },
  },
} as const;

const PROPERTY_DEFINITIONS = { ...AMOUNTS, stringArray: { ...STRINGS, minItems: 1 } } as const;

/** A property in a list, whose name is the key. */
export const PROPERTY_IN_LIST_SCHEMA = {
  name: "property",
  properties: PROPERTY,
  additionalProperties: false,
  definitions: PROPERTY_DEFINITIONS,
  required: ["type", "title"],
} as const satisfies NamedSchema;

export const PROPERTY_SCHEMA = {
  ...PROPERTY_IN_LIST_SCHEMA,
  required: ["type", "title", "name"],
} as const satisfies NamedSchema;

export const OBJECT_SCHEMA = {
  name: "object",
  properties: {
    name: text(80),
    description: { type: "string" },
    required: STRING_ARRAY,
    properties: PROPERTIES,
    schema: READ_ONLY,
    self: READ_ONLY,
    created_at: TIME,
    updated_at: TIME,
  },
  additionalProperties: false,
  definitions: DEFINITIONS,
  required: ["name"],
} as const satisfies NamedSchema;

export const TAG_SCHEMA = {
  name: "tag",
  properties: { name: text(80), created_at: TIME, updated_at: TIME },
  additionalProperties: false,
  required: ["name"],
} as const satisfies NamedSchema;

/** The body that creates several tags. */
export const TAGS_SCHEMA = {
  name: "tags",
  properties: {
    tags: {
      type: "array",
      items: {
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"],
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
} as const satisfies NamedSchema;

export const ASSOCIATION_SCHEMA = {
  name: "resource_type_association",
  properties: {
    name: { ...text(80), description: "A type of resource, as Heat names it." },
    prefix: { ...text(80), description: "Comes before the namespace's properties, with its separator." },
    properties_target: { ...text(80), description: "Which of the resource's metadata they are of." },
    created_at: TIME,
    updated_at: TIME,
  },
  additionalProperties: false,
  required: ["name"],
} as const satisfies NamedSchema;

export const NAMESPACE_SCHEMA = {
  name: "namespace",
  properties: {
    namespace: text(80),
    display_name: text(80),
    description: text(500),
    visibility: { type: "string", enum: ["public", "private"] },
    protected: { type: "boolean", description: "A namespace that is protected cannot be deleted." },
    owner: { ...text(255), description: "Id of a project." },
    created_at: TIME,
    updated_at: TIME,
    schema: READ_ONLY,
    self: READ_ONLY,
    resource_type_associations: {
      type: "array",
      items: {
        type: "object",
        properties: { name: { type: "string" }, prefix: { type: "string" }, properties_target: { type: "string" } },
      },
    },
    properties: PROPERTIES,
    objects: {
      type: "array",
      items: {
        type: "object",
        properties: {
          name: { type: "string" },
          description: { type: "string" },
          required: STRING_ARRAY,
          properties: PROPERTIES,
        },
      },
    },
    tags: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
  },
  additionalProperties: false,
  definitions: DEFINITIONS,
  required: ["namespace"],
} as const satisfies NamedSchema;
