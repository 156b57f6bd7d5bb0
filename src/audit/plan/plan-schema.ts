const UUID = { type: "string", pattern: "^[0-9A-Za-z-]{32,36}$" } as const;
const NAME = { type: "string", minLength: 1, maxLength: 200 } as const;
const OPTIONAL_TEXT = { type: ["string", "null"] } as const;
const GENERATION = { type: ["integer", "null"] } as const;
const COUNT = { type: "integer", minimum: 0 } as const;

function object(properties: Readonly<Record<string, unknown>>) {
  return {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

function mapOf(value: unknown) {
  return {
    type: "object",
    additionalProperties: value,
    required: [],
  };
}

const INVENTORIES = mapOf(
  object({
    total: COUNT,
    reserved: COUNT,
    min_unit: COUNT,
    max_unit: COUNT,
    step_size: COUNT,
    allocation_ratio: { type: "number", minimum: 0 },
  }),
);

const CONSUMER_STATE = object({
  allocations: mapOf(mapOf({ type: "integer", minimum: 1 })),
  project_id: OPTIONAL_TEXT,
  user_id: OPTIONAL_TEXT,
  consumer_type: OPTIONAL_TEXT,
});

const PROVIDER = object({
  uuid: UUID,
  name: NAME,
  parent: OPTIONAL_TEXT,
  inventories: INVENTORIES,
  traits: { type: "array", items: NAME },
  aggregates: { type: "array", items: UUID },
});

const CHANGE = object({ uuid: UUID, generation: GENERATION, before: CONSUMER_STATE, after: CONSUMER_STATE });

const ACTION = {
  type: "object",
  required: ["kind"],
  discriminator: { propertyName: "kind" },
  oneOf: [
    object({ kind: { const: "allocations" }, consumers: { type: "array", minItems: 1, items: CHANGE } }),
    object({ kind: { const: "create-provider" }, provider: PROVIDER }),
    object({ kind: { const: "delete-provider" }, generation: { type: "integer" }, provider: PROVIDER }),
    object({ kind: { const: "rename-provider" }, uuid: UUID, generation: GENERATION, before: NAME, after: NAME }),
    object({
      kind: { const: "set-inventories" },
      uuid: UUID,
      generation: GENERATION,
      before: INVENTORIES,
      after: INVENTORIES,
    }),
  ],
};

/** JSON Schema of a {@link Plan}. */
export const PLAN_SCHEMA = object({
  version: { const: 1 },
  cloud: { type: "string" },
  edits: {
    type: "array",
    items: object({
      findings: { type: "array", items: { type: "string" } },
      reason: { type: "string" },
      action: ACTION,
      inverse: ACTION,
    }),
  },
});
