import type { Static } from "typebox";
import {
  amount,
  flag,
  hostName,
  id,
  LONG,
  LONGEST,
  listOf,
  name,
  nullable,
  object,
  oneOf,
  optional,
  partial,
  text,
  time,
  uuid,
} from "../../records/field.js";
import {
  BLOCK_DEVICE_CHANGES,
  type BlockDevice,
  COMPUTE_NODE_RESOURCES,
  type ComputeNode,
  INSTANCE,
  INSTANCE_CHANGES,
  type Instance,
  type InstanceAction,
  MIGRATION,
  MIGRATION_CHANGES,
  type Migration,
  type ServerGroup,
  type Service,
} from "../../records/index.js";
import { nothing, reads, trusted, writes } from "./method.js";

export type InstanceFilters = Readonly<Static<typeof instanceFilters>>;

export type MigrationFilters = Readonly<Static<typeof migrationFilters>>;

const instanceFilters = object({
  uuids: optional(listOf(uuid)),
  host: optional(name),
  node: optional(name),
  launchedOn: optional(name),
  deleted: optional(flag),
  /** With `deleted: true`: false excludes rows in vm_state soft-delete. */
  softDeleted: optional(flag),
  cleaned: optional(flag),
  vmStates: optional(listOf(INSTANCE.vmState)),
  taskStates: optional(listOf(INSTANCE.taskState)),
});

const migrationFilters = object({
  sourceCompute: optional(name),
  destCompute: optional(name),
  /** Source or destination. */
  host: optional(name),
  instanceUuid: optional(uuid),
  uuids: optional(listOf(uuid)),
  migrationTypes: optional(listOf(MIGRATION.migrationType)),
  statuses: optional(listOf(MIGRATION.status)),
  /** Includes rows of deleted instances. Default false. */
  readDeleted: optional(flag),
  /** Only rows updated (else created) before this time. */
  updatedBefore: optional(time),
});

const { migrationType, status } = MIGRATION;

const instanceChanges = object(partial(INSTANCE_CHANGES));

const blockDeviceChanges = object(partial(BLOCK_DEVICE_CHANGES));

const migrationChanges = object(partial(MIGRATION_CHANGES));

/** Compare-and-swap; null is allowed as a member. */
const expectedTaskState = optional(listOf(INSTANCE.taskState));

const expectedVmState = optional(listOf(INSTANCE.vmState));

const expectedHost = optional(nullable(name));

/** Compare-and-swap. */
const expectedStatus = optional(listOf(status));

const period = { begin: time, end: time };

/** A server group from the point of view of a host that has claimed a member. */
export interface GroupOnHost extends Pick<ServerGroup, "uuid" | "policy" | "maxServerPerHost"> {
  /** Other members that are on the host, or that an unfinished move brings to its node or removes from it. */
  readonly here: readonly string[];
  /** Hosts of other members of an affinity group. */
  readonly hosts: readonly string[];
}

