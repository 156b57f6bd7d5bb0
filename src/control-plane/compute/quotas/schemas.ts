import { BOOLEAN, MULTI } from "../api/schema-parts.js";
import { type Schema, schemas } from "../api/validate.js";
import { listClassResources, listQuotaResources } from "./resources.js";

const LIMIT = { type: ["integer", "string"], pattern: "^-?[0-9]+$", minimum: -1, maximum: 0x7fffffff };

type RequestedLimits = Readonly<Record<string, number | string>>;

function body(member: string, names: readonly string[], more: Readonly<Record<string, Schema>> = {}): Schema {
  const limits = Object.fromEntries(names.map((name) => [name, LIMIT]));
  return {
    type: "object",
    properties: { [member]: { type: "object", properties: { ...limits, ...more }, additionalProperties: false } },
    required: [member],
    additionalProperties: false,
  };
}

// Nova takes `networks` for a word of its own.
function set(version: number, more: Readonly<Record<string, Schema>> = {}): Schema {
  return body("quota_set", listQuotaResources(version), { ...more, force: BOOLEAN });
}

export const UPDATE_SET = schemas<{ readonly quota_set: RequestedLimits & { readonly force?: boolean | string } }>(
  [1, set(1, { networks: LIMIT })],
  [36, set(36)],
  [57, set(57)],
);

// Before 2.50 the classes take the server groups that they do not show.
const class1 = body("quota_class_set", [...listClassResources(1), ...listClassResources(50), "networks"]);

export const UPDATE_CLASS = schemas<{ readonly quota_class_set: RequestedLimits }>(
  [1, class1],
  [50, body("quota_class_set", listClassResources(50))],
  [57, body("quota_class_set", listClassResources(57))],
);

function query(parameter: string, additionalProperties: boolean): Schema {
  return { type: "object", properties: { [parameter]: MULTI() }, additionalProperties };
}

export const SET_QUERY = schemas<unknown>([1, query("user_id", true)], [75, query("user_id", false)]);
export const LIMITS_QUERY = schemas<unknown>([1, query("tenant_id", true)], [75, query("tenant_id", false)]);
