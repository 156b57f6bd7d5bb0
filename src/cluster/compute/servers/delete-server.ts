import type { Instance } from "../../../conductor/records/index.js";
import type { Answer, Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireMember } from "../api/policy.js";
import { isUp } from "../services/service-status.js";
import { findServer, refuseLocked } from "./find-server.js";

/** Spec 6.2: what the API does itself; the rest is the agent's, or a task where there is no agent. */
export const deleteServer =
  (deps: ComputeDeps) =>
  (call: Call): Answer => {
    requireMember(call, "os_compute_api:servers:delete");
    const { store } = deps;
    store.transaction(() => {
      const { instance, building } = findServer(deps, call);
      refuseLocked(call, instance);
      if (building) {
        // The conductor finds the request gone, and gives back what it has claimed.
        store.requests.destroyBuildRequest(instance.uuid);
        store.mappings.queueForDelete(instance.uuid);
        return;
      }
      deleteInstance(deps, call, instance);
    });
    deps.wake();
    return { status: 204 };
  };

const deleteInstance = (deps: ComputeDeps, call: Call, instance: Instance): void => {
  const { store, bus } = deps;
  const { uuid: instanceUuid, host } = instance;
  const { requestId, credentials } = call;
  const service = host === null ? null : store.services.getByHost(host, "nova-compute");
  const deleting = instance.taskState === "deleting";
  const agent = service !== null && isUp(deps, service) ? service.host : null;
  if (deleting && (agent !== null || isQueued(deps, instanceUuid))) return;
  store.actions.start({
    action: "delete",
    instanceUuid,
    requestId,
    userId: credentials.userId,
    projectId: credentials.projectId,
  });
  store.instances.save(instanceUuid, { taskState: "deleting", progress: 0 });
  store.mappings.queueForDelete(instanceUuid);
  if (agent === null) {
    store.tasks.add({ kind: "delete_local", instanceUuid, requestId });
  } else {
    bus.cast(agent, "terminate_instance", { instanceUuid, requestId }, requestId);
  }
};

const isQueued = ({ store }: ComputeDeps, instanceUuid: string): boolean =>
  store.tasks.pending().some(({ task }) => task.kind === "delete_local" && task.instanceUuid === instanceUuid);
