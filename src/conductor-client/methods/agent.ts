import {
  anyObject,
  type Field,
  flag,
  id,
  integer,
  LONGEST,
  listOf,
  MAX_INTEGER,
  name,
  nullable,
  object,
  oneOf,
  optional,
  type RecordOf,
  text,
  uuid,
} from "../../records/field.js";
import {
  ALLOCATIONS_BY_PROVIDER,
  type AllocationsByProvider,
  FLAVOR,
  guestDiagnostics,
  hypervisorGuest,
  RETRY_INFO,
  SELECTION,
} from "../../records/index.js";
import { call, cast, castOrCall, type MethodsOf, type NamesOfKind, nothing } from "./method.js";

/** Data that the two drivers of a live migration exchange; JSON that only they interpret (spec 6.5 row 4). */
export type LiveMigrateData = Readonly<Record<string, unknown>>;

const ofInstance = { instanceUuid: uuid, requestId: name };
/** Parameters of a message about a move; everything else is in the state of record. */
const ofMove = { ...ofInstance, migrationId: id };

/** Parameters of a message about an instance. */
export type InstanceParams = RecordOf<typeof ofInstance>;

const flavor = object(FLAVOR);
const alternates = listOf(object(SELECTION));
/** Absent: no reschedule. */
const retry = optional(object(RETRY_INFO));
/** Allocations by provider; if null, the sender does not have them, and the agent reads them from Placement. */
const allocations = nullable(ALLOCATIONS_BY_PROVIDER as unknown as Field<AllocationsByProvider>);
/** The requested block migration; null lets the destination decide. */
const blockMigration = nullable(flag);
const liveMigrateData = anyObject;

/**
 * Requirements of the instance that this host cannot provide, as text for users: it is rejected here. Absent if there are
 * none.
 */
const unservable = optional(text());

/**
 * The server group of the instance, whose policy the destination checks after its claim (spec 6.9). Absent if there is none.
 */
const serverGroup = optional(uuid);

