export type DestinationMethod =
  | "pre_live_migration"
  | "post_live_migration_at_destination"
  | "rollback_live_migration_at_destination";

/** Milliseconds. `long_rpc_timeout` where the other host may copy images first; its driver has 5 and 10 minutes else. */
export const TIMEOUTS: Readonly<Record<DestinationMethod, number>> = {
  pre_live_migration: 1_800_000,
  post_live_migration_at_destination: 330_000,
  rollback_live_migration_at_destination: 630_000,
};
