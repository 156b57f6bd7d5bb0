import type { Instance } from "../../../records/index.js";
import type { InstanceQuery } from "../../store/instance-queries.js";
import type { Call } from "../api/call.js";
import { badRequest, Fault } from "../api/fault.js";

/** Sort keys of the API; those that are not here are ignored or refused as Nova does. */
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

/** Columns that Nova's database has, and that its API ignores as sort keys before 2.75. `locked` is a key since 2.73. */
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

/** Returns undefined for the default order, newest first. @throws {Fault} 400, 403 */
export function readSort(call: Call): InstanceQuery["sort"] | undefined {
  const names = call.query.all("sort_key");
  if (names.length === 0) {
    return undefined;
  }
  const directions = call.query.all("sort_dir");
  if (directions.length > names.length) {
    throw badRequest("Sort direction size exceeds sort key size");
  }
  // Keys without a direction of their own have the first one.
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
    throw new Fault(403, `Only administrators can sort servers by ${forbidden.name}`);
  }
  return sort.length === 0 ? undefined : sort;
}
