import type { AgentMethod, AgentMethods } from "../../../conductor/methods/agent.js";
import type { ConductorMethod, ConductorMethods } from "../../../conductor/methods/conductor.js";
import type { ParamsOf, ResultOf } from "../../../conductor/methods/method.js";
import { MOST_CONSUMERS } from "../../../conductor/methods/operator.js";
import type { SessionMethod, SessionMethods } from "../../../conductor/methods/session.js";
import {
  amount,
  anyObject,
  type Field,
  flag,
  hostName,
  id,
  integer,
  LONG,
  LONGEST,
  listOf,
  name,
  nullable,
  type OptionalField,
  object,
  oneOf,
  optional,
  partial,
  text,
  uuid,
} from "../../../records/field.js";
import {
  ALLOCATIONS_BY_PROVIDER,
  COMPUTE_NODE_RESOURCES,
  DESTINATION_FAILURE,
  FLAVOR,
  INSTANCE,
  INSTANCE_CHANGES,
  MIGRATION,
  MIGRATION_CHANGES,
  RETRY_INFO,
  SELECTION,
} from "../../../records/index.js";

/** The parameters of each method, field by field. */
export type ParamsSchemas<T, M extends keyof T> = { readonly [K in M]: FieldsOf<ParamsOf<T, K>> };

/** One field for each of `T`; a field that `T` gains or loses, or that becomes optional, does not compile here. */
export type FieldsOf<T> = {
  readonly [K in keyof T]-?: Record<never, never> extends Pick<T, K>
    ? OptionalField<Exclude<T[K], undefined>>
    : Field<T[K]>;
};

const { taskState, vmState } = INSTANCE;
const { migrationType, status: migrationStatus } = MIGRATION;
const flavor = object(FLAVOR);
const instanceChanges = object(partial(INSTANCE_CHANGES));
const migrationChanges = object(partial(MIGRATION_CHANGES));
const selection = object(SELECTION);
const retryInfo = object(RETRY_INFO);
const allocationsByProvider = ALLOCATIONS_BY_PROVIDER;

const instanceFilters = object({
  uuids: optional(listOf(uuid)),
  host: optional(name),
  node: optional(name),
  deleted: optional(flag),
  softDeleted: optional(flag),
  cleaned: optional(flag),
  vmStates: optional(listOf(vmState)),
  taskStates: optional(listOf(taskState)),
});

const migrationFilters = object({
  sourceCompute: optional(name),
  destCompute: optional(name),
  host: optional(name),
  instanceUuid: optional(uuid),
  uuids: optional(listOf(uuid)),
  migrationTypes: optional(listOf(migrationType)),
  statuses: optional(listOf(migrationStatus)),
  readDeleted: optional(flag),
  updatedBefore: optional(id),
});

const result = oneOf(["Success", "Error"]);

export const CONDUCTOR_PARAMS: ParamsSchemas<ConductorMethods, ConductorMethod> = {
  service_get_by_host: { host: hostName, binary: name },
  service_create: { host: hostName, binary: name, topic: name, version: amount, enableNewServices: flag },
  service_update_version: { id, version: amount },
  service_report_state: { id },
  service_minimum_version: { binary: name },
  services_by_hypervisor_type: { hypervisorType: name },
  compute_nodes_by_host: { host: hostName },
  compute_nodes_by_uuids: { uuids: listOf(uuid) },
  compute_nodes_by_hypervisor_hostname: { hypervisorHostname: name },
  compute_node_get_by_uuid: { uuid },
  compute_node_get_by_host_and_node: { host: hostName, node: name },
  compute_node_create: {
    host: hostName,
    serviceId: id,
    uuid,
    hypervisorHostname: name,
    resources: object(COMPUTE_NODE_RESOURCES),
    exclusive: optional(flag),
  },
  compute_node_save: {
    id,
    changes: object(partial({ ...COMPUTE_NODE_RESOURCES, host: hostName, serviceId: id })),
    undelete: optional(flag),
  },
  compute_node_destroy: { id, host: hostName },
  instance_get: { uuid, readDeleted: optional(flag) },
  instances_by_host: { host: hostName },
  instances_by_host_and_node: { host: hostName, node: name },
  instances_by_filters: { filters: instanceFilters },
  instance_save: {
    uuid,
    changes: instanceChanges,
    expectedTaskState: optional(listOf(taskState)),
    expectedVmState: optional(listOf(vmState)),
    ofRequest: optional(name),
    expectedHost: optional(nullable(name)),
  },
  instance_destroy: { uuid, guardHostIsNull: optional(flag) },
  instance_add_fault: { uuid, code: amount, message: text(LONG), details: optional(text(LONGEST)), host: hostName },
  instance_action_event_start: { instanceUuid: uuid, event: name, host: hostName, requestId: name },
  instance_action_event_finish: {
    eventId: id,
    result,
    details: optional(text(LONGEST)),
    traceback: optional(text(LONGEST)),
  },
  instance_actions: { instanceUuid: uuid },
  migration_get: { id },
  migrations_by_filters: { filters: migrationFilters },
  migrations_in_progress: { host: hostName, node: name, includeError: optional(flag) },
  migration_create: { instanceUuid: uuid, migrationType, status: migrationStatus, changes: migrationChanges },
  migration_save: { id, changes: migrationChanges, expectedStatus: optional(listOf(migrationStatus)) },
  save_together: {
    instance: optional(
      object({
        uuid,
        changes: instanceChanges,
        expectedHost: optional(nullable(name)),
        expectedTaskState: optional(listOf(taskState)),
      }),
    ),
    migration: optional(object({ id, changes: migrationChanges, expectedStatus: optional(listOf(migrationStatus)) })),
  },
  build_instances: {
    instanceUuid: uuid,
    alternates: listOf(selection),
    retry: retryInfo,
    reason: text(LONG),
    requestId: name,
  },
  migrate_server: {
    instanceUuid: uuid,
    migrationId: id,
    flavor,
    alternates: listOf(selection),
    retry: retryInfo,
    failure: object(DESTINATION_FAILURE),
    requestId: name,
  },
  online_data_migrations: { limit: id },
  delete_instance: { instanceUuid: uuid },
  stop_instance: { instanceUuid: uuid },
  sync_instance_info: { host: hostName, instanceUuids: listOf(uuid) },
  host_lease_holder: { host: hostName },
  placement_access: {},
  instance_mapping: { uuid: name },
  instances_of_cell: {},
  consumers_under_way: { uuids: listOf(name, MOST_CONSUMERS) },
  host_aggregates: {},
  host_mapping: { host: hostName },
  ironic_compute_node_move: { node: name, host: hostName },
};

