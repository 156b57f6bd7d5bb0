import type { AllocationsByProvider, Flavor, RetryInfo, Selection } from "../../records/index.js";
import type { Method } from "./method.js";

/** What the two drivers of a live migration tell each other; JSON that only they read (spec 6.5 row 4). */
export type LiveMigrateData = Readonly<Record<string, unknown>>;

/** One message of a move: everything else is in the state of record. */
export interface MoveParams {
  readonly instanceUuid: string;
  readonly migrationId: number;
  readonly requestId: string;
}

/** One message about an instance. */
export interface InstanceParams {
  readonly instanceUuid: string;
  readonly requestId: string;
}

/**
 * What may be asked of an agent, by the conductor or (through it) by another agent. Names are Nova's.
 * Casts are kept until the agent has taken them and are handed over once; calls need a live agent.
 */
export interface AgentMethods {
  /** Cast (spec 6.1 rows 4-7). */
  build_and_run_instance: Method<
    {
      instanceUuid: string;
      /** What the instance holds in Placement. */
      allocations: AllocationsByProvider;
      /** The destination that was claimed for it. */
      node: string;
      alternates: readonly Selection[];
      /** Absent: no reschedule. */
      retry?: RetryInfo;
      requestId: string;
    },
    null
  >;
  /** Cast (spec 6.2). */
  terminate_instance: Method<{ instanceUuid: string; requestId: string }, null>;
  /** Cast. With a migration of type evacuation: spec 6.7 rows 3-6; without: a rebuild in place. */
  rebuild_instance: Method<
    {
      instanceUuid: string;
      migrationId: number | null;
      /** Given by APIs before 2.14 only. */
      onSharedStorage: boolean | null;
      recreate: boolean;
      node: string;
      imageRef: string;
      /** API ≥ 2.95: the guest is left stopped unless the instance was in error. */
      targetStopped: boolean;
      requestId: string;
    },
    null
  >;
  /** Call; spec 2.5. */
  set_host_enabled: Method<{ enabled: boolean }, "enabled" | "disabled">;
  /** Call, agent to agent; spec 3.3. */
  check_instance_shared_storage: Method<{ instanceUuid: string; token: Readonly<Record<string, unknown>> }, boolean>;
  /** Casts of the operator's power operations. */
  start_instance: Method<{ instanceUuid: string; requestId: string }, null>;
  stop_instance: Method<{ instanceUuid: string; requestId: string }, null>;
  reboot_instance: Method<{ instanceUuid: string; type: "SOFT" | "HARD"; requestId: string }, null>;

  /** Cast to the destination (spec 6.3 row 4). */
  prep_resize: Method<
    MoveParams & {
      /** The new one; a cold migration's is the instance's own. */
      readonly flavor: Flavor;
      /** The destination that was claimed. */
      readonly node: string;
      readonly alternates: readonly Selection[];
      /** Absent: no reschedule. */
      readonly retry?: RetryInfo;
    },
    null
  >;
  /** Cast to the source (spec 6.3 rows 5, 6). */
  resize_instance: Method<MoveParams, null>;
  /** Cast to the destination (spec 6.3 row 7). `diskInfo` is what the source's driver answered. */
  finish_resize: Method<MoveParams & { readonly diskInfo: string }, null>;
  /** To the source: cast, or called by an API that deletes the server afterwards (spec 6.2). */
  confirm_resize: Method<MoveParams, null>;
  /** Cast to the destination, which casts finish_revert_resize to the source. */
  revert_resize: Method<MoveParams, null>;
  finish_revert_resize: Method<MoveParams, null>;

  /** Call to the destination, which calls the source (spec 6.5 row 4). */
  check_can_live_migrate_destination: Method<
    MoveParams & {
      /** Null: the destination finds out. */
      readonly blockMigration: boolean | null;
      readonly diskOverCommit: boolean;
    },
    LiveMigrateData
  >;
  check_can_live_migrate_source: Method<InstanceParams & { readonly data: LiveMigrateData }, LiveMigrateData>;
  /** Cast to the source (spec 6.5 rows 5-9). */
  live_migration: Method<
    MoveParams & { readonly dest: string; readonly blockMigration: boolean | null; readonly data: LiveMigrateData },
    null
  >;
  /** Call to the destination (spec 6.5 row 6). */
  pre_live_migration: Method<
    MoveParams & { readonly blockMigration: boolean | null; readonly data: LiveMigrateData },
    LiveMigrateData
  >;
  /** Call to the destination (spec 6.5 row 8). */
  post_live_migration_at_destination: Method<MoveParams, null>;
  rollback_live_migration_at_destination: Method<
    MoveParams & { readonly destroyDisks: boolean; readonly data: LiveMigrateData },
    null
  >;
  /**
   * Call of the conductor to the destination of a resize, cold or live migration: its status is final, or its instance is
   * deleted, so that nobody waits for the guest any more (spec 2.8). Nothing is kept for an agent that does not serve.
   */
  migration_ended: Method<{ readonly instanceUuid: string; readonly migrationId: number }, null>;
  /** Casts to the source. */
  live_migration_abort: Method<MoveParams, null>;
  live_migration_force_complete: Method<MoveParams, null>;

  /** Casts of the operator's other operations (spec 6.6). */
  pause_instance: Method<InstanceParams, null>;
  unpause_instance: Method<InstanceParams, null>;
  suspend_instance: Method<InstanceParams, null>;
  resume_instance: Method<InstanceParams, null>;
  rescue_instance: Method<
    InstanceParams & {
      /** Absent: the instance's own image. */
      readonly rescueImageRef?: string;
    },
    null
  >;
  unrescue_instance: Method<InstanceParams, null>;
  soft_delete_instance: Method<InstanceParams, null>;
  restore_instance: Method<InstanceParams, null>;
  /** `imageId` is where the snapshot goes. */
  shelve_instance: Method<InstanceParams & { readonly imageId: string }, null>;
  shelve_offload_instance: Method<InstanceParams, null>;
  /** To the destination that was claimed. */
  unshelve_instance: Method<
    InstanceParams & { readonly allocations: AllocationsByProvider; readonly node: string },
    null
  >;
}

export type AgentMethod = keyof AgentMethods;
