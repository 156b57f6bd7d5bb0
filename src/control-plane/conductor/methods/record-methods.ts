import type { GroupOnHost, RECORD_METHODS } from "../../../conductor-client/methods/records.js";
import { FINAL_MIGRATION_STATUSES } from "../../../records/index.js";
import type { Store } from "../../store/store.js";
import type { HandlersOf } from "../dispatcher.js";

/** Nova's reason for services that start disabled because `enable_new_services` is false. */
const NEW_SERVICE_DISABLED = "New compute service disabled due to config option.";

/** Creates the methods that read and write records; each calls one method of the store. */
export function recordMethods(store: Store): HandlersOf<typeof RECORD_METHODS> {
  const { services, computeNodes, instances, blockDevices, migrations, actions, messages, tasks, taskLogs } = store;
  return {
    service_get_by_host: ({ host, binary }) => services.getByHost(host, binary),
    service_create: ({ enableNewServices, ...service }) => {
      const disabled = !enableNewServices && service.binary === "nova-compute";
      return services.create({ ...service, disabled, disabledReason: disabled ? NEW_SERVICE_DISABLED : null });
    },
    service_update_version: ({ id, version }) => services.update(id, { version }),
    service_report_state: ({ id }) => {
      services.reportState(id);
      return null;
    },
    service_disable: ({ id, reason }) => services.disable(id, reason),
    service_minimum_version: ({ binary }) => services.minimumVersion(binary),
    services_by_hypervisor_type: ({ hypervisorType }) => {
      const hosts = new Set(computeNodes.hostsOfType(hypervisorType));
      return services.list({ binary: "nova-compute" }).filter(({ host }) => hosts.has(host));
    },

    usage_audit_begin: ({ host, ...period }) => taskLogs.begin(host, period),
    usage_audit_end: ({ host, begin, end, ...outcome }) => {
      taskLogs.end(host, { begin, end }, outcome);
      return null;
    },

    block_devices: ({ instanceUuid }) => [...blockDevices.ofInstance(instanceUuid)],
    block_device_save: ({ uuid, changes }) => blockDevices.save(uuid, changes),
    block_device_destroy: ({ uuid }) => {
      blockDevices.destroy(uuid);
      return null;
    },

    compute_nodes_by_host: ({ host }) => computeNodes.byHost(host),
    compute_nodes_by_uuids: ({ uuids }) => computeNodes.byUuids(uuids),
    compute_nodes_by_hypervisor_hostname: ({ hypervisorHostname }) =>
      computeNodes.byHypervisorHostname(hypervisorHostname),
    compute_node_get_by_uuid: ({ uuid }) => computeNodes.getByUuid(uuid, { readDeleted: true }),
    compute_node_get_by_host_and_node: ({ host, node }) => computeNodes.getByHostAndNode(host, node),
    compute_node_create: ({ exclusive = false, ...node }) => computeNodes.create(node, { exclusive }),
    compute_node_save: ({ id, changes, undelete = false }) => computeNodes.save(id, changes, { undelete }),
    compute_node_destroy: ({ id, host }) => computeNodes.destroy(id, host),

    instance_get: ({ uuid, readDeleted = false }) => instances.get(uuid, { readDeleted }),
    instances_by_host: ({ host }) => instances.byHost(host),
    instances_by_host_and_node: ({ host, node }) => instances.byHostAndNode(host, node),
    instances_by_filters: ({ filters }) => instances.byFilters(filters),
    instance_save: ({ uuid, changes, ...expected }) => instances.save(uuid, changes, expected),
    instance_destroy: ({ uuid, guardHostIsNull = false }) => instances.destroy(uuid, { guardHostIsNull }),
    instance_add_fault: ({ uuid, details = null, ...fault }) => {
      instances.addFault({ ...fault, instanceUuid: uuid, details });
      return null;
    },
    instance_action_event_start: (event) => actions.startEvent(event),
    instance_action_event_finish: ({ eventId, ...outcome }) => {
      actions.finishEvent(eventId, outcome);
      return null;
    },
    instance_actions: ({ instanceUuid }) => actions.list(instanceUuid),
    instance_in_hand: ({ uuid, host, requestId }) =>
      messages.isPending(host, uuid, requestId) || (requestId === undefined && tasks.ofInstance(uuid).length > 0),

    server_group_on_host: ({ instanceUuid, host, node }) => groupOnHost(store, instanceUuid, host, node),

    migration_get: ({ id }) => migrations.get(id),
    migrations_by_filters: ({ filters }) => migrations.byFilters(filters),
    migrations_in_progress: ({ host, node, includeError = false }) =>
      migrations.inProgress(host, node, { includeError }),
    migration_create: (migration) => migrations.create(migration),
    migration_save: ({ id, changes, ...expected }) => migrations.save(id, changes, expected),
    save_together: ({ instance, migration }) => {
      const { uuid = "", changes, ...expected } = instance ?? {};
      const saved = changes ? instances.save(uuid, changes, expected) : null;
      if (!migration) {
        return { instance: saved, migration: null };
      }
      const { id, changes: moves, ...status } = migration;
      const moved = migrations.save(id, moves, status);
      // The end of a move removes its migration context from the instance, so read the instance again.
      const takes = saved !== null && FINAL_MIGRATION_STATUSES.includes(moved.status);
      return { instance: takes ? instances.get(uuid, { readDeleted: true }) : saved, migration: moved };
    },
  };
}

/** Returns the data of the instance's server group for a destination (spec 6.9 row 5); null if it has no group. */
function groupOnHost(
  { serverGroups, migrations }: Store,
  instanceUuid: string,
  host: string,
  node: string,
): GroupOnHost | null {
  const group = serverGroups.ofInstance(instanceUuid);
  if (group === null) {
    return null;
  }
  const { uuid, policy, maxServerPerHost } = group;
  const moving = new Set(migrations.inProgress(host, node).map((migration) => migration.instanceUuid));
  const others = serverGroups.places(group.id).filter((member) => member.instanceUuid !== instanceUuid);
  const here = others.filter((member) => member.host === host || moving.has(member.instanceUuid));
  const hosts = new Set(others.flatMap((member) => member.host ?? []));
  return {
    uuid,
    policy,
    maxServerPerHost,
    here: here.map((member) => member.instanceUuid),
    hosts: policy === "affinity" ? [...hosts] : [],
  };
}
