import type { ConductorMethods } from "../../../conductor/methods/conductor.js";
import type { OperatorMethods } from "../../../conductor/methods/operator.js";
import type { Store } from "../../store/store.js";
import { type MethodTable, reads, writes } from "./method-table.js";

/** Nova's text for a service that starts disabled because `enable_new_services` is false. */
const NEW_SERVICE_DISABLED = "New compute service disabled due to config option.";

type RecordMethod = Exclude<
  keyof ConductorMethods,
  | keyof OperatorMethods
  | "build_instances"
  | "delete_instance"
  | "migrate_server"
  | "online_data_migrations"
  | "stop_instance"
  | "sync_instance_info"
  | "host_lease_holder"
  | "placement_access"
>;

/** The methods that read and write records, each by one method of the store. */
export function recordMethods(store: Store): MethodTable<ConductorMethods, RecordMethod> {
  const { services, computeNodes, instances, migrations, actions } = store;
  return {
    service_get_by_host: reads(({ host, binary }) => services.getByHost(host, binary)),
    service_create: writes(({ enableNewServices, ...service }) => {
      const disabled = !enableNewServices && service.binary === "nova-compute";
      return services.create({ ...service, disabled, disabledReason: disabled ? NEW_SERVICE_DISABLED : null });
    }),
    service_update_version: writes(({ id, version }) => services.update(id, { version })),
    service_report_state: writes(({ id }) => services.reportState(id)),
    service_minimum_version: reads(({ binary }) => services.minimumVersion(binary)),
    services_by_hypervisor_type: reads(({ hypervisorType }) => {
      const hosts = new Set(computeNodes.hostsOfType(hypervisorType));
      return services.list({ binary: "nova-compute" }).filter(({ host }) => hosts.has(host));
    }),

    compute_nodes_by_host: reads(({ host }) => computeNodes.byHost(host)),
    compute_nodes_by_uuids: reads(({ uuids }) => computeNodes.byUuids(uuids)),
    compute_nodes_by_hypervisor_hostname: reads(({ hypervisorHostname }) =>
      computeNodes.byHypervisorHostname(hypervisorHostname),
    ),
    compute_node_get_by_uuid: reads(({ uuid }) => computeNodes.getByUuid(uuid, { readDeleted: true })),
    compute_node_get_by_host_and_node: reads(({ host, node }) => computeNodes.getByHostAndNode(host, node)),
    compute_node_create: writes(({ exclusive = false, ...node }) => computeNodes.create(node, { exclusive })),
    compute_node_save: writes(({ id, changes, undelete = false }) => computeNodes.save(id, changes, { undelete })),
    compute_node_destroy: writes(({ id, host }) => computeNodes.destroy(id, host)),

    instance_get: reads(({ uuid, readDeleted = false }) => instances.get(uuid, { readDeleted })),
    instances_by_host: reads(({ host }) => instances.byHost(host)),
    instances_by_host_and_node: reads(({ host, node }) => instances.byHostAndNode(host, node)),
    instances_by_filters: reads(({ filters }) => instances.byFilters(filters)),
    instance_save: writes(({ uuid, changes, ...expected }) => instances.save(uuid, changes, expected)),
    instance_destroy: writes(({ uuid, guardHostIsNull = false }) => instances.destroy(uuid, { guardHostIsNull })),
    instance_add_fault: writes(({ uuid, details = null, ...fault }) => {
      instances.addFault({ ...fault, instanceUuid: uuid, details });
      return null;
    }),
    instance_action_event_start: writes((event) => actions.startEvent(event)),
    instance_action_event_finish: writes(({ eventId, ...outcome }) => {
      actions.finishEvent(eventId, outcome);
      return null;
    }),
    instance_actions: reads(({ instanceUuid }) => actions.list(instanceUuid)),

    migration_get: reads(({ id }) => migrations.get(id)),
    migrations_by_filters: reads(({ filters }) => migrations.byFilters(filters)),
    migrations_in_progress: reads(({ host, node, includeError = false }) =>
      migrations.inProgress(host, node, { includeError }),
    ),
    migration_create: writes((migration) => migrations.create(migration)),
    migration_save: writes(({ id, changes, ...expected }) => migrations.save(id, changes, expected)),
    save_together: writes(({ instance, migration }) => {
      const { uuid = "", changes, ...expected } = instance ?? {};
      const saved = changes ? instances.save(uuid, changes, expected) : null;
      if (!migration) {
        return { instance: saved, migration: null };
      }
      const { id, changes: moves, ...status } = migration;
      const moved = migrations.save(id, moves, status);
      // Read again: a move that ends takes its context from the instance.
      return { instance: saved && instances.get(uuid, { readDeleted: true }), migration: moved };
    }),
  };
}
