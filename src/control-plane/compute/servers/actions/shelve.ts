import type { Instance } from "../../../../records/index.js";
import { badRequest, conflict } from "../../../http/http-error.js";
import { schemas } from "../../../http/schemas.js";
import { type Call, requireAdmin, requireMember } from "../../api/call.js";
import { bodyOf, HOSTNAME, NAME, object } from "../../api/schema-parts.js";
import { assertVolumesInZone } from "../block-devices/volume-zones.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { agentAction, begin, instanceAction, requireHost, requireState, type ServerAction } from "./server-action.js";

/** Shelves a server (spec 6.6). A server without its own disk has nothing to save and is offloaded at once. */
export const shelve = instanceAction({
  name: "shelve",
  policy: "os_compute_api:os-shelve:shelve",
  states: { vm: ["active", "stopped", "paused", "suspended"] },
  run: (call, instance) => {
    const host = requireHost(instance);
    const { uuid: instanceUuid, imageRef } = instance;
    const { requestId } = call;
    if (imageRef === "") {
      begin(call, instance, { taskState: "shelving_offloading" }, "shelve");
      call.deps.bus.cast(host, "shelve_offload_instance", { instanceUuid, requestId }, requestId);
    } else {
      begin(call, instance, { taskState: "shelving" }, "shelve");
      const imageId = call.deps.images.addSnapshot(instance, `${instance.displayName}-shelved`);
      const params = { instanceUuid, imageId, requestId };
      call.deps.bus.cast(host, "shelve_instance", params, requestId);
    }
  },
});

export const shelveOffload = agentAction({
  name: "shelveOffload",
  policy: "os_compute_api:os-shelve:shelve_offload",
  require: requireAdmin,
  states: { vm: ["shelved"] },
  taskState: "shelving_offloading",
  method: "shelve_offload_instance",
});

interface UnshelveBody {
  /** Ignored before 2.77. */
  readonly unshelve: { readonly availability_zone?: string | null; readonly host?: string } | null;
}

const NULLABLE = { type: ["object", "null"] };
const UNSHELVE = schemas<UnshelveBody>(
  [1, bodyOf("unshelve", {})],
  [77, bodyOf("unshelve", object({ availability_zone: NAME }, ["availability_zone"], NULLABLE))],
  [
    91,
    bodyOf(
      "unshelve",
      object({ availability_zone: { ...NAME, type: ["string", "null"] }, host: HOSTNAME }, [], {
        ...NULLABLE,
        minProperties: 1,
      }),
    ),
  ],
);

export const unshelve: ServerAction = {
  name: "unshelve",
  schema: UNSHELVE,
  run: (call) => {
    const body = call.body(UNSHELVE);
    const requested = (call.version >= 77 ? body.unshelve : null) ?? {};
    const instance = findInstance(call);
    requireMember(call, "os_compute_api:os-shelve:unshelve");
    if (requested.host !== undefined) {
      requireAdmin(call, "os_compute_api:os-shelve:unshelve_to_host");
    }
    assertNotLocked(call, instance);
    requireState(instance, "unshelve", { vm: ["shelved", "shelved_offloaded"] });
    const host = readUnshelveTarget(call, instance, requested);
    begin(call, instance, { taskState: "unshelving" }, "unshelve");
    call.store.tasks.add({
      kind: "unshelve_instance",
      instanceUuid: instance.uuid,
      requestId: call.requestId,
      host,
    });
    return { status: 202 };
  },
};

/** Returns the requested host. A requested zone is saved in the server's request spec, for this and later moves. */
function readUnshelveTarget(
  call: Call,
  instance: Instance,
  { availability_zone: zone, host }: NonNullable<UnshelveBody["unshelve"]>,
): string | null {
  const { store } = call;
  if (zone === undefined && host === undefined) {
    return null;
  }
  if (instance.vmState !== "shelved_offloaded") {
    const subject = call.version >= 91 ? "an availability zone or a host" : "an availability zone";
    throw conflict(
      `Specifying ${subject} when unshelving server "${instance.uuid}" with status "${instance.vmState.toUpperCase()}" is not supported. The server status must be SHELVED_OFFLOADED.`,
    );
  }
  if (zone !== undefined && zone !== null && !store.services.isComputeZone(zone)) {
    throw badRequest("The requested availability zone is not available");
  }
  if (zone !== undefined && zone !== null) {
    assertVolumesInZone(call, instance, zone);
  }
  const spec = store.requests.spec(instance.uuid);
  if (host !== undefined) {
    const service = store.services.getByHost(host, "nova-compute");
    if (service === null) {
      throw badRequest(`Compute host ${host} could not be found.`);
    }
    // Without a zone in the request, the server stays pinned to its current zone.
    const pinned = zone === undefined ? (spec?.availabilityZone ?? null) : zone;
    if (pinned !== null && service.availabilityZone !== pinned) {
      throw conflict(`Host "${host}" is not in the availability zone "${pinned}".`);
    }
  }
  if (zone !== undefined && spec !== null) {
    store.requests.saveSpec({ ...spec, availabilityZone: zone });
  }
  return host ?? null;
}
