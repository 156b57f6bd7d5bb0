import type { AgentMethod } from "../../../conductor/methods/agent.js";
import type { MigrationStatus, TaskState, VmState } from "../../../records/index.js";

/** What has to be so now, whenever the message was sent, for a message to be carried out on this host. */
export interface AdmissionRule {
  /** `nowhere`: no host has it. */
  readonly instance: "here" | "here or nowhere" | "nowhere" | "elsewhere" | "anywhere";
  /** The task_states from which the operation begins; they have to be this request's. */
  readonly tasks: readonly (TaskState | null)[] | "any";
  readonly vmStates?: readonly VmState[];
  /** This host's part in the message's migration, and how far that has come. */
  readonly migration?: {
    readonly part: "source" | "destination";
    readonly statuses: readonly MigrationStatus[] | "any";
  };
  /** Carried out for a deleted instance too: it removes what is left. */
  readonly deleted?: true;
}

/** Methods that are about a host or its memory, and those whose question changes nothing. */
type Ungated = "set_host_enabled" | "check_instance_shared_storage" | "migration_ended";

/** Messages that are judged; a rebuild on another host is an operation of its own. */
export type GatedMethod = Exclude<AgentMethod, Ungated> | "evacuate_instance";

const LIVE: readonly MigrationStatus[] = ["accepted", "queued", "preparing", "running", "running (post-copy)"];

const onGuest = (...tasks: readonly TaskState[]): AdmissionRule => ({ instance: "here", tasks });

/** One row for each message that reaches an agent. */
export const ADMISSION_RULES: Readonly<Record<GatedMethod, AdmissionRule>> = {
  build_and_run_instance: { instance: "nowhere", tasks: ["scheduling", null], vmStates: ["building"] },
  // A delete that was acknowledged is wanted for good, whoever has set the task_state since.
  terminate_instance: { instance: "here or nowhere", tasks: "any" },
  rebuild_instance: onGuest("rebuilding"),
  evacuate_instance: {
    instance: "elsewhere",
    tasks: ["rebuilding"],
    // The source may have returned and cleaned up before its guest is made here.
    migration: { part: "destination", statuses: ["accepted", "pre-migrating", "completed"] },
  },
  start_instance: onGuest("powering-on"),
  stop_instance: onGuest("powering-off"),
  reboot_instance: onGuest(
    "rebooting",
    "reboot_pending",
    "reboot_started",
    "rebooting_hard",
    "reboot_pending_hard",
    "reboot_started_hard",
  ),
  pause_instance: onGuest("pausing"),
  unpause_instance: onGuest("unpausing"),
  suspend_instance: onGuest("suspending"),
  resume_instance: onGuest("resuming"),
  rescue_instance: onGuest("rescuing"),
  unrescue_instance: onGuest("unrescuing"),
  soft_delete_instance: onGuest("soft-deleting"),
  restore_instance: onGuest("restoring"),
  shelve_instance: onGuest("shelving"),
  shelve_offload_instance: onGuest("shelving_offloading"),
  unshelve_instance: { instance: "nowhere", tasks: ["unshelving"], vmStates: ["shelved_offloaded"] },

  prep_resize: {
    instance: "anywhere",
    tasks: ["resize_prep"],
    migration: { part: "destination", statuses: ["pre-migrating"] },
  },
  resize_instance: {
    instance: "here",
    tasks: ["resize_prep"],
    migration: { part: "source", statuses: ["pre-migrating"] },
  },
  finish_resize: {
    instance: "here",
    tasks: ["resize_migrated"],
    migration: { part: "destination", statuses: ["post-migrating"] },
  },
  // It has no task_state of its own: the status is what the request has set. Of one in error the leftovers are removed.
  confirm_resize: {
    instance: "anywhere",
    tasks: "any",
    migration: { part: "source", statuses: ["finished", "confirming", "error"] },
  },
  revert_resize: {
    instance: "here",
    tasks: ["resize_reverting"],
    migration: { part: "destination", statuses: ["reverting"] },
  },
  finish_revert_resize: {
    instance: "anywhere",
    tasks: ["resize_reverting"],
    migration: { part: "source", statuses: ["reverted"] },
  },

  check_can_live_migrate_destination: { instance: "elsewhere", tasks: ["migrating"] },
  check_can_live_migrate_source: { instance: "here", tasks: ["migrating"] },
  live_migration: {
    instance: "here",
    tasks: ["migrating"],
    migration: { part: "source", statuses: ["accepted"] },
  },
  pre_live_migration: {
    instance: "elsewhere",
    tasks: ["migrating"],
    migration: { part: "destination", statuses: ["preparing"] },
  },
  // The guest is there already: its records follow it, also into a delete.
  post_live_migration_at_destination: {
    instance: "anywhere",
    tasks: "any",
    migration: { part: "destination", statuses: LIVE },
  },
  rollback_live_migration_at_destination: {
    instance: "elsewhere",
    tasks: "any",
    migration: { part: "destination", statuses: "any" },
    deleted: true,
  },
  // Their request is another than the migration's; that it is too late is told by their own steps.
  live_migration_abort: { instance: "anywhere", tasks: "any", migration: { part: "source", statuses: "any" } },
  live_migration_force_complete: { instance: "anywhere", tasks: "any", migration: { part: "source", statuses: "any" } },
};
