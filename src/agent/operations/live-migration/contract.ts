import type { AgentMethods, LiveMigrateData } from "../../../conductor/methods/agent.js";
import type { ParamsOf } from "../../../conductor/methods/method.js";
import type { RequestContext } from "../../../conductor/port.js";

type Request<M extends keyof AgentMethods> = ParamsOf<AgentMethods, M>;

/** The caller that waits for the answer: asked again when the instance's lock is had, before anything is done. */
export type Asker = Pick<RequestContext, "refuseGivenUp">;

/** Live migrations in which the host takes part (spec 6.5): S is the source, D the destination. */
export interface LiveMigrationOperations {
  /** D, row 4. Asks S too. @throws MigrationPreCheckError: another host is to be tried. */
  checkDestination(request: Request<"check_can_live_migrate_destination">): Promise<LiveMigrateData>;
  /** S, row 4. @throws MigrationPreCheckError */
  checkSource(request: Request<"check_can_live_migrate_source">): Promise<LiveMigrateData>;
  /** D, row 6. */
  preLiveMigration(request: Request<"pre_live_migration">, asker: Asker): Promise<LiveMigrateData>;
  /** D, row 8. @throws ObjectActionError when the guest is not here, with `reason: "no guest"` in its data. */
  postAtDestination(request: Request<"post_live_migration_at_destination">, asker: Asker): Promise<void>;
  /** D. Nothing is done for an instance that is here, or that another migration brings here. */
  rollBackAtDestination(request: Request<"rollback_live_migration_at_destination">, asker: Asker): Promise<void>;

  /** The host is source of one now. */
  readonly underWay: boolean;

  /** S, rows 5-9; resolves when all is over. */
  liveMigration(request: Request<"live_migration">): Promise<void>;
  /** S. @throws InvalidMigrationState */
  abort(request: Request<"live_migration_abort">): Promise<void>;
  /** S. @throws InvalidMigrationState */
  forceComplete(request: Request<"live_migration_force_complete">): Promise<void>;
  /** S: the driver says that the guest runs on the destination while its memory still comes (spec 8.5). */
  postCopyStarted(instanceUuid: string): Promise<void>;
  /** S: aborts what is under way for an instance that is being deleted, and waits for its end. False: there was nothing. */
  settle(instanceUuid: string): Promise<boolean>;
  /** S, shutdown: those that wait for their turn are cancelled, and no new one waits (spec 2.8). */
  cancelQueued(): Promise<void>;
  /** S: ends what a process that is gone, or a conductor that did not answer, left halfway (spec 2.6 OPT). */
  recover(): Promise<void>;
}
