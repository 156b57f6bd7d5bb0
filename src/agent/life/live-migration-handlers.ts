import type { AgentHandlers } from "../../conductor/port.js";
import type { LiveMigrationOperations } from "../operations/live-migration/contract.js";
import type { TaskTracker } from "./task-tracker.js";

type LiveMigrationMethod =
  | "check_can_live_migrate_destination"
  | "check_can_live_migrate_source"
  | "live_migration"
  | "pre_live_migration"
  | "post_live_migration_at_destination"
  | "rollback_live_migration_at_destination"
  | "live_migration_abort"
  | "live_migration_force_complete";

type Cast = (
  method: string,
  params: { readonly instanceUuid: string; readonly requestId: string },
  work: () => Promise<void>,
) => Promise<null>;

/** Requests about live migrations, on both sides (spec 6.5). */
export function liveMigrationHandlers(
  live: LiveMigrationOperations,
  tasks: TaskTracker,
  cast: Cast,
): Pick<AgentHandlers, LiveMigrationMethod> {
  const done = (work: () => Promise<void>): Promise<null> =>
    tasks.run(async () => {
      await work();
      return null;
    });
  return {
    check_can_live_migrate_destination: (params) => tasks.run(() => live.checkDestination(params)),
    check_can_live_migrate_source: (params) => tasks.run(() => live.checkSource(params)),
    pre_live_migration: (params, asker) => tasks.run(() => live.preLiveMigration(params, asker)),
    post_live_migration_at_destination: (params, asker) => done(() => live.postAtDestination(params, asker)),
    rollback_live_migration_at_destination: (params, asker) => done(() => live.rollBackAtDestination(params, asker)),
    live_migration: (params) => cast("live_migration", params, () => live.liveMigration(params)),
    live_migration_abort: (params) => cast("live_migration_abort", params, () => live.abort(params)),
    live_migration_force_complete: (params) =>
      cast("live_migration_force_complete", params, () => live.forceComplete(params)),
  };
}
