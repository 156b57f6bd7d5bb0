import type { MigrationFilters } from "../../conductor-client/methods/records.js";
import {
  DISK_INFO,
  FINAL_MIGRATION_STATUSES,
  type Instance,
  type InstanceChanges,
  type Migration,
  type MigrationStatus,
} from "../../records/index.js";
import { type AgentView, hasQuirk } from "../context.js";
import { setAsideMove, withoutSetAside } from "../operations/flow/other-moves.js";
import { UNFINISHED_LIVE_MIGRATION } from "../operations/live-migration/migration-flow.js";

/** The plan to recover an interrupted resize or live migration (spec 2.6). Planning changes nothing. */
export interface MoveRecovery {
  readonly migration: Migration | null;
  /** The first step, on the hypervisor. */
  readonly driver: "finish-revert" | "finish" | "abort" | "none";
  /** For `finish-revert` and `finish`. */
  readonly powerOn: boolean;
  /**
   * The second step, in Placement: returns the migration's allocations to the instance, deletes them, or claims the
   * destination for the instance.
   */
  readonly allocations: "give-back" | "drop-migration" | "claim-destination" | "none";
  /** The last step: the changes of both records, in one write. */
  readonly changes: InstanceChanges;
  /** The changes if the hypervisor's step failed; absent: the same. */
  readonly changesIfFailed?: InstanceChanges;
  readonly failsMigration: boolean;
  /** The destination of a live migration, where its leftovers are removed. */
  readonly destination?: string | null;
  /** True if the guest on the destination is removed even if it runs. */
  readonly guestGoes?: boolean;
  /** True if the leftovers on the move's other host are removed. */
  readonly dropsSetAside?: boolean;
  /** True if the move continues, contrary to its record. */
  readonly revives?: boolean;
  /** Set if the situation is too unclear to act. */
  readonly unclear?: string;
}

async function latestMove(
  { conductor }: AgentView,
  { uuid: instanceUuid }: Instance,
  filters: Omit<MigrationFilters, "instanceUuid">,
): Promise<Migration | null> {
  return (await conductor.call("migrations_by_filters", { filters: { instanceUuid, ...filters } })).at(-1) ?? null;
}

/**
 * Plans for the source of a resize that restarts before the move began. Upstream only makes the instance usable again
 * (`leave-resize-prep-allocations`).
 */
export async function planUndoResizePrep(view: AgentView, instance: Instance): Promise<MoveRecovery> {
  const migration = await latestMove(view, instance, {
    migrationTypes: ["resize", "migration"],
    sourceCompute: view.host,
    statuses: ["pre-migrating", "migrating"],
  });
  const leaves = hasQuirk(view, "leave-resize-prep-allocations") || migration === null;
  return {
    migration,
    driver: "none",
    powerOn: false,
    allocations: leaves ? "none" : "give-back",
    changes: leaves ? { taskState: null } : { taskState: null, migrationContext: null, newFlavor: null },
    failsMigration: !leaves,
  };
}

/**
 * Plans for the source of a resize that restarts while it copied the disks: the guest stays here. Upstream leaves
 * migration, context and allocations as they are (bug 1836369, `leave-interrupted-resize-allocations`).
 */
export async function planRevertResize(view: AgentView, instance: Instance): Promise<MoveRecovery> {
  const id = instance.migrationContext?.migrationId;
  const migration = id === undefined ? null : await view.conductor.call("migration_get", { id });
  const strands = hasQuirk(view, "leave-interrupted-resize-allocations") || migration === null;
  return {
    migration,
    driver: "finish-revert",
    powerOn: instance.systemMetadata.old_vm_state !== "stopped",
    allocations: strands ? "none" : "give-back",
    changes: strands ? { taskState: null } : { taskState: null, migrationContext: null, newFlavor: null },
    failsMigration: !strands,
  };
}

/**
 * Plans for an evacuation that has ended a move and then failed. The guest of a resize stays on this host: the source
 * restores its set-aside guest. A destination that already had the instance creates the guest from it, unless it has
 * finished the move. A live migration whose guest has left this host is completed. If the instance was elsewhere since,
 * there is nothing to do.
 */
