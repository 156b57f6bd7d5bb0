import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../records/index.js";
import { InstanceExists } from "../../virt/errors.js";
import { requestId as newRequestId } from "../context.js";
import { requireHostLease } from "../lifecycle/host-lease.js";
import type { OperationServices } from "./contract.js";
import { destroyOptions } from "./flow/guest-options.js";
import { removeArrived } from "./live-migration/destination.js";
import { driverData } from "./live-migration/flow.js";
import { reasonToKeep } from "./live-migration/reason-to-keep.js";
import { filesAreShared } from "./live-migration/recover.js";

/**
 * Finds again what moves have left on this host, and a process that is gone was still to remove: guests of instances that are
 * elsewhere, and of which the last that came to, or went from, this host was a live migration that is over, or an evacuation to here
 * that others have ended. What other operations leave, their records tell (spec 2.6).
 * @param others instances of guests that are here, without those that are known to be this host's
 */
export async function findLeftGuests(services: OperationServices, others: readonly Instance[]): Promise<void> {
  const { driver, host } = services.context;
  for (const instance of others) {
    if (instance.deleted !== 0 || instance.host === host) {
      continue;
    }
    const moves = await movesHere(services, instance);
    const last = moves.at(-1);
    const lost = moves.findLast((move) => !leavesNothing(move, host));
    if (lost !== undefined && isLost(lost, host) && driver.capabilities.supportsEvacuate) {
      services.left.add(instance.uuid, () => removeEvacuated(services, lost), { evacuated: true });
    } else if (
      last?.migrationType === "live-migration" &&
      FINAL_MIGRATION_STATUSES.includes(last.status) &&
      driver.supports("rollbackLiveMigrationAtDestination")
    ) {
      services.left.add(instance.uuid, () => removeLeft(services, last));
    }
  }
}

async function movesHere(
  { context: { conductor, host } }: OperationServices,
  { uuid: instanceUuid }: Instance,
): Promise<readonly Migration[]> {
  const moves = await conductor.call("migrations_by_filters", { filters: { instanceUuid, host } });
  return moves.sort((one, other) => one.id - other.id);
}

/** An evacuation to here that has made nothing yet, or of which nothing is left. */
function leavesNothing({ migrationType, status, destCompute }: Migration, host: string): boolean {
  return migrationType === "evacuation" && destCompute === host && ["accepted", "failed"].includes(status);
}

/** An evacuation to here that its source has ended. The instance is elsewhere: had it been here, a later move would have led away. */
function isLost({ migrationType, status, destCompute }: Migration, host: string): boolean {
  return migrationType === "evacuation" && destCompute === host && status === "completed";
}

/**
 * An evacuation has made the guest here, and another has taken the instance elsewhere, whose source has completed both: nobody lives
 * by this one. Under the instance's lock no other evacuation to here has made one.
 */
async function removeEvacuated(services: OperationServices, { id, instanceUuid: uuid }: Migration): Promise<void> {
  const { conductor, driver, host, runtime } = services.context;
  const instance = await conductor.call("instance_get", { uuid });
  if (instance?.deleted !== 0 || instance.host === host) {
    return;
  }
  const comes = (await movesHere(services, instance)).some(
    ({ migrationType, status, destCompute }) =>
      !(FINAL_MIGRATION_STATUSES.includes(status) || (migrationType === "evacuation" && destCompute === host)),
  );
  if (!comes && (await driver.instanceExists(instance))) {
    const shared = await filesAreShared(services, instance, instance.host ?? "", newRequestId(services.context));
    // The other host may have taken its time to answer.
    requireHostLease(services.context, `remove the guest that evacuation ${id} has left of instance ${uuid}`);
    await driver.destroy(instance, destroyOptions(!shared));
    const fields = { instance: uuid, migration: id };
    runtime.logger.warn("removed the guest that an evacuation had left here before this agent started", fields);
  }
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
