import { InvalidMigrationState, ObjectActionError, UnexpectedDeletingTaskState } from "../../../conductor/errors.js";
import type { AgentMethods } from "../../../conductor/methods/agent.js";
import type { ParamsOf } from "../../../conductor/methods/method.js";
import { type Instance, type Migration, POWER_STATES } from "../../../records/index.js";
import { InstanceExists } from "../../../virt/errors.js";
import type { LiveMigrateData } from "../../../virt/move-types.js";
import { LOCAL_DISKS } from "../../block-devices.js";
import { demand, type Message } from "../admission/admission.js";
import { destroyOptions } from "../flow/guest-options.js";
import { stepList } from "../flow/step-list.js";
import type { OperationParts } from "../parts.js";
import { NO_GUEST } from "./destination-call.js";
import { driverData, moveOptions } from "./flow.js";
import { reasonToKeep } from "./reason-to-keep.js";

type IncomingMethod =
  | "pre_live_migration"
  | "post_live_migration_at_destination"
  | "rollback_live_migration_at_destination";

type Request<M extends keyof AgentMethods> = ParamsOf<AgentMethods, M>;

/** One request of the source, on the destination. */
export interface Incoming<M extends keyof AgentMethods> {
  readonly parts: OperationParts;
  readonly request: Request<M>;
  readonly instance: Instance;
  readonly migration: Migration;
  data: LiveMigrateData;
}

/** Spec 6.5 row 6. */
export const PRE_STEPS = stepList<Incoming<"pre_live_migration">>("pre_live_migration", {
  prepare_guest: async (incoming) => {
    const { parts, instance, data } = incoming;
    incoming.data = await parts.context.driver.preLiveMigration(instance, moveOptions(data));
  },
});

/** Spec 6.5 row 8. A repeated request finds the instance here, and is done. */
export const POST_AT_DESTINATION_STEPS = stepList<Incoming<"post_live_migration_at_destination">>(
  "post_live_migration_at_destination",
  {
    adopt_guest: async ({ parts, instance, migration, data }) => {
      const { driver, host } = parts.context;
      if (instance.host === host) {
        return;
      }
      refuseTaken(instance, migration);
      if ((await driver.powerState(instance)) === POWER_STATES.nostate) {
        throw new ObjectActionError(`host ${host} has no guest of instance ${instance.uuid}`, { reason: NO_GUEST });
      }
      await driver.postLiveMigrationAtDestination(instance, moveOptions(data));
    },
    take_over: async ({ parts, instance, migration }) => {
      if (instance.host === parts.context.host) {
        return;
      }
      await takeOver(parts, instance, migration);
    },
  },
);

/** @throws {InvalidMigrationState} the instance has left the migration's source, so that the guest is somebody else's. */
function refuseTaken({ uuid, host }: Instance, { id, sourceCompute }: Migration): void {
  if (host === sourceCompute) {
    return;
  }
  throw new InvalidMigrationState(
    `instance ${uuid} is on host ${host}, and not on ${sourceCompute}, from which live migration ${id} brings it: ` +
      "it has moved on, and is not taken over",
  );
}

/** Only from the source, and only while it migrates, or is being deleted: then the delete goes on here, where the guest is. */
async function takeOver({ context, tracker }: OperationParts, instance: Instance, migration: Migration): Promise<void> {
  const powerState = await context.driver.powerState(instance);
  const node = migration.destNode ?? context.host;
  const source = migration.sourceCompute;
  try {
    const changes = { taskState: null, powerState, progress: 0 };
    await tracker.finishLiveMigration(instance, node, changes, { source, taskState: ["migrating"] });
  } catch (error) {
    if (!(error instanceof UnexpectedDeletingTaskState)) {
      throw error;
    }
    await tracker.finishLiveMigration(instance, node, { powerState }, { source, taskState: ["deleting"] });
  }
}

export const ROLLBACK_AT_DESTINATION_STEPS = stepList<Incoming<"rollback_live_migration_at_destination">>(
  "rollback_live_migration_at_destination",
  {
    remove_guest: async ({ parts, request, instance, migration, data }) => {
      const { context } = parts;
      const why = await reasonToKeep(parts, migration);
      if (why !== null) {
        context.runtime.logger.warn("what a live migration left here is kept", {
          instance: instance.uuid,
          migration: migration.id,
          reason: why,
        });
        return;
      }
      const { destroyDisks } = request;
      const options = { network: [], blockDevices: LOCAL_DISKS, destroyDisks, data };
      try {
        await context.driver.rollbackLiveMigrationAtDestination(instance, options);
      } catch (error) {
        if (!(error instanceof InstanceExists && (await isEvacuated(parts, migration)))) {
          throw error;
        }
        context.runtime.logger.warn("the guest of a live migration runs here, and its instance is evacuated: it goes", {
          instance: instance.uuid,
          migration: migration.id,
        });
        await context.driver.destroy(instance, destroyOptions(destroyDisks));
      }
    },
  },
);

/** The operators have given the source up before the guest was this host's by the records: it is made anew elsewhere. */
async function isEvacuated({ context }: OperationParts, { id, instanceUuid }: Migration): Promise<boolean> {
  const filters = { instanceUuid, migrationTypes: ["evacuation"] } as const;
  return (await context.conductor.call("migrations_by_filters", { filters })).some((evacuation) => evacuation.id > id);
}

/** @throws InstanceNotFound, UnexpectedTaskState: it is not for this host to carry out, or not any more. */
export async function receive<M extends IncomingMethod>(
  parts: OperationParts,
  method: M,
  request: Request<M> & Message & { readonly data?: Readonly<Record<string, unknown>> },
): Promise<Incoming<M>> {
  const { instance, migration } = await demand(parts.context, method, request);
  if (!migration) {
    throw new InvalidMigrationState(`${method} names no migration of instance ${instance.uuid}`);
  }
  return { parts, request, instance, migration, data: driverData(request.data ?? {}) };
}