export async function planTakeGuestBack(view: AgentView, instance: Instance): Promise<MoveRecovery> {
  const migration = await setAsideMove(view, instance);
  const moves = await view.conductor.call("migrations_by_filters", { filters: { instanceUuid: instance.uuid } });
  const since = moves.filter((move) => migration !== null && move.id > migration.id);
  const base = {
    migration,
    powerOn: instance.systemMetadata.old_vm_state !== "stopped",
    allocations: "none",
    failsMigration: false,
  } as const;
  if (since.some((move) => move.migrationType === "evacuation" && !FINAL_MIGRATION_STATUSES.includes(move.status))) {
    return { ...base, driver: "none", changes: {}, unclear: "the instance is being evacuated" };
  }
  const changes = withoutSetAside(instance);
  if (migration === null || since.some(({ status }) => !STAYS.includes(status))) {
    return { ...base, driver: "none", changes, dropsSetAside: migration !== null };
  }
  if (migration.migrationType === "live-migration") {
    return followGuest(view, instance, { ...base, changes });
  }
  const changesIfFailed = { vmState: "error" } as const;
  if (migration.sourceCompute === view.host) {
    return { ...base, driver: "finish-revert", changes, changesIfFailed };
  }
  if (migration.destCompute !== view.host) {
    return { ...base, driver: "none", changes };
  }
  return instance.systemMetadata[DISK_INFO] === undefined
    ? { ...base, driver: "none", changes, dropsSetAside: true }
    : { ...base, driver: "finish", changes, changesIfFailed, dropsSetAside: true };
}

async function followGuest(
  { driver }: AgentView,
  instance: Instance,
  base: Pick<MoveRecovery, "migration" | "powerOn" | "changes" | "failsMigration">,
): Promise<MoveRecovery> {
  if (await driver.instanceExists(instance)) {
    const destination = base.migration?.destCompute ?? null;
    return { ...base, driver: "none", allocations: "none", destination, guestGoes: true };
  }
  if (instance.taskState !== null) {
    return { ...base, driver: "none", allocations: "none", changes: {}, unclear: "another request owns the instance" };
  }
  const changes: InstanceChanges = { ...base.changes, taskState: "migrating" };
  return { ...base, driver: "none", allocations: "claim-destination", changes, revives: true };
}

/** A move with one of these statuses has not moved its instance. */
const STAYS: readonly MigrationStatus[] = [
  "accepted",
  "queued",
  "preparing",
  "pre-migrating",
  "error",
  "failed",
  "cancelled",
];

/** Plans for a destination that restarts while it finished a resize: as if finishing had failed (spec 6.3 row 7). */
export async function planFailResize(view: AgentView, instance: Instance): Promise<MoveRecovery> {
  const migration = await latestMove(view, instance, {
    migrationTypes: ["resize", "migration"],
    destCompute: view.host,
    // Under Nova the move is finished before its instance shows it.
    statuses: ["post-migrating", "finished"],
  });
  const base = { migration, driver: "none", powerOn: false } as const;
  return migration === null || hasQuirk(view, "leave-interrupted-resizes")
    ? {
        ...base,
        allocations: "none",
        changes: {},
        failsMigration: false,
        unclear:
          "no migration in status post-migrating or finished leads here; the task state stays until an operator resets it",
      }
    : {
        ...base,
        allocations: "drop-migration",
        changes: { vmState: "error", taskState: null, migrationContext: null },
        failsMigration: true,
      };
}

/**
 * Plans for the source of a live migration that restarts. If the guest is here, the migration has failed and the
 * instance gets its allocations back, which upstream omits (`leave-interrupted-live-migration-allocations`).
 */
export async function planLiveMigrationRecovery(
  view: AgentView,
  instance: Instance,
  guestIsHere: boolean,
): Promise<MoveRecovery> {
  const migration = await latestMove(view, instance, {
    migrationTypes: ["live-migration"],
    sourceCompute: view.host,
    statuses: UNFINISHED_LIVE_MIGRATION,
  });
  const running = migration?.status === "running";
  const base = { migration, driver: running ? "abort" : "none", powerOn: false, changes: { taskState: null } } as const;
  if (hasQuirk(view, "leave-interrupted-live-migration-allocations")) {
    return { ...base, allocations: "none", failsMigration: running };
  }
  const left = { ...base, driver: "none", allocations: "none", changes: {}, failsMigration: false } as const;
  if (migration?.status === "accepted") {
    return { ...left, unclear: "the conductor has not handed the migration to this host yet" };
  }
  if (migration !== null && !guestIsHere) {
    const dest = migration.destCompute ?? "the destination";
    return {
      ...left,
      unclear: `the guest has left this host: ${dest} is checked for it when this host serves`,
    };
  }
  if (migration === null) {
    return { ...base, allocations: "none", failsMigration: false };
  }
  return { ...base, allocations: "give-back", failsMigration: true, destination: migration.destCompute };
}

/** The plan of each recovery, by the action of the row in spec 2.6. */
export const MOVE_RECOVERIES = {
  "undo-resize-prep": planUndoResizePrep,
  "revert-resize": planRevertResize,
  "fail-resize": planFailResize,
  "recover-live-migration": planLiveMigrationRecovery,
} as const satisfies Readonly<
  Record<string, (view: AgentView, instance: Instance, guestIsHere: boolean) => Promise<MoveRecovery>>
>;
