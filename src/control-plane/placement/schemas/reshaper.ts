import type { Schema } from "../json/schema.js";
import { reshapedAllocationsSchema } from "./allocation.js";
import { schemaFor, UUID_PATTERN } from "./common.js";
import { PUT_INVENTORIES } from "./inventory.js";

const SCHEMAS = [30, 34, 38].map((since): readonly [number, Schema] => [
  since,
  {
    type: "object",
    properties: {
      inventories: {
        type: "object",
        patternProperties: { [UUID_PATTERN]: PUT_INVENTORIES },
        minProperties: 1,
        additionalProperties: false,
      },
      allocations: reshapedAllocationsSchema(since),
    },
    required: ["inventories", "allocations"],
    additionalProperties: false,
  },
]);

export function reshaperSchema(minor: number): Schema {
  return schemaFor(SCHEMAS, minor);
}
