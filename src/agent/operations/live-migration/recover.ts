import type { Migration } from "../../../records/index.js";
import { NotImplemented } from "../../../virt/errors.js";
import { hasQuirk, requestId as newRequestId } from "../../context.js";
import { forRequest } from "../call.js";
import type { OperationServices } from "../contract.js";
import { attempt } from "../flow/error-wrappers.js";
import { runSteps } from "../flow/step-list.js";
import { DestinationFailed } from "./destination-call.js";
import { POST_STEPS } from "./finish-migration.js";
import { driverData, type Flow, fieldsOf } from "./flow.js";
import { abandon, endOrAbandon, endWhereGuestIs } from "./migrate.js";
import type { OutgoingMigration } from "./outgoing-migration.js";
import { UNFINISHED } from "./unfinished.js";

/** Spec 2.6 OPT. What cannot be ended now is tried again later. */
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
    services.context.runtime.logger.warn("a live migration that was left halfway is tried again later", {
      instance: migration.instanceUuid,
      migration: migration.id,
      err,
    });
  }
}

/** The live migrations that this host is the source of, those of deleted instances included. */
function unfinishedMigrations({ context }: OperationServices): Promise<Migration[]> {
  return context.conductor.call("migrations_by_filters", {
    filters: {
      sourceCompute: context.host,
      migrationTypes: ["live-migration"],
      statuses: UNFINISHED,
      readDeleted: true,
    },
  });
}

/**
 * Ends a live migration that nobody works on (spec 2.6 OPT): where the guest is decides. May be repeated.
 * @throws what keeps it from ending now.
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
  services.context.runtime.logger.info("a live migration that was left halfway is brought to its end", fieldsOf(flow));
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
          await driver.moves.liveMigrationAbort(instance);
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

/** What the drivers had told each other is gone. True also where it cannot be found out: files then stay (spec 3.3). */
export async function filesAreShared(
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
