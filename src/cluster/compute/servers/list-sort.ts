import type { Instance } from "../../../records/index.js";
import type { InstanceQuery } from "../../store/instance-queries.js";
import type { Call } from "../api/call.js";
import { badRequest } from "../api/fault.js";

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

/** Undefined: the default, newest first. @throws {Fault} 400 */
export function readSort(call: Call): InstanceQuery["sort"] | undefined {
  const keys = call.query.all("sort_key");
  const directions = call.query.all("sort_dir");
  if (keys.length === 0) {
    return undefined;
  }
  if (directions.length > keys.length) {
    throw badRequest("Sort direction size exceeds sort key size");
  }
  return keys.flatMap((name, index) => {
    const key = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined;
    if (!key) {
      throw badRequest(
        `Invalid input for query parameters sort_key. Value: ${name}. '${name}' is not one of ${Object.keys(KEYS).join(", ")}`,
      );
    }
    if (FOR_ADMINISTRATORS.includes(name) && !call.isAdmin) {
      return [];
    }
    return [{ key, direction: directions[index] === "asc" ? ("asc" as const) : ("desc" as const) }];
  });
}
