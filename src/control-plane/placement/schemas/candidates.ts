import type { Schema } from "../json/schema.js";
import { GROUP_PATTERN, GROUP_PATTERN_1_33, schemaFor } from "./common.js";

const TEXT: Schema = { type: "string" };
/** Written as a list upstream, which its error texts show. */
const TEXT_LIST: Schema = { type: ["string"] };
const LIMIT: Schema = { type: ["integer", "string"], pattern: "^[1-9][0-9]*$", minimum: 1, minLength: 1 };
const POLICY: Schema = { type: "string", enum: ["none", "isolate"] };

function plain(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", properties, required: ["resources"], additionalProperties: false };
}

function granular(properties: Readonly<Record<string, Schema>>, group: string, kinds: readonly string[]): Schema {
  return {
    type: "object",
    properties: { limit: LIMIT, group_policy: POLICY, ...properties },
    additionalProperties: false,
    patternProperties: Object.fromEntries(kinds.map((kind) => [`^${kind}(${group})?$`, TEXT])),
  };
}

const KINDS = ["resources", "required", "member_of"];
const KINDS_1_31 = [...KINDS, "in_tree"];
const SCHEMAS = [
  [10, plain({ resources: TEXT })],
  [16, plain({ resources: TEXT, limit: LIMIT })],
  [17, plain({ resources: TEXT, limit: LIMIT, required: TEXT_LIST })],
  [21, plain({ resources: TEXT, limit: LIMIT, required: TEXT_LIST, member_of: TEXT_LIST })],
  [25, granular({}, GROUP_PATTERN, KINDS)],
  [31, granular({}, GROUP_PATTERN, KINDS_1_31)],
  [33, granular({}, GROUP_PATTERN_1_33, KINDS_1_31)],
  [35, granular({ root_required: TEXT_LIST }, GROUP_PATTERN_1_33, KINDS_1_31)],
  [36, granular({ root_required: TEXT_LIST, same_subtree: TEXT_LIST }, GROUP_PATTERN_1_33, KINDS_1_31)],
] as const;

export function candidatesSchema(minor: number): Schema {
  return schemaFor(SCHEMAS, minor);
}
