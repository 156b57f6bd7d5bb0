import { InstanceNotFound, InvalidMigrationState } from "../../../conductor/errors.js";
import type { Instance } from "../../../records/index.js";
import { stepList } from "../flow/step-list.js";
import type { OperationParts } from "../parts.js";
import type { OutgoingMigration } from "./outgoing-migration.js";

/** What a user wants of a live migration that is under way here, its source. */
export interface Control {
  readonly parts: OperationParts;
  readonly instanceUuid: string;
  readonly migrationId: number;
  /** Undefined: this process does not work on it. */
  readonly entry: OutgoingMigration | undefined;
}

/** Spec 6.5 "Abort". One that the driver does not run yet is stopped between its steps. */
export const ABORT_STEPS = stepList<Control>("live_migration_abort", {
  check_state: async ({ parts, migrationId, entry }) => {
    const status = await statusOf(parts, migrationId);
    const abortable = ["queued", "preparing", "running"].includes(status ?? "");
    if (entry && abortable && entry.phase !== "ending") {
      return;
    }
    throw new InvalidMigrationState(
      `live migration ${migrationId} is ${status}${entry ? "" : ", and not under way on this host"}: ` +
        "only one that is queued, preparing or running can be aborted",
    );
  },
  stop: async ({ parts, instanceUuid, entry }) => {
    if (entry?.phase === "running") {
      await parts.context.driver.liveMigrationAbort(await findInstance(parts, instanceUuid));
    }
    entry?.abort();
  },
});

/** Spec 6.5 "Force-complete". */
export const FORCE_COMPLETE_STEPS = stepList<Control>("live_migration_force_complete", {
  check_state: async ({ parts, migrationId, entry }) => {
    const status = await statusOf(parts, migrationId);
    if (status === "running" && entry?.phase === "running") {
      return;
    }
    throw new InvalidMigrationState(
      `live migration ${migrationId} is ${status}: only one that is running can be forced to complete`,
    );
  },
  force: async ({ parts, instanceUuid }) => {
    await parts.context.driver.liveMigrationForceComplete(await findInstance(parts, instanceUuid));
  },
});

async function statusOf({ context }: OperationParts, id: number): Promise<string | undefined> {
  return (await context.conductor.call("migration_get", { id }))?.status;
}

/** @throws {InstanceNotFound} */
export async function findInstance({ context }: OperationParts, uuid: string): Promise<Instance> {
  const instance = await context.conductor.call("instance_get", { uuid });
  if (!instance) {
    throw new InstanceNotFound(`instance ${uuid} is not known, or deleted`);
  }
  return instance;
}