/** Methods that read and write records. */
export const RECORD_METHODS = {
  // services
  service_get_by_host: reads({ host: hostName, binary: name }, trusted<Service | null>()),
  /** @throws ServiceTooOld, ServiceBinaryExists (then re-read: another process has created it) */
  service_create: writes(
    { host: hostName, binary: name, topic: name, version: amount, enableNewServices: flag },
    trusted<Service>(),
  ),
  /** @throws ServiceTooOld, ServiceNotFound */
  service_update_version: writes({ id, version: amount }, trusted<Service>()),
  /** Stores a heartbeat: reportCount + 1, lastSeenUp = now. @throws ServiceNotFound */
  service_report_state: writes({ id }, nothing),
  /** Disables the service with this reason; a disabled service keeps its own. @throws ServiceNotFound */
  service_disable: writes({ id, reason: text() }, trusted<Service>()),
  /** Returns the lowest version of all services of this binary; 0 if there is none. */
  service_minimum_version: reads({ binary: name }, trusted<number>()),
  /** Returns the nova-compute services that have a compute node of this type, by id, for the hash ring of ironic. */
  services_by_hypervisor_type: reads({ hypervisorType: name }, trusted<Service[]>()),

  // audits of usage
  /**
   * Records the beginning of the host's audit of the period; returns its number of instances, or null if it is already done.
   */
  usage_audit_begin: writes({ host: hostName, ...period }, trusted<number | null>()),
  usage_audit_end: writes({ host: hostName, ...period, errors: amount, message: text() }, nothing),

  // block devices
  /** Returns the block devices of an instance in the order of their creation, also of a deleted one until they are removed. */
  block_devices: reads({ instanceUuid: uuid }, trusted<BlockDevice[]>()),
  /** @throws BlockDeviceNotFound */
  block_device_save: writes({ uuid, changes: blockDeviceChanges }, trusted<BlockDevice>()),
  /** Removes a device; a missing one is no error. */
  block_device_destroy: writes({ uuid }, nothing),

  // compute nodes
  compute_nodes_by_host: reads({ host: hostName }, trusted<ComputeNode[]>()),
  /** Excludes deleted rows. */
  compute_nodes_by_uuids: reads({ uuids: listOf(uuid) }, trusted<ComputeNode[]>()),
  /** Excludes deleted rows; includes all hosts. For the ownership guard (spec 2.4 e, f). */
  compute_nodes_by_hypervisor_hostname: reads({ hypervisorHostname: name }, trusted<ComputeNode[]>()),
  /** Includes deleted rows. */
  compute_node_get_by_uuid: reads({ uuid }, trusted<ComputeNode | null>()),
  compute_node_get_by_host_and_node: reads({ host: hostName, node: name }, trusted<ComputeNode | null>()),
  /**
   * Updates and un-deletes a row of the same uuid, even a deleted one. `exclusive`: also rejected if another host has a node
   * of that name (spec 2.4 f), even if both hosts start at the same moment.
   * @throws DuplicateRecord on (host, hypervisorHostname); for an exclusive name with the other host as `takenBy`
   */
  compute_node_create: writes(
    {
      host: hostName,
      serviceId: id,
      uuid,
      hypervisorHostname: name,
      resources: object(COMPUTE_NODE_RESOURCES),
      exclusive: optional(flag),
    },
    trusted<ComputeNode>(),
  ),
  /** Also un-deletes the row if `undelete` is set. @throws ComputeHostNotFound */
  compute_node_save: writes(
    {
      id,
      changes: object(partial({ ...COMPUTE_NODE_RESOURCES, host: hostName, serviceId: id })),
      undelete: optional(flag),
    },
    trusted<ComputeNode>(),
  ),
  /**
   * Destroys the row only while its stored host is `host`. Returns false, without effect, if the host changed or the row is
   * gone.
   */
  compute_node_destroy: writes({ id, host: hostName }, trusted<boolean>()),

  // instances
  instance_get: reads({ uuid, readDeleted: optional(flag) }, trusted<Instance | null>()),
  /** Excludes deleted rows. */
  instances_by_host: reads({ host: hostName }, trusted<Instance[]>()),
  instances_by_host_and_node: reads({ host: hostName, node: name }, trusted<Instance[]>()),
  /** Includes deleted rows unless `deleted: false` is set (spec 1.1). */
  instances_by_filters: reads({ filters: instanceFilters }, trusted<Instance[]>()),
  /**
   * `ofRequest`: rejected if another request has set the present task_state.
   * @throws UnexpectedTaskState, UnexpectedDeletingTaskState, UnexpectedVmState, InstanceNotFound, ObjectActionError with
   * `reason: "host changed"` in its data
   */
  instance_save: writes(
    {
      uuid,
      changes: instanceChanges,
      expectedTaskState,
      expectedVmState,
      ofRequest: optional(name),
      expectedHost,
    },
    trusted<Instance>(),
  ),
  /**
   * Soft-deletes the row, and its migrations and request spec. `guardHostIsNull`: @throws ObjectActionError (`host changed`)
   */
  instance_destroy: writes({ uuid, guardHostIsNull: optional(flag) }, trusted<Instance>()),
  instance_add_fault: writes(
    { uuid, code: amount, message: text(LONG), details: optional(text(LONGEST)), host: hostName },
    nothing,
  ),
  /** Returns null if the instance has no action. After a restart, the event joins the newest action. */
  instance_action_event_start: writes(
    { instanceUuid: uuid, event: name, host: hostName, requestId: name },
    trusted<number | null>(),
  ),
  instance_action_event_finish: writes(
    {
      eventId: id,
      result: oneOf(["Success", "Error"]),
      details: optional(text(LONGEST)),
      traceback: optional(text(LONGEST)),
    },
    nothing,
  ),
  instance_actions: reads({ instanceUuid: uuid }, trusted<InstanceAction[]>()),
  /**
   * Returns whether a task of the conductor, or a message that the host has not accepted yet, is about the instance. With
   * `requestId`: whether there is such a message of that request.
   */
  instance_in_hand: reads({ uuid, host: hostName, requestId: optional(name) }, trusted<boolean>()),

  /**
   * Returns the instance's server group, and its other members that share a host with it (spec 6.9); null if it has none.
   */
  server_group_on_host: reads({ instanceUuid: uuid, host: hostName, node: name }, trusted<GroupOnHost | null>()),

  // migrations
  migration_get: reads({ id }, trusted<Migration | null>()),
  migrations_by_filters: reads({ filters: migrationFilters }, trusted<Migration[]>()),
  /** In progress on (host, node); with `includeError` also those in status `error` (spec 1.5). */
  migrations_in_progress: reads({ host: hostName, node: name, includeError: optional(flag) }, trusted<Migration[]>()),
  migration_create: writes(
    { instanceUuid: uuid, migrationType, status, changes: migrationChanges },
    trusted<Migration>(),
  ),
  /** @throws MigrationNotFound, InvalidMigrationState */
  migration_save: writes({ id, changes: migrationChanges, expectedStatus }, trusted<Migration>()),
  /**
   * Saves an instance and a migration (spec V20, V28, 6.3 row 6): all or nothing, in this order. `expectedHost` is checked
   * first: an instance on another host is not the caller's, whatever its task state. `ofRequest`: as in `instance_save`.
   * @throws ObjectActionError (`host changed`), and the errors of the single methods
   */
  save_together: writes(
    {
      instance: optional(
        object({
          uuid,
          changes: instanceChanges,
          expectedHost,
          expectedTaskState,
          expectedVmState,
          ofRequest: optional(name),
        }),
      ),
      migration: optional(object({ id, changes: migrationChanges, expectedStatus })),
    },
    trusted<{ instance: Instance | null; migration: Migration | null }>(),
  ),
};
