import type { Schema } from "../json/schema.js";
import { CUSTOM_PATTERN, UUID } from "./common.js";

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
