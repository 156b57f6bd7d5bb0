import { ConductorError } from "../../../conductor-client/errors.js";
import type { Instance } from "../../../records/index.js";
import { demand } from "../flow/admission.js";
import type { Call, DemandingFlow, OperationServices } from "../flow/contract.js";
import { recordingFault, withActionEvent } from "../flow/error-wrappers.js";
import type { OutgoingMigration } from "../flow/outgoing-migrations.js";
import { runSteps, type StepList, stepList } from "../flow/step-list.js";

/** A user's request about a running live migration, on its source. */
interface Control {
  readonly services: OperationServices;
  readonly instanceUuid: string;
  readonly migrationId: number;
  /** The migration in this process; undefined if this process does not work on it. */
  readonly entry: OutgoingMigration | undefined;
}

const ABORT_STEPS = stepList<Control>("live_migration_abort", {
  check_state: async ({ services, migrationId, entry }) => {
    const status = await statusOf(services, migrationId);
    const abortable = ["queued", "preparing", "running"].includes(status ?? "");
    if (entry && abortable && entry.phase !== "ending") {
      return;
    }
    const over = entry?.phase === "ending" ? ", but its guest has arrived or is back" : "";
    throw new ConductorError(
      "InvalidMigrationState",
      `live migration ${migrationId} is ${status}${entry ? over : ", and not under way on this host"}: ` +
        "only one that is queued, preparing or running can be aborted",
    );
  },
  stop: async ({ services, instanceUuid, entry }) => {
    if (entry?.phase === "running") {
      await services.driver.liveMigrationAbort(await findInstance(services, instanceUuid));
    }
    entry?.abort();
  },
});

const FORCE_COMPLETE_STEPS = stepList<Control>("live_migration_force_complete", {
  check_state: async ({ services, migrationId, entry }) => {
    const status = await statusOf(services, migrationId);
    if (status === "running" && entry?.phase === "running") {
      return;
    }
    throw new ConductorError(
      "InvalidMigrationState",
      `live migration ${migrationId} is ${status}: only one that is running can be forced to complete`,
    );
  },
  force: async ({ services, instanceUuid }) => {
    await services.driver.liveMigrationForceComplete(await findInstance(services, instanceUuid));
  },
});

/** Spec 6.5 "Abort". Before the driver runs it, a migration is stopped between its steps. @throws InvalidMigrationState */
export const ABORT_LIVE_MIGRATION: DemandingFlow<"live_migration_abort"> = {
  steps: [ABORT_STEPS],
  handle: (call) => control(call, ABORT_STEPS),
};

/** Spec 6.5 "Force-complete". @throws InvalidMigrationState */
export const FORCE_COMPLETE_LIVE_MIGRATION: DemandingFlow<"live_migration_force_complete"> = {
  steps: [FORCE_COMPLETE_STEPS],
  handle: (call) => control(call, FORCE_COMPLETE_STEPS),
};

async function control(
  call: Call<"live_migration_abort" | "live_migration_force_complete">,
  steps: StepList<Control>,
): Promise<null> {
  const { services, request, event } = call;
  const { instanceUuid, migrationId } = request;
  await withActionEvent(services, event, () =>
    recordingFault(services, instanceUuid, async () => {
      await demand(services, call, request);
      await runSteps(services, steps, {
        services,
        instanceUuid,
        migrationId,
        entry: services.outgoing.find(migrationId),
      });
    }),
  );
  return null;
}

async function statusOf(services: OperationServices, id: number): Promise<string | undefined> {
  return (await services.conductor.call("migration_get", { id }))?.status;
}

/** @throws {InstanceNotFound} */
async function findInstance(services: OperationServices, uuid: string): Promise<Instance> {
  const instance = await services.conductor.call("instance_get", { uuid });
  if (!instance) {
    throw new ConductorError("InstanceNotFound", `instance ${uuid} is not known, or deleted`);
  }
  return instance;
}
