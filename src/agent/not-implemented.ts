import { ConductorError } from "../conductor/errors.js";
import type { AgentHandlers } from "../conductor/port.js";

const refuse = (method: keyof AgentHandlers) => async (): Promise<never> => {
  throw new ConductorError(`NotImplemented: this agent does not know ${method}`);
};

/** Methods that no operation serves yet. */
export const NOT_IMPLEMENTED = {
  check_can_live_migrate_destination: refuse("check_can_live_migrate_destination"),
  check_can_live_migrate_source: refuse("check_can_live_migrate_source"),
  live_migration: refuse("live_migration"),
  pre_live_migration: refuse("pre_live_migration"),
  post_live_migration_at_destination: refuse("post_live_migration_at_destination"),
  rollback_live_migration_at_destination: refuse("rollback_live_migration_at_destination"),
  live_migration_abort: refuse("live_migration_abort"),
  live_migration_force_complete: refuse("live_migration_force_complete"),
};
