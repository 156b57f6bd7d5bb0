import type { Schema } from "../json/schema.js";
import { MAX_INT, RC_PATTERN } from "./common.js";

/** What a single-precision number can hold at most. */
const MAX_FLOAT = 3.40282e38;

const amount = (minimum: number): Schema => ({ type: "integer", maximum: MAX_INT, minimum });

const PROPERTIES: Readonly<Record<string, Schema>> = {
  resource_provider_generation: { type: "integer" },
  total: amount(1),
  reserved: amount(0),
  min_unit: amount(1),
  max_unit: amount(1),
  step_size: amount(1),
  allocation_ratio: { type: "number", maximum: MAX_FLOAT },
};

/** PUT of one inventory. */
export const PUT_INVENTORY: Schema = {
  type: "object",
  properties: PROPERTIES,
  required: ["total", "resource_provider_generation"],
  additionalProperties: false,
};

/** POST of one inventory. */
export const POST_INVENTORY: Schema = {
  type: "object",
  properties: { ...PROPERTIES, resource_class: { type: "string", pattern: RC_PATTERN } },
  required: ["total", "resource_class"],
  additionalProperties: false,
};

/** One of several inventories. */
export const PUT_INVENTORY_RECORD: Schema = {
  type: "object",
  properties: PROPERTIES,
  required: ["total"],
  additionalProperties: false,
};

/** PUT of all inventories of a provider. */
export const PUT_INVENTORIES: Schema = {
  type: "object",
  properties: {
    resource_provider_generation: { type: "integer" },
    inventories: {
      type: "object",
      patternProperties: {
        [RC_PATTERN]: PUT_INVENTORY_RECORD,
      },
    },
  },
  required: ["resource_provider_generation", "inventories"],
  additionalProperties: false,
};
