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

/** What the two drivers of a live migration tell each other; JSON that only they read (spec 6.5 row 4). */
export type LiveMigrateData = Readonly<Record<string, unknown>>;

const ofInstance = { instanceUuid: uuid, requestId: name };
/** A message of a move; everything else is in the state of record. */
const ofMove = { ...ofInstance, migrationId: id };

/** One message about an instance. */
export type InstanceParams = RecordOf<typeof ofInstance>;

const flavor = object(FLAVOR);
const alternates = listOf(object(SELECTION));
/** Absent: no reschedule. */
const retry = optional(object(RETRY_INFO));
/** Null: the sender does not know them, and the agent asks Placement. */
const allocations = nullable(ALLOCATIONS_BY_PROVIDER as unknown as Field<AllocationsByProvider>);
/** Null: the destination finds out. */
const blockMigration = nullable(flag);
const liveMigrateData = anyObject;

/** What the instance needs that this host does not have, for people: it does not come here. Absent: nothing. */
const unservable = optional(text());

/** The server group of the instance, whose policy the destination holds when it has claimed (spec 6.9). Absent: none. */
const serverGroup = optional(uuid);

/** What an agent may be asked, by the conductor or (through it) by another agent. Names are Nova's. */
export const AGENT_METHODS = {
  /** Spec 6.1 rows 4-7. `allocations`: what the instance holds in Placement; `node`: the destination that was claimed for it. */
  build_and_run_instance: cast({
    ...ofInstance,
    allocations,
    node: name,
    alternates,
    retry,
    serverGroup,
    /** It is not built on another host either. */
    unservable,
  }),
  /** Spec 6.2. */
  terminate_instance: cast(ofInstance),
  /** With a migration of type evacuation: spec 6.7 rows 3-6; without: a rebuild in place. */
  rebuild_instance: cast({
    ...ofInstance,
    migrationId: nullable(id),
    /** Given by APIs before 2.14 only. */
    onSharedStorage: nullable(flag),
    recreate: flag,
    node: name,
    imageRef: text(),
    /** API ≥ 2.95: the guest is left stopped unless the instance was in error. */
    targetStopped: flag,
    serverGroup,
    unservable,
  }),
  /** Spec 2.5. */
  set_host_enabled: call({ enabled: flag }, oneOf(["enabled", "disabled"])),
  /** For people: what the host's driver has, of which not every hypervisor can be looked at from outside. */
  list_guests: call({}, listOf(hypervisorGuest)),
  /** For people, of the host and of a guest that is on it (spec 6.10): each changes nothing. */
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

  /**
   * To the destination (spec 6.3 row 4), which is `node`. `flavor`: the new one; a cold migration's is the instance's own.
   */
  prep_resize: cast({ ...ofMove, flavor, node: name, alternates, retry, serverGroup, unservable }),
  /** To the source (spec 6.3 rows 5, 6). */
  resize_instance: cast(ofMove),
  /** To the destination (spec 6.3 row 7). `diskInfo`: the answer of the source's driver. */
  finish_resize: cast({ ...ofMove, diskInfo: text(LONGEST) }),
  /** To the source: cast, or called by a task that deletes the server afterwards and must know whether it failed (spec 6.2). */
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
  /** `guestGoes`: the guest goes, too, although it runs there: the instance has been made anew elsewhere, or runs on the source. */
  rollback_live_migration_at_destination: castOrCall({
    ...ofMove,
    destroyDisks: flag,
    data: liveMigrateData,
    guestGoes: optional(flag),
  }),
  /**
   * From the conductor to the destination of a resize, cold or live migration: its status is final, or its instance is
   * deleted, so that nobody waits for the guest any more (spec 2.8).
   */
  migration_ended: call({ instanceUuid: uuid, migrationId: id }, nothing),
  /** What a network service says of an instance, to each host that has a part in it (spec 8.6). */
  external_instance_event: cast({
    instanceUuid: uuid,
    events: listOf(object({ name: text(), tag: nullable(text()), status: text() })),
  }),
  /** To the source. */
  live_migration_abort: cast(ofMove),
  live_migration_force_complete: cast(ofMove),

  /** The operator's other operations (spec 6.6). */
  pause_instance: cast(ofInstance),
  unpause_instance: cast(ofInstance),
  suspend_instance: cast(ofInstance),
  resume_instance: cast(ofInstance),
  /** `rescueImageRef`: absent: the instance's own image. */
  rescue_instance: cast({ ...ofInstance, rescueImageRef: optional(text()) }),
  unrescue_instance: cast(ofInstance),
  /** `newPass`: what the guest's administrator is to log in with; it is kept nowhere. */
  set_admin_password: call({ ...ofInstance, newPass: text() }, nothing),
  soft_delete_instance: cast(ofInstance),
  restore_instance: cast(ofInstance),
  /** `imageId`: where the snapshot goes. */
  snapshot_instance: cast({ ...ofInstance, imageId: text() }),
  shelve_instance: cast({ ...ofInstance, imageId: text() }),
  shelve_offload_instance: cast(ofInstance),
  /** To the destination that was claimed. */
  unshelve_instance: cast({ ...ofInstance, allocations, node: name, serverGroup, unservable }),
};

export type AgentMethods = MethodsOf<typeof AGENT_METHODS>;
export type AgentMethod = keyof AgentMethods;
/** Methods that a caller need not wait for. */
export type AgentCast = NamesOfKind<typeof AGENT_METHODS, "cast" | "castOrCall">;
/** Methods that answer. */
export type AgentCall = NamesOfKind<typeof AGENT_METHODS, "call" | "castOrCall">;
