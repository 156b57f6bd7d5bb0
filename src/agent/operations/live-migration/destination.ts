import { ConductorError, isConductorError } from "../../../conductor-client/errors.js";
import { type Instance, type Migration, POWER_STATES, type TaskState } from "../../../records/index.js";
import { InstanceExists } from "../../../virt/errors.js";
import type { LiveMigrateData } from "../../../virt/move-methods.js";
import { ignore } from "../../ignore-errors.js";
import { attachToBoth } from "../../volumes/live-attachments.js";
import { demand } from "../flow/admission.js";
import type { Call, DemandingFlow, OperationServices, RequestOf } from "../flow/contract.js";
import { withActionEvent } from "../flow/error-wrappers.js";
import { destroyOptions } from "../flow/guest-options.js";
import { runSteps, stepList } from "../flow/step-list.js";
import { driverData, GUEST_RUNS, moveOptions, NO_GUEST, reasonToKeep } from "./migration-flow.js";

type IncomingMethod =
  | "pre_live_migration"
  | "post_live_migration_at_destination"
  | "rollback_live_migration_at_destination";

/** One request of the source, on the destination. */
interface Incoming<M extends IncomingMethod> {
  readonly services: OperationServices;
  readonly request: RequestOf<M>;
  readonly instance: Instance;
  readonly migration: Migration;
  data: LiveMigrateData;
}

const PRE_STEPS = stepList<Incoming<"pre_live_migration">>("pre_live_migration", {
  prepare_guest: async (incoming) => {
    const { services, instance, data } = incoming;
    incoming.data = await attachToBoth(services.volumes, instance, (blockDevices) =>
      services.driver.preLiveMigration(instance, { network: [], blockDevices, data }),
    );
  },
});

const POST_STEPS = stepList<Incoming<"post_live_migration_at_destination">>("post_live_migration_at_destination", {
  adopt_guest: async ({ services, instance, migration, data }) => {
    const { driver, host } = services;
    if (instance.host === host) {
      return;
    }
    assertOnSource(instance, migration);
    if ((await driver.powerState(instance)) === POWER_STATES.nostate) {
      throw new ConductorError("ObjectActionError", `host ${host} has no guest of instance ${instance.uuid}`, {
        reason: NO_GUEST,
      });
    }
    await driver.postLiveMigrationAtDestination(instance, await moveOptions(services, instance, data));
  },
  take_over: async ({ services, instance, migration }) => {
    if (instance.host === services.host) {
      return;
    }
    await takeOver(services, instance, migration);
  },
});

/** @throws {InvalidMigrationState} the instance has left the source: the guest is not this migration's */
function assertOnSource({ uuid, host }: Instance, { id, sourceCompute }: Migration): void {
  if (host === sourceCompute) {
    return;
  }
  throw new ConductorError(
    "InvalidMigrationState",
    `instance ${uuid} is on host ${host}, and not on ${sourceCompute}, from which live migration ${id} brings it: ` +
      "it has moved on, and is not taken over",
  );
}

/** Takes the instance over from the source while it migrates or is being deleted; a delete continues here. */
async function takeOver(services: OperationServices, instance: Instance, migration: Migration): Promise<void> {
  const powerState = await services.driver.powerState(instance);
  const node = migration.destNode ?? services.host;
  const source = migration.sourceCompute;
  try {
    const changes = { taskState: null, powerState, progress: 0 };
    await services.tracker.finishLiveMigration(instance, node, changes, { source, taskState: ["migrating"] });
  } catch (error) {
    if (!(isConductorError(error, "UnexpectedTaskState") && DELETES.includes(error.data.actual as TaskState | null))) {
      throw error;
    }
    const taken = await services.tracker.finishLiveMigration(
      instance,
      node,
      { powerState },
      { source, taskState: DELETES },
    );
    // The delete's message waits on the source for the end of the live migration and is forwarded from there, unless
    // the source dies.
    if (taken.taskRequestId !== null) {
      services.interrupted.add({ instanceUuid: taken.uuid, requestId: taken.taskRequestId });
    }
  }
}

const DELETES: readonly (TaskState | null)[] = ["deleting", "soft-deleting"];

const ROLLBACK_STEPS = stepList<Incoming<"rollback_live_migration_at_destination">>(
  "rollback_live_migration_at_destination",
  {
    remove_guest: removeUnwanted,
  },
);

async function removeUnwanted(incoming: Incoming<"rollback_live_migration_at_destination">): Promise<void> {
  const { services, instance, migration } = incoming;
  const why = await reasonToKeep(services, migration);
  if (why !== null) {
    services.logger.warn("the leftovers of a live migration are kept", {
      instance: instance.uuid,
      migration: migration.id,
      reason: why,
    });
    return;
  }
  await removeArrived(services, { ...incoming.request, ...incoming });
}