const instanceAndRequest = { instanceUuid: uuid, requestId: name };
const move = { ...instanceAndRequest, migrationId: id };

export const AGENT_PARAMS: ParamsSchemas<AgentMethods, AgentMethod> = {
  build_and_run_instance: {
    ...instanceAndRequest,
    allocations: allocationsByProvider,
    node: name,
    alternates: listOf(selection),
    retry: optional(retryInfo),
  },
  terminate_instance: instanceAndRequest,
  rebuild_instance: {
    ...instanceAndRequest,
    migrationId: nullable(id),
    onSharedStorage: nullable(flag),
    recreate: flag,
    node: name,
    imageRef: text(),
    targetStopped: flag,
  },
  set_host_enabled: { enabled: flag },
  check_instance_shared_storage: { instanceUuid: uuid, token: anyObject },
  start_instance: instanceAndRequest,
  stop_instance: instanceAndRequest,
  reboot_instance: { ...instanceAndRequest, type: oneOf(["SOFT", "HARD"]) },
  prep_resize: { ...move, flavor, node: name, alternates: listOf(selection), retry: optional(retryInfo) },
  resize_instance: move,
  finish_resize: { ...move, diskInfo: text(LONGEST) },
  confirm_resize: move,
  revert_resize: move,
  finish_revert_resize: move,
  check_can_live_migrate_destination: { ...move, blockMigration: nullable(flag), diskOverCommit: flag },
  check_can_live_migrate_source: { ...instanceAndRequest, data: anyObject },
  live_migration: { ...move, dest: name, blockMigration: nullable(flag), data: anyObject },
  pre_live_migration: { ...move, blockMigration: nullable(flag), data: anyObject },
  post_live_migration_at_destination: move,
  rollback_live_migration_at_destination: { ...move, destroyDisks: flag, data: anyObject },
  migration_ended: { instanceUuid: uuid, migrationId: id },
  live_migration_abort: move,
  live_migration_force_complete: move,
  pause_instance: instanceAndRequest,
  unpause_instance: instanceAndRequest,
  suspend_instance: instanceAndRequest,
  resume_instance: instanceAndRequest,
  rescue_instance: { ...instanceAndRequest, rescueImageRef: optional(text()) },
  unrescue_instance: instanceAndRequest,
  soft_delete_instance: instanceAndRequest,
  restore_instance: instanceAndRequest,
  shelve_instance: { ...instanceAndRequest, imageId: text() },
  shelve_offload_instance: instanceAndRequest,
  unshelve_instance: { ...instanceAndRequest, allocations: allocationsByProvider, node: name },
};

/** What agents may answer where it is not null: one of the values, or an object that only agents read. */
const AGENT_ANSWERS: { readonly [M in AgentMethod]?: readonly ResultOf<AgentMethods, M>[] | "object" } = {
  set_host_enabled: ["enabled", "disabled"],
  check_instance_shared_storage: [true, false],
  check_can_live_migrate_destination: "object",
  check_can_live_migrate_source: "object",
  pre_live_migration: "object",
};

/** Whether the value is an answer to the method at all. */
export function isAgentAnswer(method: AgentMethod, value: unknown): boolean {
  const allowed = AGENT_ANSWERS[method];
  if (allowed === undefined) {
    return value === null;
  }
  if (allowed === "object") {
    return typeof value === "object" && value !== null && !Array.isArray(value);
  }
  return allowed.some((answer) => answer === value);
}

const agentMethod = oneOf(Object.keys(AGENT_PARAMS) as AgentMethod[]);

export const SESSION_PARAMS: ParamsSchemas<SessionMethods, SessionMethod> = {
  session_hello: { protocol: amount, bootId: uuid, pid: amount, machine: name, version: name },
  session_ping: {},
  host_lease: { host: hostName, holderIsDead: optional(uuid) },
  host_release: { host: hostName },
  host_serve: { host: hostName },
  host_unserve: { host: hostName },
  // An hour: nobody waits longer, and a timer takes no more than 24 days.
  agent_call: { host: hostName, method: agentMethod, params: anyObject, timeout: integer(1, 3_600_000) },
  agent_cast: { host: hostName, method: agentMethod, params: anyObject },
};