/** Methods of an agent, called by the conductor or (through it) by another agent. Names are Nova's. */
export const AGENT_METHODS = {
  /**
   * Spec 6.1 rows 4-7. `allocations`: the instance's allocations in Placement; `node`: the destination that was claimed for
   * it.
   */
  build_and_run_instance: cast({
    ...ofInstance,
    allocations,
    node: name,
    alternates,
    retry,
    serverGroup,
    /** If present, the instance is not built on another host either. */
    unservable,
  }),
  /** Spec 6.2. */
  terminate_instance: cast(ofInstance),
  /** With a migration of type evacuation: spec 6.7 rows 3-6; without: a rebuild in place. */
  rebuild_instance: cast({
    ...ofInstance,
    migrationId: nullable(id),
    /** Set by APIs before 2.14 only. */
    onSharedStorage: nullable(flag),
    recreate: flag,
    node: name,
    imageRef: text(),
    /** Present for a volume-backed server with another image: its root volume gets the data of `imageRef`. */
    reimageBootVolume: optional(flag),
    /** API ≥ 2.95: the guest is left stopped unless the instance was in error. */
    targetStopped: flag,
    serverGroup,
    unservable,
  }),
  /** Spec 2.5. */
  set_host_enabled: call({ enabled: flag }, oneOf(["enabled", "disabled"])),
  /** For users: the guests of the host's driver, since not every hypervisor can be inspected externally. */
  list_guests: call({}, listOf(hypervisorGuest)),
  /** For users: read-only reports about the host and about a guest on it (spec 6.10). */
  get_host_uptime: call({}, text()),
  /** `tailLength`: lines from the end; null: all of them. */
  get_console_output: call({ ...ofInstance, tailLength: nullable(integer(-MAX_INTEGER, MAX_INTEGER)) }, text(LONGEST)),
  get_diagnostics: call(ofInstance, anyObject),
  get_instance_diagnostics: call(ofInstance, guestDiagnostics),
  /** Agent to agent; spec 3.3. */
  check_instance_shared_storage: call({ instanceUuid: uuid, token: anyObject }, flag),
  start_instance: cast(ofInstance),
  stop_instance: cast(ofInstance),
  reboot_instance: cast({ ...ofInstance, type: oneOf(["SOFT", "HARD"]) }),

  /** To the destination (spec 6.3 row 4), which is `node`. `flavor`: the new one; in a cold migration the instance's own. */
  prep_resize: cast({ ...ofMove, flavor, node: name, alternates, retry, serverGroup, unservable }),
  /** To the source (spec 6.3 rows 5, 6). */
  resize_instance: cast(ofMove),
  /** To the destination (spec 6.3 row 7). `diskInfo`: the result of the source's driver. */
  finish_resize: cast({ ...ofMove, diskInfo: text(LONGEST) }),
  /** To the source: cast, or called by a task that then deletes the server and must know whether it failed (spec 6.2). */
  confirm_resize: castOrCall(ofMove),
  /** To the destination, which casts finish_revert_resize to the source. */
  revert_resize: cast(ofMove),
  finish_revert_resize: cast(ofMove),

  /** To the destination, which calls the source (spec 6.5 row 4). */
  check_can_live_migrate_destination: call(
    { ...ofMove, blockMigration, diskOverCommit: flag, unservable },
    liveMigrateData,
  ),
  check_can_live_migrate_source: call({ ...ofInstance, data: liveMigrateData }, liveMigrateData),
  /** To the source (spec 6.5 rows 5-9). */
  live_migration: cast({ ...ofMove, dest: name, blockMigration, data: liveMigrateData }),
  /** To the destination (spec 6.5 row 6). */
  pre_live_migration: call({ ...ofMove, blockMigration, data: liveMigrateData }, liveMigrateData),
  /** To the destination (spec 6.5 row 8). */
  post_live_migration_at_destination: call(ofMove, nothing),
  /**
   * `guestGoes`: also removes a guest that is running there, since the instance was rebuilt elsewhere, or runs on the
   * source.
   */
  rollback_live_migration_at_destination: castOrCall({
    ...ofMove,
    destroyDisks: flag,
    data: liveMigrateData,
    guestGoes: optional(flag),
  }),
  /**
   * From the conductor to the destination of a resize, cold or live migration: the migration's status is final, or its
   * instance is deleted, so the guest is no longer needed (spec 2.8).
   */
  migration_ended: call({ instanceUuid: uuid, migrationId: id }, nothing),
  /** An event of the network service about an instance, sent to each host that is involved (spec 8.6). */
  external_instance_event: cast({
    instanceUuid: uuid,
    events: listOf(object({ name: text(), tag: nullable(text()), status: text() })),
  }),
  /** To the source. */
  live_migration_abort: cast(ofMove),
  live_migration_force_complete: cast(ofMove),

  /**
   * Chooses name and bus of a device that is about to be attached, under the lock of its server. Returns the device's name.
   * The record `blockDeviceUuid` exists.
   */
  reserve_block_device_name: call({ ...ofInstance, blockDeviceUuid: uuid }, text()),
  /** Attaches the volume of a device whose attachment is reserved. After a failure, device and attachment are removed. */
  attach_volume: cast({ ...ofInstance, blockDeviceUuid: uuid }),
  /** Detaches the volume of a device, and removes its attachment and its record. The volume stays. */
  detach_volume: cast({ ...ofInstance, blockDeviceUuid: uuid }),
  /** Replaces the volume of a device by another one, to which `newAttachmentId` is reserved. */
  swap_volume: cast({ ...ofInstance, blockDeviceUuid: uuid, newVolumeId: uuid, newAttachmentId: uuid }),

  /** The operator's other operations (spec 6.6). */
  pause_instance: cast(ofInstance),
  unpause_instance: cast(ofInstance),
  suspend_instance: cast(ofInstance),
  resume_instance: cast(ofInstance),
  /** `rescueImageRef`: absent for the instance's own image. */
  rescue_instance: cast({ ...ofInstance, rescueImageRef: optional(text()) }),
  unrescue_instance: cast(ofInstance),
  /** `newPass`: the new password of the guest's administrator; it is never saved. */
  set_admin_password: call({ ...ofInstance, newPass: text() }, nothing),
  soft_delete_instance: cast(ofInstance),
  restore_instance: cast(ofInstance),
  /** `imageId`: the image in which the snapshot is stored. */
  snapshot_instance: cast({ ...ofInstance, imageId: text() }),
  shelve_instance: cast({ ...ofInstance, imageId: text() }),
  shelve_offload_instance: cast(ofInstance),
  /** To the destination that was claimed. */
  unshelve_instance: cast({ ...ofInstance, allocations, node: name, serverGroup, unservable }),
};

export type AgentMethods = MethodsOf<typeof AGENT_METHODS>;
export type AgentMethod = keyof AgentMethods;
/** Methods without a result that a caller must wait for. */
export type AgentCast = NamesOfKind<typeof AGENT_METHODS, "cast" | "castOrCall">;
/** Methods with a result. */
export type AgentCall = NamesOfKind<typeof AGENT_METHODS, "call" | "castOrCall">;
