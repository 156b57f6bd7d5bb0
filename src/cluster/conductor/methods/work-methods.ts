import { InstanceNotFound, ObjectActionError } from "../../../conductor/errors.js";
import type { ConductorMethods } from "../../../conductor/methods/conductor.js";
import type { ResultOf } from "../../../conductor/methods/method.js";
import type { Store } from "../../store/store.js";
import type { AgentBus } from "../agent-bus.js";
import type { HostLeases } from "../host-leases.js";
import { type MethodTable, reads, waits, writes } from "./method-table.js";

export type PlacementAccess = ResultOf<ConductorMethods, "placement_access">;

export interface WorkContext {
  readonly store: Store;
  readonly bus: AgentBus;
  readonly leases: HostLeases;
  readonly placementAccess: () => PlacementAccess | Promise<PlacementAccess>;
  /** Instances by host, as the agents last reported them. */
  readonly instanceInfo: Map<string, ReadonlySet<string>>;
}

type WorkMethod =
  | "build_instances"
  | "delete_instance"
  | "migrate_server"
  | "online_data_migrations"
  | "stop_instance"
  | "sync_instance_info"
  | "host_lease_holder"
  | "placement_access";

/** The methods that hand work to the conductor, or ask it for something that is not a record. */
export function workMethods(context: WorkContext): MethodTable<ConductorMethods, WorkMethod> {
  const { store, bus, leases, placementAccess, instanceInfo } = context;
  return {
    build_instances: writes((params) => {
      store.tasks.add({ kind: "build_instances", ...params });
      return null;
    }),
    delete_instance: writes(({ instanceUuid }, { requestId }) => {
      const host = store.instances.get(instanceUuid)?.host ?? null;
      if (host !== null && bus.serves(host)) {
        bus.cast(host, "terminate_instance", { instanceUuid, requestId }, requestId);
      } else {
        store.tasks.add({ kind: "delete_local", instanceUuid, requestId });
      }
      return null;
    }),
    migrate_server: writes((params) => {
      // The next host's claim says where it goes; until then the host that gave it back has no part in it.
      const nowhere = { destCompute: null, destNode: null, destComputeId: null, destHost: null };
      store.migrations.save(params.migrationId, nowhere);
      store.tasks.add({ kind: "migrate_server", host: null, ...params });
      return null;
    }),
    online_data_migrations: writes(({ limit }) => [{ name: "migration_uuids", ...store.migrations.fillUuids(limit) }]),
    stop_instance: writes(({ instanceUuid }, { requestId }) => {
      const instance = store.instances.get(instanceUuid);
      if (!instance) {
        throw new InstanceNotFound(`instance ${instanceUuid} was not found`, { uuid: instanceUuid });
      }
      if (instance.host === null) {
        throw new ObjectActionError(`instance ${instanceUuid} is on no host: there is nothing to stop`, {
          uuid: instanceUuid,
        });
      }
      const changes = { taskState: "powering-off", taskRequestId: requestId } as const;
      store.instances.save(instanceUuid, changes, { expectedTaskState: [null] });
      const { projectId, userId } = instance;
      store.actions.start({ action: "stop", instanceUuid, requestId, userId, projectId });
      bus.cast(instance.host, "stop_instance", { instanceUuid, requestId }, requestId);
      return null;
    }),
    sync_instance_info: reads(({ host, instanceUuids }) => {
      instanceInfo.set(host, new Set(instanceUuids));
      return null;
    }),
    host_lease_holder: reads(({ host }) => leases.describe(host)),
    placement_access: waits(async () => placementAccess()),
  };
}
