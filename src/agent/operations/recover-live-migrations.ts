import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../records/index.js";
import { InstanceExists, NotImplemented } from "../../virt/errors.js";
import { hasQuirk, requestId as newRequestId } from "../context.js";
import { requireHostLease } from "../host-lease.js";
import { ignore } from "../ignore-errors.js";
import type { OperationServices } from "./flow/contract.js";
import { attempt } from "./flow/error-wrappers.js";
import { destroyOptions, storageShared } from "./flow/guest-options.js";
import { runSteps } from "./flow/step-list.js";
import { removeArrived } from "./live-migration/destination.js";
import { POST_STEPS } from "./live-migration/finish-migration.js";
import { abandon, endOrAbandon, endWhereGuestIs } from "./live-migration/live-migration.js";
import {
  createFlow,
  DestinationFailed,
  driverData,
  type Flow,
  fieldsOf,
  reasonToKeep,
  UNFINISHED_LIVE_MIGRATION,
} from "./live-migration/migration-flow.js";
import { forRequest } from "./table.js";

/** Spec 2.6 OPT. If a live migration cannot be ended now, the next call tries again. */
export async function recoverLiveMigrations(services: OperationServices): Promise<void> {
  if (hasQuirk(services, "leave-interrupted-live-migration-allocations")) {
    return;
  }
  const left = await services.outgoing.leftOf(await unfinishedMigrations(services));
  await Promise.all(left.map((migration) => recover(services, migration)));
}

async function recover(all: OperationServices, migration: Migration): Promise<void> {
  const requestId = newRequestId(all);
  const services = forRequest(all, requestId);
  try {
    await services.outgoing.working(migration.instanceUuid, migration.id, (entry) =>
      recoverMigration(services, { entry, migration, requestId }),
    );
    services.outgoing.noteDestination(migration.id, { silent: false });
  } catch (err) {
    services.outgoing.noteDestination(migration.id, { silent: err instanceof DestinationFailed && err.silent });
    services.logger.warn("could not end an interrupted live migration; retrying later", {
      instance: migration.instanceUuid,
      migration: migration.id,
      err,
    });
  }
}

/** Returns the unfinished live migrations from this host, including those of deleted instances. */
function unfinishedMigrations(services: OperationServices): Promise<Migration[]> {
  return services.conductor.call("migrations_by_filters", {
    filters: {
      sourceCompute: services.host,
      migrationTypes: ["live-migration"],
      statuses: UNFINISHED_LIVE_MIGRATION,
      readDeleted: true,
    },
  });
}

/**
 * Ends a live migration that no process works on (spec 2.6 OPT): the location of the guest decides. May be repeated.
 * @throws the error that prevents the migration from ending now
 */
async function recoverMigration(
  services: OperationServices,
  { entry, migration, requestId }: Pick<Flow, "entry" | "migration" | "requestId">,
): Promise<void> {
  const { conductor, driver, host } = services;
  entry.phase = "ending";
  const instance = await conductor.call("instance_get", { uuid: migration.instanceUuid, readDeleted: true });
  if (!instance) {
    return;
  }
  const copying = migration.status === "running" || migration.status === "running (post-copy)";
  const dest = migration.destCompute;
  const sharedInstanceFiles = await filesAreShared(services, instance, dest, requestId);
  const data = driverData({ sharedInstanceFiles });
  const flow: Flow = {
    ...createFlow({ services, requestId, entry, dest: dest ?? "", instance, migration, data }),
    prepared: dest !== null,
    copying,
    isRecovery: true,
  };
  services.logger.info("ending an interrupted live migration", fieldsOf(flow));
  await endOrAbandon(flow, async () => {
    if (instance.deleted !== 0 || (instance.host !== host && !copying)) {
      return abandon(flow);
    }
    if (instance.host !== host) {
      await runSteps(services, POST_STEPS, { ...flow, arrived: true });
      return;
    }
    if (copying) {
      await attempt(services, instance.uuid, "stop the live migration", () =>
        driver.liveMigrationAbort(instance).catch(ignore(NotImplemented)),
      );
    }
    await endWhereGuestIs(flow);
  });
}

