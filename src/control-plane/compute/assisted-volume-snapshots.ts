import type { Instance } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { badRequest } from "../http/http-error.js";
import { routes } from "../http/router.js";
import { type Schema, schemas } from "../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, denied } from "./api/call.js";
import { bodyOf, MULTI, object, strictSince75 } from "./api/schema-parts.js";

interface CreateBody {
  readonly snapshot: { readonly volume_id: string; readonly create_info: { readonly id?: string } };
}

const TEXT = { type: "string", minLength: 1 };

const INFO: Readonly<Record<string, Schema>> = {
  snapshot_id: TEXT,
  type: { type: "string", enum: ["qcow2"] },
  new_file: TEXT,
  id: TEXT,
};

const CREATE = schemas<CreateBody>([
  1,
  bodyOf(
    "snapshot",
    object(
      {
        volume_id: TEXT,
        create_info: object(INFO, ["snapshot_id", "type", "new_file"]),
      },
      ["volume_id", "create_info"],
    ),
  ),
]);

const DELETE = schemas<unknown>(...strictSince75({ delete_info: MULTI() }));

/**
 * Snapshots of volumes that hypervisors make, at the request of Block Storage. No hypervisor here makes any: as by Nova
 * with such a hypervisor, requests are accepted, and the snapshot's status does not change.
 */
export const ASSISTED_SNAPSHOT_ROUTES = routes<ComputeRoute>({
  "POST /os-assisted-volume-snapshots": create,
  "DELETE /os-assisted-volume-snapshots/:id": remove,
});

/** Allows administrators and services. @throws {HttpError} 403 */
function requireService(call: Call, rule: string): void {
  if (!call.isAdmin && !call.credentials.roles.includes("service")) {
    throw denied(`os_compute_api:os-assisted-volume-snapshots:${rule}`);
  }
}

function create(call: Call): ComputeResponse {
  requireService(call, "create");
  const { volume_id: volumeId, create_info: info } = call.body(CREATE).snapshot;
  requireIdle(findUser(call, volumeId), "do_volume_snapshot_create");
  return { body: { snapshot: { id: info.id ?? null, volumeId } } };
}

function remove(call: Call): ComputeResponse {
  call.checkQuery(DELETE);
  requireService(call, "delete");
  const info = parseInfo(call.query.get("delete_info"));
  const instance = findUser(call, String(info.volume_id));
  requireIdle(instance, "do_volume_snapshot_delete");
  if (info.merge_target_file != null && instance.vmState !== "active") {
    throw invalidState(instance, "vm_state", instance.vmState, "volume_snapshot_delete");
  }
  return { status: 204 };
}

function parseInfo(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) {
    throw badRequest("'delete_info'");
  }
  try {
    const info: unknown = JSON.parse(text);
    if (isObject(info) && info.volume_id !== undefined) {
      return info;
    }
  } catch {
    throw badRequest("Expecting value: line 1 column 1 (char 0)");
  }
  throw badRequest("'volume_id'");
}

/** Returns the server that uses a volume. @throws {HttpError} 400 */
function findUser({ store }: Call, volumeId: string): Instance {
  const [device, second] = store.blockDevices.ofVolume(volumeId);
  if (second) {
    throw badRequest(`Block Device Mapping ${volumeId} is a multi-attach volume and is not valid for this operation.`);
  }
  const instance = device && store.instances.get(device.instanceUuid);
  if (!instance) {
    throw badRequest(`No volume Block Device Mapping with id ${volumeId}.`);
  }
  return instance;
}

/** @throws {HttpError} 400 */
function requireIdle(instance: Instance, method: string): void {
  if (instance.host === null) {
    throw badRequest(`Instance ${instance.uuid} is not ready`);
  }
  if (instance.taskState !== null) {
    throw invalidState(instance, "task_state", instance.taskState, method);
  }
}

function invalidState({ uuid }: Instance, attribute: string, state: string, method: string) {
  return badRequest(`Instance ${uuid} in ${attribute} ${state}. Cannot ${method} while the instance is in this state.`);
}
