import type { Instance } from "../../../records/index.js";
import { badRequest, HttpError } from "../../http/http-error.js";
import { type Schema, schemas } from "../../http/schemas.js";
import type { InstanceQuery } from "../../store/instance-queries.js";
import type { Call } from "../api/call.js";
import { BOOLEAN, INTEGER_TEXT, MULTI, SINGLE } from "../api/schema-parts.js";

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

/**
 * Filters that Nova passes to its database as regular expressions. An invalid one is rejected, even where this API
 * compares strings.
 */
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

/** Sort keys of the API. Other keys are ignored or rejected, as in Nova. */
const KEYS: Readonly<Record<string, keyof Instance>> = {
  access_ip_v4: "accessIpV4",
  access_ip_v6: "accessIpV6",
  availability_zone: "availabilityZone",
  config_drive: "configDrive",
  created_at: "createdAt",
  display_description: "displayDescription",
  display_name: "displayName",
  host: "host",
  hostname: "hostname",
  image_ref: "imageRef",
  instance_type_id: "instanceTypeId",
  key_name: "keyName",
  launch_index: "launchIndex",
  launched_at: "launchedAt",
  locked: "locked",
  node: "node",
  power_state: "powerState",
  progress: "progress",
  project_id: "projectId",
  task_state: "taskState",
  terminated_at: "terminatedAt",
  updated_at: "updatedAt",
  user_id: "userId",
  uuid: "uuid",
  vm_state: "vmState",
};

const FOR_ADMINISTRATORS = ["host", "node"];

/** Columns of Nova's database that its API ignores as sort keys before 2.75. `locked` is a sort key since 2.73. */
const IGNORED: ReadonlySet<string> = new Set([
  ...["architecture", "cell_name", "cleaned", "default_ephemeral_device", "default_swap_device", "deleted"],
  ...["deleted_at", "disable_terminate", "ephemeral_gb", "ephemeral_key_uuid", "id", "key_data", "launched_on"],
  ...[
    "locked",
    "memory_mb",
    "os_type",
    "reservation_id",
    "root_gb",
    "shutdown_terminate",
    "user_data",
    "vcpus",
    "vm_mode",
  ],
]);

function isIgnored(name: string, version: number): boolean {
  return version < 75 && IGNORED.has(name) && !(name === "locked" && version >= 73);
}

/** Returns undefined for the default order, newest first. @throws {HttpError} 400, 403 */
export function readSort(call: Call): InstanceQuery["sort"] | undefined {
  const names = call.query.all("sort_key");
  if (names.length === 0) {
    return undefined;
  }
  const directions = call.query.all("sort_dir");
  if (directions.length > names.length) {
    throw badRequest("Sort direction size exceeds sort key size");
  }
  // Keys without a direction use the first direction.
  const directionOf = (index: number) => ((directions[index] ?? directions[0]) === "asc" ? "asc" : "desc");
  const sort = names.flatMap((name, index) => {
    const key = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined;
    if (isIgnored(name, call.version)) {
      return [];
    }
    if (!key) {
      throw badRequest(
        `Invalid input for query parameters sort_key. Value: ${name}. '${name}' is not one of ${Object.keys(KEYS).join(", ")}`,
      );
    }
    return [{ name, key, direction: directionOf(index) } as const];
  });
  const forbidden = call.isAdmin ? undefined : sort.find(({ name }) => FOR_ADMINISTRATORS.includes(name));
  if (forbidden) {
    throw new HttpError(403, `Only administrators can sort servers by ${forbidden.name}`);
  }
  return sort.length === 0 ? undefined : sort;
}
