import type { MigrationStatus, TaskState } from "../../records/index.js";
import { BUILD_INSTANCE } from "./build/build-instance.js";
import { EVACUATE_INSTANCE } from "./build/evacuate-instance.js";
import { REBUILD_INSTANCE } from "./build/rebuild-in-place.js";
import { CONFIRM_RESIZE } from "./cold-move/confirm-resize.js";
import { PREP_RESIZE } from "./cold-move/prep-resize.js";
import { FINISH_RESIZE, RESIZE_INSTANCE } from "./cold-move/resize-instance.js";
import { FINISH_REVERT_RESIZE, REVERT_RESIZE } from "./cold-move/revert-resize.js";
import type { AdmissionRule } from "./flow/admission.js";
import type {
  AdmittedFlow,
  Call,
  Caller,
  InstanceMethod,
  Operation,
  OperationName,
  OperationServices,
  RequestOf,
} from "./flow/contract.js";
import { CHECK_DESTINATION, CHECK_SOURCE } from "./live-migration/checks.js";
import { ABORT_LIVE_MIGRATION, FORCE_COMPLETE_LIVE_MIGRATION } from "./live-migration/control.js";
import { POST_AT_DESTINATION, PRE_LIVE_MIGRATION, ROLLBACK_AT_DESTINATION } from "./live-migration/destination.js";
import { LIVE_MIGRATION } from "./live-migration/live-migration.js";
import { UNFINISHED_LIVE_MIGRATION } from "./live-migration/migration-flow.js";
import { SOFT_DELETE_INSTANCE, TERMINATE_INSTANCE } from "./states/delete-instance.js";
import {
  PAUSE_INSTANCE,
  REBOOT_INSTANCE,
  REBOOT_TASKS,
  RESCUE_INSTANCE,
  RESTORE_INSTANCE,
  RESUME_INSTANCE,
  START_INSTANCE,
  STOP_INSTANCE,
  SUSPEND_INSTANCE,
  UNPAUSE_INSTANCE,
  UNRESCUE_INSTANCE,
} from "./states/power.js";
import { SET_ADMIN_PASSWORD } from "./states/set-admin-password.js";
import { SHELVE_INSTANCE, SHELVE_OFFLOAD_INSTANCE } from "./states/shelve-instance.js";
import { SNAPSHOT_INSTANCE } from "./states/snapshot-instance.js";
import { UNSHELVE_INSTANCE } from "./states/unshelve-instance.js";
import { ATTACH_VOLUME } from "./volumes/attach-volume.js";
import { DETACH_VOLUME } from "./volumes/detach-volume.js";
import { RESERVE_BLOCK_DEVICE_NAME } from "./volumes/reserve-device-name.js";
import { SWAP_VOLUME } from "./volumes/swap-volume.js";

/** An operation on a guest of this host that begins in one of these task_states. */
function onGuest<M extends InstanceMethod>(flow: AdmittedFlow<M>, ...tasks: readonly TaskState[]): Operation<M> {
  return { admission: { instance: "here", tasks }, flow };
}

function asSource(...statuses: readonly MigrationStatus[]): Pick<AdmissionRule, "migration"> {
  return { migration: { part: "source", statuses } };
}

function asDestination(...statuses: readonly MigrationStatus[]): Pick<AdmissionRule, "migration"> {
  return { migration: { part: "destination", statuses } };
}

