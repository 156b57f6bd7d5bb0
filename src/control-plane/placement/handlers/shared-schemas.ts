import type { Schema } from "../http/json-schema.js";

/** The max value of a signed 32-bit integer. */
export const MAX_INT = 0x7fffffff;

export const UUID_PATTERN = "^[0-9a-fA-F-]{36}$";

export const RC_PATTERN = "^[A-Z0-9_]+$";

const CUSTOM_PATTERN = "^CUSTOM_[A-Z0-9_]+$";

/** Matches the suffix of a request group before microversion 1.33. */
export const GROUP_PATTERN = "[1-9][0-9]*";

export const GROUP_PATTERN_1_33 = "[a-zA-Z0-9_-]{1,64}";

export const UUID: Schema = { type: "string", format: "uuid" };

export const EXTERNAL_ID: Schema = { type: "string", minLength: 1, maxLength: 255 };

/** Returns the newest schema that the microversion supports. */
export function schemaFor(schemas: readonly (readonly [minor: number, schema: Schema])[], minor: number): Schema {
  let found: Schema = {};
  for (const [since, schema] of schemas) {
    if (minor >= since) {
      found = schema;
    }
  }
  return found;
}

const AGGREGATES: Schema = { type: "array", items: UUID, uniqueItems: true };

export const PUT_AGGREGATES_1_1: Schema = AGGREGATES;

export const PUT_AGGREGATES_1_19: Schema = {
  type: "object",
  properties: { aggregates: AGGREGATES, resource_provider_generation: { type: "integer" } },
  required: ["aggregates", "resource_provider_generation"],
  additionalProperties: false,
};

export const PUT_TRAITS: Schema = {
  type: "object",
  properties: {
    traits: { type: "array", items: { type: "string", minLength: 1, maxLength: 255 } },
    resource_provider_generation: { type: "integer" },
  },
  required: ["traits", "resource_provider_generation"],
  additionalProperties: false,
};

export const CUSTOM_TRAIT: Schema = { type: "string", minLength: 1, maxLength: 255, pattern: CUSTOM_PATTERN };

export const LIST_TRAITS: Schema = {
  type: "object",
  properties: { name: { type: "string" }, associated: { type: "string" } },
  additionalProperties: false,
};

export const RESOURCE_CLASS: Schema = {
  type: "object",
  properties: { name: { type: "string", pattern: CUSTOM_PATTERN, maxLength: 255 } },
  required: ["name"],
  additionalProperties: false,
};