/** Probes the storage, since the drivers' data is lost. Returns true also without a host: files then stay. */
async function filesAreShared(services: OperationServices, instance: Instance, host: string | null, requestId: string) {
  return host === null || (await storageShared(services, instance, host, requestId));
}

/**
 * Finds leftovers of moves that an earlier process should have removed: guests of instances that are on other hosts.
 * Their last move from or to this host must be a completed live migration, or an evacuation to here that its source
 * completed. The records show the leftovers of other operations (spec 2.6).
 * @param others instances of guests on this hypervisor, without those that are known to be this host's
 */
export async function findLeftGuests(services: OperationServices, others: readonly Instance[]): Promise<void> {
  const { driver, host } = services;
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
  { conductor, host }: OperationServices,
  { uuid: instanceUuid }: Instance,
): Promise<readonly Migration[]> {
  const moves = await conductor.call("migrations_by_filters", { filters: { instanceUuid, host } });
  return moves.sort((one, other) => one.id - other.id);
}

/** Returns whether it is an evacuation to here without a guest: none created yet, or already removed. */
function leavesNothing({ migrationType, status, destCompute }: Migration, host: string): boolean {
  return migrationType === "evacuation" && destCompute === host && ["accepted", "failed"].includes(status);
}

/** Returns whether its source has completed this evacuation to here, without its instance ever arriving. */
function isLost({ migrationType, status, destCompute }: Migration, host: string): boolean {
  return migrationType === "evacuation" && destCompute === host && status === "completed";
}

/**
 * Removes a guest that an evacuation created here, if another evacuation has taken the instance elsewhere, and its
 * source has completed both: the guest is unused. The instance's lock prevents another evacuation to here from creating
 * one meanwhile.
 */
async function removeEvacuated(services: OperationServices, { id, instanceUuid: uuid }: Migration): Promise<void> {
  const { conductor, driver, host, logger } = services;
  const instance = await conductor.call("instance_get", { uuid });
  if (instance?.deleted !== 0 || instance.host === host) {
    return;
  }
  const comes = (await movesHere(services, instance)).some(
    ({ migrationType, status, destCompute }) =>
      !(FINAL_MIGRATION_STATUSES.includes(status) || (migrationType === "evacuation" && destCompute === host)),
  );
  if (!comes && (await driver.instanceExists(instance))) {
    const shared = await filesAreShared(services, instance, instance.host, newRequestId(services));
    // The call to the other host may have taken long.
    requireHostLease(services, `remove the leftover guest of evacuation ${id} of instance ${uuid}`);
    await driver.destroy(instance, await destroyOptions(services, instance, !shared));
    const fields = { instance: uuid, migration: id };
    logger.warn("removed the leftover guest of an evacuation from before this agent started", fields);
  }
}

/** Removes leftovers, but never a running guest; guests of deleted instances are reaped (spec 3.5). */
async function removeLeft(services: OperationServices, migration: Migration): Promise<void> {
  const { instanceUuid: uuid } = migration;
  const instance = await services.conductor.call("instance_get", { uuid });
  if (instance === null || (await reasonToKeep(services, migration, instance)) !== null) {
    return;
  }
  const fields = { instance: uuid, migration: migration.id };
  const shared = await filesAreShared(services, instance, instance.host, newRequestId(services));
  const data = driverData({ sharedInstanceFiles: shared });
  try {
    await removeArrived(services, { instance, migration, data, destroyDisks: !shared });
    services.logger.warn("removed the leftovers of a live migration from before this agent started", fields);
  } catch (error) {
    if (!(error instanceof InstanceExists)) {
      throw error;
    }
    services.logger.warn("a leftover guest of a live migration is running: it is left alone", fields);
  }
}
