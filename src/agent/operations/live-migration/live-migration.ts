import { isConductorError } from "../../../conductor-client/errors.js";
import { POWER_STATES } from "../../../records/index.js";
import { hasQuirk } from "../../context.js";
import { type AdmissionRejection, admit, type Message } from "../flow/admission.js";
import type { Call, DemandingFlow, OperationServices, ReplyOf } from "../flow/contract.js";
import { attempt, mustNotUndo, recordingFault, withActionEvent } from "../flow/error-wrappers.js";
import { revertToSource } from "../flow/move-allocations.js";
import { LiveMigrationAborted, type OutgoingMigration } from "../flow/outgoing-migrations.js";
import { deleteMigration, freedAsDeleted } from "../flow/release-allocations.js";
import { runSteps } from "../flow/step-list.js";
import { COPY_STEPS } from "./copy-guest.js";
import { POST_STEPS } from "./finish-migration.js";
import { createFlow, DestinationFailed, driverData, type Flow, fieldsOf } from "./migration-flow.js";
import { cleanDestination, ROLLBACK_STEPS, saveEnd } from "./roll-back.js";

/** Spec 6.5 rows 5 to 9 on the source; returns when all of them are done. */
export const LIVE_MIGRATION: DemandingFlow<"live_migration"> = {
  steps: [COPY_STEPS, POST_STEPS, ROLLBACK_STEPS],
  handle: liveMigration,
};

async function liveMigration(call: Call<"live_migration">): Promise<ReplyOf<"live_migration">> {
  const { services, request, event } = call;
  const { instanceUuid, migrationId } = request;
  await services.outgoing.working(instanceUuid, migrationId, (entry) =>
    withActionEvent(services, event, () =>
      recordingFault(services, instanceUuid, async () => {
        const flow = await accept(call, entry);
        await runQueued(flow);
      }),
    ),
  );
  return null;
}

/** Row 5. @throws UnexpectedTaskState, InvalidMigrationState: the migration is no longer expected */
async function accept(call: Call<"live_migration">, entry: OutgoingMigration): Promise<Flow> {
  const { services, request } = call;
  const { migrationId, dest, data, requestId } = request;
  const result = await admit(services, call, request);
  if ("rejected" in result) {
    await revertRejectedMigration(services, request, result.rejected);
    throw result.rejected.error;
  }
  const { instance } = result.admitted;
  const migration = await services.conductor.call("migration_save", {
    id: migrationId,
    changes: { status: "queued" },
    expectedStatus: ["accepted"],
  });
  const blockMigration = request.blockMigration === null ? {} : { blockMigration: request.blockMigration };
  return createFlow({
    services,
    requestId,
    entry,
    dest,
    instance,
    migration,
    data: { ...driverData(data), ...blockMigration },
  });
}

async function runQueued(flow: Flow): Promise<void> {
  const { entry, services } = flow;
  if (services.outgoing.closed) {
    await cancel(flow, "error");
    return;
  }
  try {
    await services.outgoing.runQueued(entry, async () => {
      entry.phase = "preparing";
      await migrate(flow);
    });
  } catch (error) {
    if (!entry.queueSignal.aborted || entry.phase !== "queued") {
      throw error;
    }
    await cancel(flow, "cancelled");
  }
}

async function cancel(flow: Flow, status: Flow["end"]["status"]): Promise<void> {
  flow.end = { status };
  await endOrAbandon(flow, async () => {
    await runSteps(flow.services, ROLLBACK_STEPS, flow);
  });
}

/**
 * Spec 6.5 rows 6-9 on the source. If it cannot be completed now because Placement is unreachable, the records stay as
 * they are, and recovery completes it.
 * @throws the error, even after a rollback; an abort is no error
 */