/** One row for each message that begins an operation; its parameters are in the conductor's table of methods. */
export const OPERATIONS: { readonly [M in OperationName]: Operation<M> } = {
  build_and_run_instance: {
    event: "compute__do_build_and_run_instance",
    lock: "build",
    admission: { instance: "nowhere", tasks: ["scheduling", null], vmStates: ["building"] },
    flow: BUILD_INSTANCE,
  },
  // An acknowledged delete always applies, whichever request has set the task_state since.
  terminate_instance: {
    stopsLiveMigration: true,
    admission: { instance: "here or nowhere", tasks: "any" },
    flow: TERMINATE_INSTANCE,
  },
  evacuate_instance: {
    event: "compute_rebuild_instance",
    admission: {
      instance: "elsewhere",
      tasks: ["rebuilding"],
      // The source may have returned and cleaned up before the guest is created here.
      ...asDestination("accepted", "pre-migrating", "completed"),
    },
    flow: EVACUATE_INSTANCE,
  },
  rebuild_instance: onGuest(REBUILD_INSTANCE, "rebuilding"),

  prep_resize: {
    admission: { instance: "anywhere", tasks: ["resize_prep"], ...asDestination("pre-migrating") },
    flow: PREP_RESIZE,
  },
  resize_instance: {
    admission: { instance: "here", tasks: ["resize_prep"], ...asSource("pre-migrating") },
    flow: RESIZE_INSTANCE,
  },
  finish_resize: {
    whileDraining: true,
    admission: { instance: "here", tasks: ["resize_migrated"], ...asDestination("post-migrating") },
    flow: FINISH_RESIZE,
  },
  confirm_resize: {
    // It has no task_state of its own: the request has set the migration's status. For a migration in error its
    // leftovers are removed.
    admission: { instance: "anywhere", tasks: "any", ...asSource("finished", "confirming", "error") },
    flow: CONFIRM_RESIZE,
  },
  revert_resize: {
    admission: { instance: "here", tasks: ["resize_reverting"], ...asDestination("reverting") },
    flow: REVERT_RESIZE,
  },
  finish_revert_resize: {
    admission: { instance: "anywhere", tasks: ["resize_reverting"], ...asSource("reverted") },
    flow: FINISH_REVERT_RESIZE,
  },

  check_can_live_migrate_destination: {
    lock: "none",
    admission: { instance: "elsewhere", tasks: ["migrating"] },
    flow: CHECK_DESTINATION,
  },
  check_can_live_migrate_source: {
    lock: "none",
    admission: { instance: "here", tasks: ["migrating"] },
    flow: CHECK_SOURCE,
  },
  pre_live_migration: {
    admission: { instance: "elsewhere", tasks: ["migrating"], ...asDestination("preparing") },
    flow: PRE_LIVE_MIGRATION,
  },
  // A copy holds no lock: a delete stops it instead of waiting for it.
  live_migration: {
    lock: "none",
    admission: { instance: "here", tasks: ["migrating"], ...asSource("accepted") },
    flow: LIVE_MIGRATION,
  },
  // The guest is already there: its records follow it, even into a delete.
  post_live_migration_at_destination: {
    whileDraining: true,
    admission: { instance: "anywhere", tasks: "any", ...asDestination(...UNFINISHED_LIVE_MIGRATION) },
    flow: POST_AT_DESTINATION,
  },
  rollback_live_migration_at_destination: {
    whileDraining: true,
    admission: {
      instance: "elsewhere",
      tasks: "any",
      migration: { part: "destination", statuses: "any" },
      deleted: true,
    },
    flow: ROLLBACK_AT_DESTINATION,
  },
  // These two have another request id than the migration; their own steps detect that it is too late.
  live_migration_abort: {
    lock: "none",
    whileDraining: true,
    admission: { instance: "anywhere", tasks: "any", migration: { part: "source", statuses: "any" } },
    flow: ABORT_LIVE_MIGRATION,
  },
  live_migration_force_complete: {
    lock: "none",
    whileDraining: true,
    admission: { instance: "anywhere", tasks: "any", migration: { part: "source", statuses: "any" } },
    flow: FORCE_COMPLETE_LIVE_MIGRATION,
  },

  start_instance: onGuest(START_INSTANCE, "powering-on"),
  stop_instance: onGuest(STOP_INSTANCE, "powering-off"),
  reboot_instance: onGuest(REBOOT_INSTANCE, ...REBOOT_TASKS),
  rescue_instance: onGuest(RESCUE_INSTANCE, "rescuing"),
  snapshot_instance: onGuest(SNAPSHOT_INSTANCE, "image_snapshot_pending"),
  shelve_instance: onGuest(SHELVE_INSTANCE, "shelving"),
  shelve_offload_instance: onGuest(SHELVE_OFFLOAD_INSTANCE, "shelving_offloading"),
  unshelve_instance: {
    admission: { instance: "nowhere", tasks: ["unshelving"], vmStates: ["shelved_offloaded"] },
    flow: UNSHELVE_INSTANCE,
  },
  pause_instance: onGuest(PAUSE_INSTANCE, "pausing"),
  unpause_instance: onGuest(UNPAUSE_INSTANCE, "unpausing"),
  suspend_instance: onGuest(SUSPEND_INSTANCE, "suspending"),
  resume_instance: onGuest(RESUME_INSTANCE, "resuming"),
  unrescue_instance: onGuest(UNRESCUE_INSTANCE, "unrescuing"),
  soft_delete_instance: { ...onGuest(SOFT_DELETE_INSTANCE, "soft-deleting"), stopsLiveMigration: true },
  restore_instance: onGuest(RESTORE_INSTANCE, "restoring"),
  reserve_block_device_name: { admission: { instance: "here", tasks: "any" }, flow: RESERVE_BLOCK_DEVICE_NAME },
  attach_volume: { admission: { instance: "here", tasks: "any" }, flow: ATTACH_VOLUME },
  detach_volume: { admission: { instance: "here", tasks: "any" }, flow: DETACH_VOLUME },
  swap_volume: { admission: { instance: "here", tasks: "any" }, flow: SWAP_VOLUME },
  set_admin_password: {
    admission: { instance: "here", tasks: ["updating_password"] },
    flow: SET_ADMIN_PASSWORD,
  },
};

/** Returns the operation of a message. One method rebuilds in place, or on another host. */
export function operationOf<M extends InstanceMethod>(method: M, request: RequestOf<M>): OperationName {
  return "recreate" in request && request.recreate ? "evacuate_instance" : method;
}

/** The step names of each list, before which faults can be set (flow/step-list.ts). */
export const STEP_NAMES: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.values(OPERATIONS).flatMap(({ flow }) => flow.steps.map(({ operation, names }) => [operation, names])),
);

const NOBODY: Caller = { assertCallerWaiting: () => {} };

/** Creates the call of a message, with the entry of its method in the table. */
export function callOf<M extends OperationName>(
  method: M,
  services: OperationServices,
  request: RequestOf<M>,
  caller: Caller = NOBODY,
): Call<M> {
  const { admission, event = `compute_${method}` } = OPERATIONS[method];
  const { instanceUuid, requestId } = request;
  return {
    method,
    admission,
    request,
    caller,
    event: { instanceUuid, requestId, event },
    services: forRequest(services, requestId),
  };
}

/** Adds the request's id to all log records of the services. */
export function forRequest(services: OperationServices, requestId: string): OperationServices {
  const logger = services.logger.child({ request_id: requestId });
  return { ...services, logger };
}
