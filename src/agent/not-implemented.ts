import { ConductorError } from "../conductor/errors.js";
import type { AgentHandlers } from "../conductor/port.js";

const refuse = (method: keyof AgentHandlers) => async (): Promise<never> => {
  throw new ConductorError(`NotImplemented: this agent does not know ${method}`);
};

/** Methods that no operation serves yet. */
export const NOT_IMPLEMENTED = {
  prep_resize: refuse("prep_resize"),
  resize_instance: refuse("resize_instance"),
  finish_resize: refuse("finish_resize"),
  confirm_resize: refuse("confirm_resize"),
  revert_resize: refuse("revert_resize"),
  finish_revert_resize: refuse("finish_revert_resize"),
  check_can_live_migrate_destination: refuse("check_can_live_migrate_destination"),
  check_can_live_migrate_source: refuse("check_can_live_migrate_source"),
  live_migration: refuse("live_migration"),
  pre_live_migration: refuse("pre_live_migration"),
  post_live_migration_at_destination: refuse("post_live_migration_at_destination"),
  rollback_live_migration_at_destination: refuse("rollback_live_migration_at_destination"),
  live_migration_abort: refuse("live_migration_abort"),
  live_migration_force_complete: refuse("live_migration_force_complete"),
  pause_instance: refuse("pause_instance"),
  unpause_instance: refuse("unpause_instance"),
  suspend_instance: refuse("suspend_instance"),
  resume_instance: refuse("resume_instance"),
  rescue_instance: refuse("rescue_instance"),
  unrescue_instance: refuse("unrescue_instance"),
  soft_delete_instance: refuse("soft_delete_instance"),
  restore_instance: refuse("restore_instance"),
  shelve_instance: refuse("shelve_instance"),
  shelve_offload_instance: refuse("shelve_offload_instance"),
  unshelve_instance: refuse("unshelve_instance"),
};