/**
 * Removes everything that a live migration created here. Removes a running guest only if the caller has verified that
 * the instance has one elsewhere.
 * @throws InstanceExists
 */
export async function removeArrived(
  services: OperationServices,
  {
    instance,
    migration,
    data,
    destroyDisks,
    guestGoes = false,
  }: Pick<Incoming<IncomingMethod>, "instance" | "migration" | "data"> &
    Pick<RequestOf<"rollback_live_migration_at_destination">, "destroyDisks" | "guestGoes">,
): Promise<void> {
  const options = { ...(await destroyOptions(services, instance, destroyDisks)), data };
  try {
    await services.driver.rollbackLiveMigrationAtDestination(instance, options);
  } catch (error) {
    if (!(error instanceof InstanceExists && guestGoes)) {
      throw error;
    }
    services.logger.warn(
      "removing the guest of a live migration: it runs here, but the instance belongs to another host",
      {
        instance: instance.uuid,
        migration: migration.id,
      },
    );
    await services.driver.destroy(instance, await destroyOptions(services, instance, destroyDisks));
  }
}

/**
 * Spec 6.5 row 6. A rollback waits for the preparation that its source has abandoned, as both need the instance's lock.
 * From here on the instance counts as an incoming move of this host (spec 2.8).
 */
export const PRE_LIVE_MIGRATION: DemandingFlow<"pre_live_migration"> = { steps: [PRE_STEPS], handle: prepare };

/** Spec 6.5 row 8. A repeated request finds the instance here, and returns. */
export const POST_AT_DESTINATION: DemandingFlow<"post_live_migration_at_destination"> = {
  steps: [POST_STEPS],
  handle: takeGuest,
};

/** Does nothing for an instance that is here, or that another migration is bringing here. */
export const ROLLBACK_AT_DESTINATION: DemandingFlow<"rollback_live_migration_at_destination"> = {
  steps: [ROLLBACK_STEPS],
  handle: rollBack,
};

function prepare(call: Call<"pre_live_migration">): Promise<LiveMigrateData> {
  const { services, request, caller, event } = call;
  const { migrationId, instanceUuid } = request;
  return withActionEvent(services, event, async () => {
    caller.assertCallerWaiting();
    services.incoming.begin(migrationId, instanceUuid);
    try {
      const incoming = await receive(call, request.data);
      await runSteps(services, PRE_STEPS, incoming);
      return incoming.data;
    } catch (error) {
      services.incoming.end(migrationId);
      throw error;
    }
  });
}

/** Runs the end of a move to this host, with or without success. */
async function endMove(
  { services, request, caller, event }: Call<Exclude<IncomingMethod, "pre_live_migration">>,
  work: () => Promise<unknown>,
): Promise<null> {
  try {
    await withActionEvent(services, event, async () => {
      caller.assertCallerWaiting();
      await work();
    });
    return null;
  } finally {
    services.incoming.end(request.migrationId);
  }
}

/** @throws ObjectActionError if the guest is not here, with `reason: "no guest"` in its data */
function takeGuest(call: Call<"post_live_migration_at_destination">): Promise<null> {
  return endMove(call, async () => runSteps(call.services, POST_STEPS, await receive(call, {})));
}

function rollBack(call: Call<"rollback_live_migration_at_destination">): Promise<null> {
  const { services, request } = call;
  return endMove(call, async () => {
    const incoming = await receive(call, request.data);
    try {
      await runSteps(services, ROLLBACK_STEPS, incoming);
    } catch (error) {
      // A running guest is never removed without an explicit request.
      if (error instanceof InstanceExists) {
        throw new ConductorError("ObjectActionError", error.message, { reason: GUEST_RUNS });
      }
      services.left.add(request.instanceUuid, () => removeUnwanted(incoming).catch(ignore(InstanceExists)));
      throw error;
    }
  });
}

/** @throws InstanceNotFound, UnexpectedTaskState: this host may not process the request, or no longer */
async function receive<M extends IncomingMethod>(
  call: Call<M>,
  data: Readonly<Record<string, unknown>>,
): Promise<Incoming<M>> {
  const { services, method, request } = call;
  const { instance, migration } = await demand(services, call, request);
  if (!migration) {
    throw new ConductorError("InvalidMigrationState", `${method} names no migration of instance ${instance.uuid}`);
  }
  return { services, request, instance, migration, data: driverData(data) };
}
