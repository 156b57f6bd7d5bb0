import type {
  ComputeNode,
  ComputeNodeResources,
  DestinationFailure,
  Flavor,
  Instance,
  InstanceAction,
  InstanceChanges,
  Migration,
  MigrationChanges,
  MigrationStatus,
  MigrationType,
  RetryInfo,
  Selection,
  Service,
  TaskState,
  VmState,
} from "../../records/index.js";
import type { Method } from "./method.js";
import type { OperatorMethods } from "./operator.js";
import type { LeaseHolder } from "./session.js";

/**
 * What an agent may ask of the conductor: method name → parameters and result. Names are Nova's.
 * Methods that write are exactly-once: a repeated request id answers what the first one answered, also after the
 * conductor was killed and restarted.
 */
export interface ConductorMethods extends OperatorMethods {
  // services
  service_get_by_host: Method<{ host: string; binary: string }, Service | null>;
  /** @throws ServiceTooOld, ServiceBinaryExists (then re-read: a sibling made it) */
  service_create: Method<
    { host: string; binary: string; topic: string; version: number; enableNewServices: boolean },
    Service
  >;
  /** @throws ServiceTooOld, ServiceNotFound */
  service_update_version: Method<{ id: number; version: number }, Service>;
  /** A heartbeat: reportCount + 1, lastSeenUp = now. @throws ServiceNotFound */
  service_report_state: Method<{ id: number }, Service>;
  /** Lowest version of all nova-compute services; 0 when there is none. */
  service_minimum_version: Method<{ binary: string }, number>;

  /** nova-compute services, by id, that have an alive compute node of this type: for the hash ring of ironic. */
  services_by_hypervisor_type: Method<{ hypervisorType: string }, Service[]>;

  // compute nodes
  compute_nodes_by_host: Method<{ host: string }, ComputeNode[]>;
  /** Alive ones only. */
  compute_nodes_by_uuids: Method<{ uuids: readonly string[] }, ComputeNode[]>;
  /** Alive ones of any host; for the ownership guard (spec 2.4 e, f). */
  compute_nodes_by_hypervisor_hostname: Method<{ hypervisorHostname: string }, ComputeNode[]>;
  /** Deleted rows included. */
  compute_node_get_by_uuid: Method<{ uuid: string }, ComputeNode | null>;
  compute_node_get_by_host_and_node: Method<{ host: string; node: string }, ComputeNode | null>;
  /**
   * A row of the same uuid, even deleted, is updated and un-deleted. `exclusive`: refused too when another host has a node of
   * that name (spec 2.4 f, also for hosts that start at the same moment).
   * @throws DuplicateRecord on (host, hypervisorHostname); of an exclusive name with the other host as `takenBy`
   */
  compute_node_create: Method<
    {
      host: string;
      serviceId: number;
      uuid: string;
      hypervisorHostname: string;
      resources: ComputeNodeResources;
      exclusive?: boolean;
    },
    ComputeNode
  >;
  /** Un-deletes too, when `undelete`. @throws ComputeHostNotFound */
  compute_node_save: Method<
    { id: number; changes: Partial<ComputeNodeResources & { host: string; serviceId: number }>; undelete?: boolean },
    ComputeNode
  >;
  /** Guarded: only where the stored host still is `host`. False: it changed, or the row is gone; nothing was done. */
  compute_node_destroy: Method<{ id: number; host: string }, boolean>;

  // instances
  instance_get: Method<{ uuid: string; readDeleted?: boolean }, Instance | null>;
  /** Not deleted, host equal. */
  instances_by_host: Method<{ host: string }, Instance[]>;
  instances_by_host_and_node: Method<{ host: string; node: string }, Instance[]>;
  /** Deleted rows too unless `deleted: false` is given (spec 1.1). */
  instances_by_filters: Method<{ filters: InstanceFilters }, Instance[]>;
  /**
   * Compare-and-swap when `expectedTaskState` is given (null allowed as a member), or another expectation.
   * @throws UnexpectedTaskState, UnexpectedDeletingTaskState, UnexpectedVmState, InstanceNotFound, ObjectActionError with
   * `reason: "host changed"` in its data
   */
  instance_save: Method<
    {
      uuid: string;
      changes: InstanceChanges;
      expectedTaskState?: readonly (TaskState | null)[];
      expectedVmState?: readonly VmState[];
      /** Refused when another request has set the present task_state. */
      ofRequest?: string;
      expectedHost?: string | null;
    },
    Instance
  >;
  /** Soft-deletes the row, and its migrations and request spec. `guardHostIsNull`: @throws ObjectActionError (`host changed`) */
  instance_destroy: Method<{ uuid: string; guardHostIsNull?: boolean }, Instance>;
  instance_add_fault: Method<{ uuid: string; code: number; message: string; details?: string; host: string }, null>;
  /** Null when the instance has no action: after a restart the event joins the newest one. */
  instance_action_event_start: Method<
    { instanceUuid: string; event: string; host: string; requestId: string },
    number | null
  >;
  instance_action_event_finish: Method<
    { eventId: number; result: "Success" | "Error"; details?: string; traceback?: string },
    null
  >;
  instance_actions: Method<{ instanceUuid: string }, InstanceAction[]>;

