import { ConductorError } from "../../../conductor-client/errors.js";
import type { PlacementAccess, WORK_METHODS } from "../../../conductor-client/methods/conductor.js";
import type { Instance } from "../../../records/index.js";
import type { ServerPorts } from "../../network/server-ports.js";
import type { Store } from "../../store/store.js";
import type { AgentBus } from "../agent-messages.js";
import type { HandlersOf } from "../dispatcher.js";
import type { HostLeases } from "../host-leases.js";
import { plugPorts, portsAt } from "../server-port-events.js";

export interface WorkContext {
  readonly store: Store;
  readonly bus: AgentBus;
  readonly leases: HostLeases;
  readonly ports: ServerPorts;
  /** @param origin URL by which the agent reached the control plane: `https://host:port` */
  readonly placementAccess: (origin: string) => PlacementAccess | Promise<PlacementAccess>;
  /** Absent without an Image service. */
  readonly imageAccess?: ((origin: string) => PlacementAccess) | undefined;
  /** Absent without Block Storage. @param owner the user and project of a new volume; null: Compute itself */
  readonly volumeAccess?:
    | ((origin: string, owner: Pick<Instance, "userId" | "projectId"> | null) => PlacementAccess)
    | undefined;
  /** Instances by host as agents last reported them. */
  readonly instanceInfo: Map<string, ReadonlySet<string>>;
}

/** Creates the methods that give work to the conductor or read something other than records. */
export function workMethods(context: WorkContext): HandlersOf<typeof WORK_METHODS> {
  const { store, bus, leases, ports, placementAccess, imageAccess, volumeAccess, instanceInfo } = context;
  return {
    build_instances: (params) => {
      // The host that gave the build back is no longer involved.
      if (store.instances.get(params.instanceUuid) !== null) {
        store.instances.save(params.instanceUuid, { launchedOn: null });
      }
      store.tasks.add({ kind: "build_instances", ...params });
      return null;
    },
    delete_instance: ({ instanceUuid }, { requestId }) => {
      const host = store.instances.get(instanceUuid)?.host ?? null;
      if (host !== null && bus.serves(host)) {
        bus.cast(host, "terminate_instance", { instanceUuid, requestId }, requestId);
      } else {
        store.tasks.add({ kind: "delete_local", instanceUuid, requestId });
      }
      return null;
    },
    migrate_server: (params) => {
      // The next host's claim sets the destination. Until then, the host that gave the move back must not be named in it.
      const nowhere = { destCompute: null, destNode: null, destComputeId: null, destHost: null };
      store.migrations.save(params.migrationId, nowhere);
      store.tasks.add({ kind: "migrate_server", host: null, ...params });
      return null;
    },
    online_data_migrations: ({ limit }) => [{ name: "migration_uuids", ...store.migrations.fillUuids(limit) }],
    stop_instance: ({ instanceUuid }, { requestId }) => {
      const instance = store.instances.get(instanceUuid);
      if (!instance) {
        throw new ConductorError("InstanceNotFound", `instance ${instanceUuid} was not found`, { uuid: instanceUuid });
      }
      if (instance.host === null) {
        throw new ConductorError("ObjectActionError", `instance ${instanceUuid} has no host: nothing to stop`, {
          uuid: instanceUuid,
        });
      }
      const changes = { taskState: "powering-off", taskRequestId: requestId } as const;
      store.instances.save(instanceUuid, changes, { expectedTaskState: [null] });
      const { projectId, userId } = instance;
      store.actions.start({ action: "stop", instanceUuid, requestId, userId, projectId });
      bus.cast(instance.host, "stop_instance", { instanceUuid, requestId }, requestId);
      return null;
    },
    instance_ports: ({ uuid, host }) => portsAt(ports, uuid, host),
    vifs_plugged: (params) => {
      plugPorts({ store, ports }, params);
      return null;
    },
    report_bridges: ({ host, bridgeMappings }) => {
      ports.setBridges(host, bridgeMappings);
      return null;
    },
    sync_instance_info: ({ host, instanceUuids }) => {
      instanceInfo.set(host, new Set(instanceUuids));
      return null;
    },
    host_lease_holder: ({ host }) => leases.describe(host),
    placement_access: async (_params, { session }) => placementAccess(session.origin),
    volume_access: async ({ instanceUuid }, { session }) => {
      if (!volumeAccess) {
        throw new ConductorError("ConductorError", "this cluster has no Block Storage service");
      }
      const instance = instanceUuid === null ? null : store.instances.get(instanceUuid);
      if (instance === null && instanceUuid !== null) {
        throw new ConductorError("InstanceNotFound", `instance ${instanceUuid} was not found`, { uuid: instanceUuid });
      }
      return volumeAccess(session.origin, instance);
    },
    image_access: async (_params, { session }) => {
      if (imageAccess) {
        return imageAccess(session.origin);
      }
      throw new ConductorError("ConductorError", "this cluster has no Image service");
    },
  };
}
