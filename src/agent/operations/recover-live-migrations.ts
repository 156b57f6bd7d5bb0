import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../records/index.js";
import { InstanceExists, NotImplemented } from "../../virt/errors.js";
import { hasQuirk, requestId as newRequestId } from "../context.js";
import { requireHostLease } from "../host-lease.js";
import type { OperationServices } from "./flow/contract.js";
import { attempt } from "./flow/error-wrappers.js";
import { destroyOptions } from "./flow/guest-options.js";
import type { OutgoingMigration } from "./flow/outgoing-migrations.js";
import { runSteps } from "./flow/step-list.js";
import { removeArrived } from "./live-migration/destination.js";
import { POST_STEPS } from "./live-migration/finish-migration.js";
import { abandon, endOrAbandon, endWhereGuestIs } from "./live-migration/live-migration.js";
import {
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
  if (hasQuirk(services.context, "leave-interrupted-live-migration-allocations")) {
    return;
  }
  const left = await services.outgoing.leftOf(await unfinishedMigrations(services));
  await Promise.all(left.map((migration) => recover(services, migration)));
}

async function recover(all: OperationServices, migration: Migration): Promise<void> {
  const requestId = newRequestId(all.context);
  const services = forRequest(all, requestId);
  try {
    await services.outgoing.working(migration.instanceUuid, migration.id, (entry) =>
      recoverMigration(services, { entry, migration, requestId }),
    );
    services.outgoing.noteDestination(migration.id, { silent: false });
  } catch (err) {
    services.outgoing.noteDestination(migration.id, { silent: err instanceof DestinationFailed && err.silent });
    services.context.runtime.logger.warn("could not end an interrupted live migration; retrying later", {
      instance: migration.instanceUuid,
      migration: migration.id,
      err,
    });
  }
}

/** Returns the unfinished live migrations from this host, including those of deleted instances. */
function unfinishedMigrations({ context }: OperationServices): Promise<Migration[]> {
  return context.conductor.call("migrations_by_filters", {
    filters: {
      sourceCompute: context.host,
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
  {
    entry,
    migration,
    requestId,
  }: {
    readonly entry: OutgoingMigration;
    readonly migration: Migration;
    readonly requestId: string;
  },
): Promise<void> {
  const { conductor, driver, host } = services.context;
  entry.phase = "ending";
  const instance = await conductor.call("instance_get", { uuid: migration.instanceUuid, readDeleted: true });
  if (!instance) {
    return;
  }
  const copying = migration.status === "running" || migration.status === "running (post-copy)";
  const dest = migration.destCompute ?? "";
  const flow: Flow = {
    services,
    requestId,
    entry,
    dest,
    instance,
    migration,
    data: driverData({ sharedInstanceFiles: await filesAreShared(services, instance, dest, requestId) }),
    prepared: dest !== "",
    copying,
    outcome: null,
    progress: {},
    end: { status: "error" },
    isRecovery: true,
    arrived: false,
    error: undefined,
  };
  services.context.runtime.logger.info("ending an interrupted live migration", fieldsOf(flow));
  await endOrAbandon(flow, async () => {
    if (instance.deleted !== 0 || (instance.host !== host && !copying)) {
      return abandon(flow);
    }
    if (instance.host !== host) {
      await runSteps(services, POST_STEPS, { ...flow, arrived: true });
      return;
    }
    if (copying) {
      await attempt(services.context, instance.uuid, "stop the live migration", async () => {
        try {
          await driver.liveMigrationAbort(instance);
        } catch (error) {
          if (!(error instanceof NotImplemented)) {
            throw error;
          }
        }
      });
    }
    await endWhereGuestIs(flow);
  });
}

/**
 * Probes the storage, since the drivers' data is lost. Returns true also if the result is unknown: files then stay
 * (spec 3.3).
 */
async function filesAreShared(
  { context }: OperationServices,
  instance: Parameters<OperationServices["context"]["driver"]["checkInstanceSharedStorageLocal"]>[0],
  dest: string,
  requestId: string,
): Promise<boolean> {
  const { driver, conductor, runtime } = context;
  if (dest === "") {
    return true;
  }
  try {
    const token = await driver.checkInstanceSharedStorageLocal(instance);
    if (token === null) {
      return true;
    }
    try {
      const request = { instanceUuid: instance.uuid, token };
      return await conductor.callAgent(dest, "check_instance_shared_storage", request, { requestId });
    } finally {
      await driver.checkInstanceSharedStorageCleanup(token);
    }
  } catch (err) {
    if (err instanceof NotImplemented) {
      return false;
    }
    runtime.logger.warn("could not find out whether the storage is shared; files are kept", {
      instance: instance.uuid,
      err,
    });
    return true;
  }
}

/**
 * Finds leftovers of moves that an earlier process should have removed: guests of instances that are on other hosts.
 * Their last move from or to this host must be a completed live migration, or an evacuation to here that its source
 * completed. The records show the leftovers of other operations (spec 2.6).
 * @param others instances of guests on this hypervisor, without those that are known to be this host's
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

/** Returns whether it is an evacuation to here without a guest: none created yet, or already removed. */
function leavesNothing({ migrationType, status, destCompute }: Migration, host: string): boolean {
  return migrationType === "evacuation" && destCompute === host && ["accepted", "failed"].includes(status);
}

/**
 * Returns whether its source has completed this evacuation to here. The instance is elsewhere: if it had arrived, a
 * later move would have taken it away.
 */
function isLost({ migrationType, status, destCompute }: Migration, host: string): boolean {
  return migrationType === "evacuation" && destCompute === host && status === "completed";
}

/**
 * Removes a guest that an evacuation created here, if another evacuation has taken the instance elsewhere, and its
 * source has completed both: the guest is unused. The instance's lock prevents another evacuation to here from creating
 * one meanwhile.
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
    // The call to the other host may have taken long.
    requireHostLease(services.context, `remove the leftover guest of evacuation ${id} of instance ${uuid}`);
    await driver.destroy(instance, destroyOptions(!shared));
    const fields = { instance: uuid, migration: id };
    runtime.logger.warn("removed the leftover guest of an evacuation from before this agent started", fields);
  }
}

/** Removes leftovers, but never a running guest; guests of deleted instances are reaped (spec 3.5). */
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
    context.runtime.logger.warn("removed the leftovers of a live migration from before this agent started", fields);
  } catch (error) {
    if (!(error instanceof InstanceExists)) {
      throw error;
    }
    context.runtime.logger.warn("a leftover guest of a live migration is running: it is left alone", fields);
  }
}