async function migrate(flow: Flow): Promise<void> {
  try {
    await runSteps(flow.services, COPY_STEPS, flow);
  } catch (error) {
    // Another process has ended it, or may have.
    if (mustNotUndo(error) || isConductorError(error, "InvalidMigrationState")) {
      throw error;
    }
    flow.error = error;
  }
  await endOrAbandon(flow, () => end(flow));
  if (flow.error && !(flow.error instanceof LiveMigrationAborted)) {
    throw flow.error;
  }
}

async function end(flow: Flow): Promise<void> {
  const { services, outcome } = flow;
  if (outcome === "moved") {
    flow.error = undefined;
    await runSteps(services, POST_STEPS, flow);
  } else if (outcome !== null || !flow.copying) {
    flow.end = { status: outcome ?? (flow.error instanceof LiveMigrationAborted ? "cancelled" : "failed") };
    await runSteps(services, ROLLBACK_STEPS, flow);
  } else if (hasQuirk(services, "leave-interrupted-live-migration-allocations")) {
    await saveEnd(flow, { vmState: "error", taskState: null }, { status: "error" });
  } else {
    const { driver } = services;
    // A driver call that timed out may still be running.
    await attempt(services, flow.instance.uuid, "stop the live migration", () =>
      driver.liveMigrationAbort(flow.instance),
    );
    await endWhereGuestIs(flow, "error");
  }
}

/**
 * Ends a migration whose copy has no known outcome. A guest that is here stays here; otherwise it belongs to the
 * destination if the destination confirms that. If neither has the guest it is lost: the instance is set to error, on
 * the source.
 * @throws {DestinationFailed} the location of the guest is still unknown
 */
export async function endWhereGuestIs(flow: Flow, vmState?: "error"): Promise<void> {
  const { services, instance } = flow;
  if ((await services.driver.powerState(instance)) !== POWER_STATES.nostate) {
    flow.end = { status: "error", ...(vmState ? { vmState } : {}) };
    await runSteps(services, ROLLBACK_STEPS, flow);
    return;
  }
  try {
    await runSteps(services, POST_STEPS, { ...flow, isRecovery: true, error: undefined });
  } catch (error) {
    if (!(error instanceof DestinationFailed) || !error.hasNoGuest) {
      throw error;
    }
    services.logger.error("the guest is neither here nor on the destination", fieldsOf(flow));
    flow.end = { status: "error", vmState: "error" };
    await runSteps(services, ROLLBACK_STEPS, flow);
  }
}

/** @throws any error of `work`, unless the instance is gone: then all leftovers of the migration are removed */
export async function endOrAbandon(flow: Flow, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isConductorError(error, "InstanceNotFound")) {
      throw error;
    }
    await abandon(flow);
  }
}

/** Ends the migration of a deleted instance. Its guest here is gone or reaped; removes the other side's. */
export async function abandon(flow: Flow): Promise<void> {
  const { services, migration, requestId } = flow;
  services.logger.info("the instance was deleted, or is elsewhere: its live migration is abandoned", fieldsOf(flow));
  if (flow.prepared) {
    await cleanDestination(flow, true);
    await attempt(services, flow.instance.uuid, "remove the attachments of the live migration", () =>
      services.volumes.dropOthers(flow.instance),
    );
  }
  if (!(await freedAsDeleted(services, flow, { requestId }))) {
    await deleteMigration(services, migration, { requestId });
  }
  await services.conductor.call("migration_save", { id: migration.id, changes: { status: "error" } });
}

/** Reverts a migration that has not begun, and whose instance another request owns. */
async function revertRejectedMigration(
  services: OperationServices,
  { requestId }: Message,
  { kind, found }: AdmissionRejection,
): Promise<void> {
  if (kind === "ended" || !found?.migration) {
    return;
  }
  const { instance, migration } = found;
  await revertToSource(services, { instance, migration }, { requestId });
  const changes = { status: "error" } as const;
  await services.conductor.call("migration_save", { id: migration.id, changes, expectedStatus: ["accepted"] });
}
