import { Ajv, type ErrorObject } from "ajv";
import { errorMessage } from "../../runtime/error-messages.js";
import type { Files } from "../../runtime/files.js";
import { AuditError } from "../errors.js";
import type { Plan } from "./plan.js";

const UUID = { type: "string", pattern: "^[0-9A-Za-z-]{32,36}$" } as const;

const NAME = { type: "string", minLength: 1, maxLength: 200 } as const;

const OPTIONAL_TEXT = { type: ["string", "null"] } as const;

const GENERATION = { type: ["integer", "null"] } as const;

const COUNT = { type: "integer", minimum: 0 } as const;

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

const TEXT = { type: "string" } as const;

const PORT_STATE = object({ device_id: TEXT, device_owner: TEXT, host: TEXT });

const BINDING = object({ host: NAME, vnic_type: NAME, profile: { type: "object" } });

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
    object({ kind: { const: "set-port" }, uuid: UUID, before: PORT_STATE, after: PORT_STATE }),
    object({ kind: { const: "create-binding" }, port: UUID, binding: BINDING }),
    object({ kind: { const: "delete-binding" }, port: UUID, binding: BINDING }),
    object({ kind: { const: "set-volume" }, uuid: UUID, before: NAME, after: NAME }),
    object({ kind: { const: "delete-attachment" }, attachment: UUID, volume: UUID, server: UUID }),
    object({ kind: { const: "irreversible" }, uuid: UUID, reason: TEXT }),
  ],
};

/** JSON Schema of a {@link Plan}. */
const PLAN_SCHEMA = object({
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

/** Compiles the schema at first use and caches it. */
const ajv = new Ajv({ allowUnionTypes: true, discriminator: true });

/** Writes the plan atomically to a file that only its owner can read, since it names projects and users. */
export function writePlan(files: Files, path: string, plan: Plan): Promise<void> {
  return files.write(path, `${JSON.stringify(plan, null, 2)}\n`, { mode: 0o600 });
}

/** @param cloud name of the target cloud, which must equal the audited one's @throws {AuditError} */
export async function readPlan(files: Files, path: string, cloud: string): Promise<Plan> {
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    throw new AuditError("PlanUnreadable", `${path}: there is no such file; write one with audit --plan`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AuditError("PlanUnreadable", `${path}: not JSON: ${errorMessage(error)}`);
  }
  const validate = ajv.compile<Plan>(PLAN_SCHEMA);
  if (!validate(value)) {
    throw new AuditError("PlanUnreadable", `${path}: not a plan of audit --plan: ${describe(validate.errors?.[0])}`);
  }
  // Creations have no generation by which another cloud would be detected.
  if (value.cloud !== cloud) {
    throw new AuditError(
      "PlanUnreadable",
      `${path}: the plan was made for cloud ${value.cloud}, and this is ${cloud}; choose with --os-cloud`,
    );
  }
  return value;
}

function describe(error: ErrorObject | undefined): string {
  return error ? `${error.instancePath || "the file"} ${error.message ?? "is wrong"}` : "it is wrong";
}

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
