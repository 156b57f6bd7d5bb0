import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../../records/index.js";
import { InstanceExists } from "../../../virt/errors.js";
import { requestId as newRequestId } from "../../context.js";
import type { OperationServices } from "../contract.js";
import { removeArrived } from "./destination.js";
import { driverData } from "./flow.js";
import { reasonToKeep } from "./reason-to-keep.js";
import { filesAreShared } from "./recover.js";

/**
 * Finds again what live migrations have left on this host, at either end, and a process that is gone was still to remove: guests
 * of instances that are elsewhere, and of which the last that came to, or went from, this host was a live migration that is over.
 * What other operations leave, their records tell (spec 2.6).
 * @param others instances of guests that are here, without those that are known to be this host's
 */
export async function findLeftGuests(services: OperationServices, others: readonly Instance[]): Promise<void> {
  const { driver, host } = services.context;
  if (!driver.supports("rollbackLiveMigrationAtDestination")) {
    return;
  }
  for (const instance of others) {
    if (instance.deleted === 0 && instance.host !== host) {
      const migration = await lastHere(services, instance);
      if (migration?.migrationType === "live-migration" && FINAL_MIGRATION_STATUSES.includes(migration.status)) {
        services.left.add(instance.uuid, () => removeLeft(services, migration));
      }
    }
  }
}

async function lastHere(
  { context: { conductor, host } }: OperationServices,
  { uuid: instanceUuid }: Instance,
): Promise<Migration | undefined> {
  const moves = await conductor.call("migrations_by_filters", { filters: { instanceUuid, host } });
  return moves.sort((one, other) => one.id - other.id).at(-1);
}

/** A guest that runs is nobody's to remove unasked; that of a deleted instance is reaped (spec 3.5). */
async function removeLeft(services: OperationServices, migration: Migration): Promise<void> {
  const { context } = services;
  const { instanceUuid: uuid } = migration;
  const instance = await context.conductor.call("instance_get", { uuid });
  if (instance === null || (await reasonToKeep(services, migration, instance)) !== null) {
    return;
  }
  const fields = { instance: uuid, migration: migration.id };
  const shared = await filesAreShared(services, instance, instance.host ?? "", newRequestId(context));
  const data = driverData({ sharedInstanceFiles: shared });
  try {
    await removeArrived(services, { instance, migration, data, destroyDisks: !shared });
    context.runtime.logger.warn("removed what a live migration had left here before this agent started", fields);
  } catch (error) {
    if (!(error instanceof InstanceExists)) {
      throw error;
    }
    context.runtime.logger.warn("a guest that a live migration has left here runs: it is left alone", fields);
  }
}
