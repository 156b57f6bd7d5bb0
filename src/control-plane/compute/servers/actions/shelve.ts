import type { Instance } from "../../../../records/index.js";
import { badRequest, conflict } from "../../../http/http-error.js";
import { type Schema, schemas } from "../../../http/schemas.js";
import { type Call, requireAdmin, requireMember } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { HOSTNAME, NAME } from "../../api/schema-parts.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { agentAction, anyBody, begin, requireHost, requireState, type ServerAction } from "./server-action.js";

/** Shelves a server (spec 6.6). A server without its own disk has nothing to save and is offloaded at once. */
export const shelve: ServerAction = {
  name: "shelve",
  schema: anyBody("shelve"),
  run: (deps, call) => {
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:os-shelve:shelve");
    assertNotLocked(call, instance);
    requireState(instance, "shelve", { vm: ["active", "stopped", "paused", "suspended"] });
    const host = requireHost(instance);
    const { uuid: instanceUuid, imageRef } = instance;
    const { requestId } = call;
    if (imageRef === "") {
      begin(deps, call, instance, { taskState: "shelving_offloading" }, "shelve");
      deps.bus.cast(host, "shelve_offload_instance", { instanceUuid, requestId }, requestId);
    } else {
      begin(deps, call, instance, { taskState: "shelving" }, "shelve");
      const imageId = deps.images.addSnapshot(instance, `${instance.displayName}-shelved`);
      const params = { instanceUuid, imageId, requestId };
      deps.bus.cast(host, "shelve_instance", params, requestId);
    }
    return { status: 202 };
  },
};

export const shelveOffload = agentAction({
  name: "shelveOffload",
  verb: "shelveOffload",
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

function schema(unshelve: Schema): Schema {
  return {
    type: "object",
    properties: { unshelve },
    required: ["unshelve"],
    additionalProperties: false,
  };
}

const ZONE_OR_NONE = { ...NAME, type: ["string", "null"] };
const UNSHELVE = schemas<UnshelveBody>(
  [1, schema({})],
  [
    77,
    schema({
      type: ["object", "null"],
      properties: { availability_zone: NAME },
      required: ["availability_zone"],
      additionalProperties: false,
    }),
  ],
  [
    91,
    schema({
      type: ["object", "null"],
      properties: { availability_zone: ZONE_OR_NONE, host: HOSTNAME },
      minProperties: 1,
      additionalProperties: false,
    }),
  ],
);

export const unshelve: ServerAction = {
  name: "unshelve",
  schema: UNSHELVE,
  run: (deps, call) => {
    const body = call.body(UNSHELVE);
    const requested = (call.version >= 77 ? body.unshelve : null) ?? {};
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:os-shelve:unshelve");
    if (requested.host !== undefined) {
      requireAdmin(call, "os_compute_api:os-shelve:unshelve_to_host");
    }
    assertNotLocked(call, instance);
    requireState(instance, "unshelve", { vm: ["shelved", "shelved_offloaded"] });
    const host = readUnshelveTarget(deps, call, instance, requested);
    begin(deps, call, instance, { taskState: "unshelving" }, "unshelve");
    deps.store.tasks.add({
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
  { store }: ComputeDeps,
  call: Call,
  instance: Instance,
  { availability_zone: zone, host }: NonNullable<UnshelveBody["unshelve"]>,
): string | null {
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
