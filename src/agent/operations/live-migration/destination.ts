import type { AgentMethods } from "../../../conductor/agent-methods.js";
import { InvalidMigrationState, ObjectActionError, UnexpectedTaskState } from "../../../conductor/errors.js";
import type { ParamsOf } from "../../../conductor/methods.js";
import {
  FINAL_MIGRATION_STATUSES,
  type Instance,
  MIGRATION_STATUSES,
  type Migration,
  POWER_STATES,
} from "../../../conductor/records/index.js";
import type { LiveMigrateData } from "../../../virt/move-types.js";
import { demand, type Message } from "../admission.js";
import { LOCAL_DISKS } from "../guest-options.js";
import type { OperationParts } from "../parts.js";
import { stepList } from "../step-list.js";
import { NO_GUEST } from "./destination-call.js";
import { driverData, moveOptions } from "./flow.js";

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
    adopt_guest: async ({ parts, instance, data }) => {
      const { driver, host } = parts.context;
      if (instance.host === host) return;
      if ((await driver.powerState(instance)) === POWER_STATES.nostate) {
        throw new ObjectActionError(`host ${host} has no guest of instance ${instance.uuid}`, { reason: NO_GUEST });
      }
      await driver.postLiveMigrationAtDestination(instance, moveOptions(data));
    },
    take_over: async ({ parts, instance, migration }) => {
      if (instance.host === parts.context.host) return;
      await takeOver(parts, instance, migration);
    },
  },
);

async function takeOver({ context, tracker }: OperationParts, instance: Instance, migration: Migration): Promise<void> {
  const powerState = await context.driver.powerState(instance);
  const node = migration.destNode ?? context.host;
  try {
    await tracker.finishLiveMigration(instance, node, { taskState: null, powerState, progress: 0 }, ["migrating"]);
  } catch (error) {
    if (!(error instanceof UnexpectedTaskState)) throw error;
    // It is being deleted: that goes on here, where the guest is.
    await tracker.finishLiveMigration(instance, node, { powerState });
  }
}

export const ROLLBACK_AT_DESTINATION_STEPS = stepList<Incoming<"rollback_live_migration_at_destination">>(
  "rollback_live_migration_at_destination",
  {
    remove_guest: async ({ parts, request, instance, migration, data }) => {
      const { context } = parts;
      const why = await reasonToKeep(parts, instance, migration);
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
      await context.driver.rollbackLiveMigrationAtDestination(instance, options);
    },
  },
);

/** The request may be old: it waits for a destination that was away. */
async function reasonToKeep({ context }: OperationParts, instance: Instance, migration: Migration) {
  if (instance.deleted !== 0) return null;
  if (instance.host === context.host) return "the instance is here";
  const others = await context.conductor.call("migrations_by_filters", {
    filters: {
      instanceUuid: instance.uuid,
      destCompute: context.host,
      statuses: MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status)),
    },
  });
  return others.some(({ id }) => id !== migration.id) ? "another migration brings the instance here" : null;
}

/** @throws InstanceNotFound, UnexpectedTaskState: it is not for this host to carry out, or not any more. */
export async function receive<M extends IncomingMethod>(
  parts: OperationParts,
  method: M,
  request: Request<M> & Message & { readonly data?: Readonly<Record<string, unknown>> },
): Promise<Incoming<M>> {
  const { instance, migration } = await demand(parts.context, method, request);
  if (!migration) throw new InvalidMigrationState(`${method} names no migration of instance ${instance.uuid}`);
  return { parts, request, instance, migration, data: driverData(request.data ?? {}) };
}
