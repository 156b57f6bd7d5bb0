import type { Instance, Migration } from "../../../records/index.js";
import { releaseVolumes } from "../../conductor/release-volumes.js";
import { isUp } from "../api/agents.js";
import { type Call, type ComputeResponse, requireMember } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { serversInQuota } from "../quotas/quota-checks.js";
import { begin, instanceAction } from "./actions/server-action.js";
import { assertNotLocked, type FoundServer, findServer } from "./find-server.js";

/** Deletes a server (spec 6.2). The agent does the rest, or a task if the agent is down. */
export function deleteServer(call: Call): ComputeResponse {
  requireMember(call, "os_compute_api:servers:delete");
  const { store } = call;
  store.transaction(() => {
    const found = findServer(call);
    const { instance, building } = found;
    assertNotLocked(call, instance);
    if (!building && call.deps.reclaimInstanceInterval > 0 && instance.launchedAt !== null && instance.host !== null) {
      softDelete(call, instance);
    } else {
      removeServer(call, found);
    }
  });
  call.deps.wake();
  return { status: 204 };
}

/** Deletes a server permanently, even if it is not yet scheduled. */
export function removeServer(call: Call, { instance, building }: FoundServer): void {
  const { store } = call;
  if (!building) {
    terminate(call, instance);
    return;
  }
  releaseVolumes(call.deps, instance.uuid);
  // The conductor notices that the build request is gone and releases what it has claimed.
  store.requests.destroyBuildRequest(instance.uuid);
  store.serverGroups.removeMember(instance.uuid);
  store.mappings.queueForDelete(instance.uuid);
}

/** Deletes a server permanently. A second request is ignored while the first is in progress. */
function terminate(call: Call, instance: Instance): void {
  const { store, bus } = call.deps;
  const { uuid: instanceUuid } = instance;
  const { requestId } = call;
  const agent = liveHost(call.deps, instance);
  if (instance.taskState === "deleting" && (agent !== null || isQueued(call.deps, instanceUuid))) {
    return;
  }
  recordDelete(call, instance, "delete");
  removeShelved(call.deps, instance);
  store.instances.save(instanceUuid, { taskState: "deleting", taskRequestId: requestId, progress: 0 });
  store.mappings.queueForDelete(instanceUuid);
  const resize = unconfirmedResize(call.deps, instance);
  if (resize !== null) {
    store.tasks.add({ kind: "delete_resized", instanceUuid, migrationId: resize.id, requestId });
  } else if (agent === null) {
    store.tasks.add({ kind: "delete_local", instanceUuid, requestId });
  } else {
    bus.cast(agent, "terminate_instance", { instanceUuid, requestId }, requestId);
  }
}

/** Removes the image that shelving has created. */
function removeShelved({ images }: ComputeDeps, { systemMetadata }: Instance): void {
  const { shelved_image_id: image } = systemMetadata;
  if (image !== undefined) {
    images.remove(image);
  }
}

/** Soft-deletes a server (spec 6.2, row "soft delete"). It can be restored until it is reclaimed. */
function softDelete(call: Call, instance: Instance): void {
  if (instance.vmState === "soft-delete" || ["soft-deleting", "deleting"].includes(instance.taskState ?? "")) {
    return;
  }
  const agent = liveHost(call.deps, instance);
  const resize = unconfirmedResize(call.deps, instance);
  if (agent === null || resize !== null) {
    terminate(call, instance);
    return;
  }
  recordDelete(call, instance, "softDelete");
  const { requestId } = call;
  call.store.instances.save(instance.uuid, { taskState: "soft-deleting", taskRequestId: requestId, progress: 0 });
  call.deps.bus.cast(agent, "soft_delete_instance", { instanceUuid: instance.uuid, requestId }, requestId);
}

function liveHost(deps: ComputeDeps, { host }: Instance): string | null {
  const service = host === null ? null : deps.store.services.getByHost(host, "nova-compute");
  return service !== null && isUp(deps, service) ? service.host : null;
}

/** Returns the finished resize, whose source still has the old guest (spec 6.2, row "vm resized"). */
function unconfirmedResize({ store }: ComputeDeps, { uuid, vmState }: Instance): Migration | null {
  return vmState !== "resized"
    ? null
    : (store.migrations
        .byFilters({
          instanceUuid: uuid,
          migrationTypes: ["migration", "resize"],
          statuses: ["finished", "confirming"],
        })
        .at(-1) ?? null);
}

function recordDelete(call: Call, { uuid }: Instance, action: string): void {
  const { userId, projectId } = call.credentials;
  call.store.actions.start({ action, instanceUuid: uuid, requestId: call.requestId, userId, projectId });
}

function isQueued({ store }: ComputeDeps, instanceUuid: string): boolean {
  return store.tasks
    .ofInstance(instanceUuid)
    .some(({ task }) => ["delete_local", "delete_resized"].includes(task.kind));
}

/** Restores a server that was soft-deleted less than `reclaim_instance_interval` ago. */
export const restore = instanceAction({
  name: "restore",
  policy: "os_compute_api:os-deferred-delete:restore",
  states: { vm: ["soft-delete"] },
  run: (call, instance) => {
    serversInQuota(call.deps, instance, instance.flavor, 1, 1);
    if (instance.host === null) {
      begin(call, instance, { vmState: "active", taskState: null }, "restore");
      return;
    }
    begin(call, instance, { taskState: "restoring" }, "restore");
    const params = { instanceUuid: instance.uuid, requestId: call.requestId };
    call.deps.bus.cast(instance.host, "restore_instance", params, call.requestId);
  },
});

/** Deletes permanently, in any state, even if the server could be restored. */
export const forceDelete = instanceAction({
  name: "forceDelete",
  policy: "os_compute_api:os-deferred-delete:force",
  run: (call, instance) => {
    terminate(call, instance);
  },
});
