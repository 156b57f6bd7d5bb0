import { SERVER_GROUP_POLICIES, type ServerGroupPolicy } from "../../../records/index.js";
import { INTEGER_TEXT, MULTI, NAME, POSITIVE_INTEGER } from "../api/schema-parts.js";
import { type Schema, schemas } from "../api/validate.js";

/** `policies` before 2.64, `policy` and `rules` since. */
interface CreateBody {
  readonly server_group: {
    readonly name: string;
    readonly policies?: readonly ServerGroupPolicy[];
    readonly policy?: ServerGroupPolicy;
    readonly rules?: { readonly max_server_per_host?: number | string };
  };
}

function body(properties: Readonly<Record<string, Schema>>): Schema {
  return {
    type: "object",
    properties: {
      server_group: {
        type: "object",
        properties: { name: NAME, ...properties },
        required: ["name", Object.keys(properties)[0]],
        additionalProperties: false,
      },
    },
    required: ["server_group"],
    additionalProperties: false,
  };
}

function policies(allowed: readonly ServerGroupPolicy[]): Schema {
  return {
    type: "array",
    items: [{ type: "string", enum: allowed }],
    uniqueItems: true,
    minItems: 1,
    maxItems: 1,
    additionalItems: false,
  };
}

const RULES = { type: "object", properties: { max_server_per_host: POSITIVE_INTEGER }, additionalProperties: false };

export const CREATE = schemas<CreateBody>(
  [1, body({ policies: policies(["anti-affinity", "affinity"]) })],
  [15, body({ policies: policies(["anti-affinity", "affinity", "soft-anti-affinity", "soft-affinity"]) })],
  [64, body({ policy: { type: "string", enum: SERVER_GROUP_POLICIES }, rules: RULES })],
);

function query(additionalProperties: boolean): Schema {
  const page = { limit: MULTI(INTEGER_TEXT), offset: MULTI(INTEGER_TEXT) };
  return { type: "object", properties: { all_projects: MULTI(), ...page }, additionalProperties };
}

export const LIST = schemas<unknown>([1, query(true)], [75, query(false)]);
