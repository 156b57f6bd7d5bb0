import { BOOLEAN, INTEGER_TEXT, MULTI, SINGLE } from "../api/schema-parts.js";
import { type Schema, schemas } from "../api/validate.js";

const FILTERS = [
  "user_id",
  "project_id",
  "tenant_id",
  "launch_index",
  "image_ref",
  "image",
  "vm_state",
  "task_state",
  "host",
  "uuid",
  "status",
  "all_tenants",
  "soft_deleted",
  "deleted",
  "marker",
  "sort_key",
];

/** Filters that Nova hands to its database as regular expressions. What is none is refused, also where it is compared here. */
const PATTERNS = [
  "kernel_id",
  "ramdisk_id",
  "hostname",
  "key_name",
  "power_state",
  "node",
  "flavor",
  "reservation_id",
  "launched_at",
  "terminated_at",
  "availability_zone",
  "name",
  "display_name",
  "description",
  "display_description",
  "locked_by",
  "root_device_name",
  "config_drive",
  "progress",
  "ip",
  "ip6",
  "created_at",
];

const PATTERN = { type: "string", format: "regex" };

function each(names: readonly string[], schema: Schema): Readonly<Record<string, Schema>> {
  return Object.fromEntries(names.map((name) => [name, schema]));
}

function properties(...more: string[]): Readonly<Record<string, Schema>> {
  return {
    ...each(FILTERS, MULTI()),
    ...each([...PATTERNS, ...more], MULTI(PATTERN)),
    "changes-since": MULTI({ type: "string", format: "date-time" }),
    limit: MULTI({ ...INTEGER_TEXT }),
    sort_dir: MULTI({ type: "string", enum: ["asc", "desc"] }),
  };
}

function query(known: Readonly<Record<string, Schema>>, additionalProperties: boolean): Schema {
  return {
    type: "object",
    properties: known,
    additionalProperties,
  };
}

const TAGS = ["tags", "tags-any", "not-tags", "not-tags-any"];
const BEFORE = { "changes-before": SINGLE({ type: "string", format: "date-time" }) };
const LOCKED = { locked: MULTI(BOOLEAN) };

export const LIST_QUERY = schemas(
  [1, query(properties(), true)],
  [26, query(properties(...TAGS), true)],
  [66, query({ ...properties(...TAGS), ...BEFORE }, true)],
  [73, query({ ...properties(...TAGS), ...BEFORE, ...LOCKED }, true)],
  [75, query({ ...properties(...TAGS), ...BEFORE, ...LOCKED }, false)],
);