  // migrations
  migration_get: Method<{ id: number }, Migration | null>;
  migrations_by_filters: Method<{ filters: MigrationFilters }, Migration[]>;
  /** In progress on (host, node), and with `includeError` those in status `error` too (spec 1.5). */
  migrations_in_progress: Method<{ host: string; node: string; includeError?: boolean }, Migration[]>;
  migration_create: Method<
    {
      instanceUuid: string;
      migrationType: MigrationType;
      status: MigrationStatus;
      changes: MigrationChanges;
    },
    Migration
  >;
  /** `expectedStatus`: compare-and-swap. @throws MigrationNotFound, InvalidMigrationState */
  migration_save: Method<
    { id: number; changes: MigrationChanges; expectedStatus?: readonly MigrationStatus[] },
    Migration
  >;
  /**
   * Writes that belong together (spec V20, V28, 6.3 row 6): all or none, in this order. `expectedHost` is looked at first: an
   * instance that is elsewhere is not the caller's, whatever its task state.
   * @throws ObjectActionError (`host changed`), and what the single methods throw
   */
  save_together: Method<
    {
      instance?: {
        uuid: string;
        changes: InstanceChanges;
        expectedTaskState?: readonly (TaskState | null)[];
        expectedHost?: string | null;
      };
      migration?: { id: number; changes: MigrationChanges; expectedStatus?: readonly MigrationStatus[] };
    },
    { instance: Instance | null; migration: Migration | null }
  >;

  // continuations
  /** An agent could not build: the conductor tries the next alternate, or sets the instance to error (spec 6.1). */
  build_instances: Method<
    { instanceUuid: string; alternates: readonly Selection[]; retry: RetryInfo; reason: string; requestId: string },
    null
  >;
  /** A delete that reached a host which has not got the instance: it is carried out where that is now, or without any host. */
  delete_instance: Method<{ instanceUuid: string }, null>;
  /** A destination could not prepare a resize and has given its claim back: the next alternate (spec 6.3 row 4). */
  migrate_server: Method<
    {
      instanceUuid: string;
      migrationId: number;
      /** The new one. */
      flavor: Flavor;
      alternates: readonly Selection[];
      retry: RetryInfo;
      failure: DestinationFailure;
      requestId: string;
    },
    null
  >;
  /** Gives records of older releases what newer ones need, at most `limit` of each kind. */
  online_data_migrations: Method<{ limit: number }, OnlineDataMigration[]>;
  /** The operator's stop and start, for power-state sync and lifecycle (spec 4.10). */
  stop_instance: Method<{ instanceUuid: string }, null>;

  // scheduler, aggregates
  sync_instance_info: Method<{ host: string; instanceUuids: readonly string[] }, null>;

  /** The holder of a host's lease (spec 2.4 G6); null: nobody, or a boot that is gone and whose lease has run out. */
  host_lease_holder: Method<{ host: string }, LeaseHolder | null>;

  // identity
  /** A token with role `service` for Placement, and where that is; for agents without a `[placement]` section of their own. */
  placement_access: Method<Record<string, never>, { endpoint: string; token: string; expiresAt: number }>;
}

/** One kind of migration: how many records needed it, and how many have been migrated now. */
export interface OnlineDataMigration {
  readonly name: string;
  readonly needed: number;
  readonly completed: number;
}

export interface InstanceFilters {
  readonly uuids?: readonly string[];
  readonly host?: string;
  readonly node?: string;
  readonly deleted?: boolean;
  /** With `deleted: true`: false leaves out rows in vm_state soft-delete. */
  readonly softDeleted?: boolean;
  readonly cleaned?: boolean;
  readonly vmStates?: readonly VmState[];
  readonly taskStates?: readonly (TaskState | null)[];
}

export interface MigrationFilters {
  readonly sourceCompute?: string;
  readonly destCompute?: string;
  /** Source or destination. */
  readonly host?: string;
  readonly instanceUuid?: string;
  readonly uuids?: readonly string[];
  readonly migrationTypes?: readonly MigrationType[];
  readonly statuses?: readonly MigrationStatus[];
  /** Rows of deleted instances too. Default false. */
  readonly readDeleted?: boolean;
  /** Only rows updated (else created) before this time, ms. */
  readonly updatedBefore?: number;
}

export type ConductorMethod = keyof ConductorMethods;
