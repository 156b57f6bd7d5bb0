import type { Schema } from "../json/schema.js";
import { EXTERNAL_ID, GROUP_PATTERN_1_33, RC_PATTERN, schemaFor, UUID, UUID_PATTERN } from "./common.js";

const RESOURCES: Schema = {
  type: "object",
  minProperties: 1,
  patternProperties: { [RC_PATTERN]: { type: "integer", minimum: 1 } },
  additionalProperties: false,
};

const LIST: Schema = {
  type: "array",
  minItems: 1,
  items: {
    type: "object",
    properties: {
      resource_provider: {
        type: "object",
        properties: { uuid: UUID },
        additionalProperties: false,
        required: ["uuid"],
      },
      resources: RESOURCES,
    },
    required: ["resource_provider", "resources"],
    additionalProperties: false,
  },
};

function dict(minProperties: number): Schema {
  return {
    type: "object",
    minProperties,
    patternProperties: {
      [UUID_PATTERN]: {
        type: "object",
        properties: { generation: { type: "integer" }, resources: RESOURCES },
        required: ["resources"],
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  };
}

const OWNER = { project_id: EXTERNAL_ID, user_id: EXTERNAL_ID };
const OWNED = ["allocations", "project_id", "user_id"];
const GENERATION: Schema = { type: ["integer", "null"], additionalProperties: false };
const MAPPINGS: Schema = {
  type: "object",
  minProperties: 1,
  patternProperties: { [GROUP_PATTERN_1_33]: { type: "array", minItems: 1, items: UUID } },
};
const CONSUMER_TYPE: Schema = { type: "string", pattern: RC_PATTERN, minLength: 1, maxLength: 255 };

const LIST_1_0: Schema = {
  type: "object",
  properties: { allocations: LIST },
  required: ["allocations"],
  additionalProperties: false,
};
const LIST_1_8: Schema = {
  type: "object",
  properties: { allocations: LIST, ...OWNER },
  required: OWNED,
  additionalProperties: false,
};

function consumer(minProperties: number, properties: Readonly<Record<string, Schema>>, required: string[]): Schema {
  return {
    type: "object",
    properties: { allocations: dict(minProperties), ...OWNER, ...properties },
    additionalProperties: false,
    required: [...OWNED, ...required],
  };
}

const DICT_1_12 = consumer(1, {}, []);
/** The body of POST, where a consumer's allocations may be empty. */
const DICT_1_13 = consumer(0, {}, []);
const DICT_1_28 = consumer(0, { consumer_generation: GENERATION }, ["consumer_generation"]);
const DICT_1_34 = consumer(0, { consumer_generation: GENERATION, mappings: MAPPINGS }, ["consumer_generation"]);
const DICT_1_38 = consumer(0, { consumer_generation: GENERATION, mappings: MAPPINGS, consumer_type: CONSUMER_TYPE }, [
  "consumer_generation",
  "consumer_type",
]);

const PUT = [
  [0, LIST_1_0],
  [8, LIST_1_8],
  [12, DICT_1_12],
  [28, DICT_1_28],
  [34, DICT_1_34],
  [38, DICT_1_38],
] as const;

const POST_SINCE = [
  [13, DICT_1_13],
  [28, DICT_1_28],
  [34, DICT_1_34],
  [38, DICT_1_38],
] as const;

const POST = POST_SINCE.map(([since, sub]): readonly [number, Schema] => [
  since,
  { type: "object", minProperties: 1, additionalProperties: false, patternProperties: { [UUID_PATTERN]: sub } },
]);

/** The reshaper's: there may be none. */
const RESHAPED = POST_SINCE.filter(([since]) => since >= 28).map(([since, sub]): readonly [number, Schema] => [
  since,
  { type: "object", minProperties: 0, additionalProperties: false, patternProperties: { [UUID_PATTERN]: sub } },
]);

export function putAllocationsSchema(minor: number): Schema {
  return schemaFor(PUT, minor);
}

export function postAllocationsSchema(minor: number): Schema {
  return schemaFor(POST, minor);
}

export function reshapedAllocationsSchema(minor: number): Schema {
  return schemaFor(RESHAPED, minor);
}
