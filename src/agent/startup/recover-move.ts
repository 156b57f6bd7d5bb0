import type { Instance } from "../../records/index.js";
import { LOCAL_DISKS } from "../block-devices.js";
import { storageShared } from "../evacuation/shared-storage.js";
import { finishSource, revertToSource } from "../operations/moves/move-allocations.js";
import type { AgentServices } from "../services.js";
import type { MoveRecovery } from "./plan-move-recovery.js";
import { endMove } from "./unless-taken.js";

/**
 * Carries out the recovery of a move: hypervisor, then allocations, then the records in one write, so that the instance
 * looks usable only when its allocations are right (spec V27). What fails is logged; the records stay for the next start.
 */
export async function recoverMove(
  services: AgentServices,
  instance: Instance,
  recovery: MoveRecovery,
  requestId: string,
): Promise<void> {
  const { migration, unclear } = recovery;
  const fields = { instance: instance.uuid, migration: migration?.id, request_id: requestId };
  if (unclear !== undefined) {
    services.logger.error(`a move that was interrupted is left as it is: ${unclear}`, fields);
    return;
  }
  await onHypervisor(services, instance, recovery, fields);
  if (!(await inPlacement(services, instance, recovery, requestId))) {
    services.logger.error(
      "the allocations of a move that was interrupted could not be put right; its records stay",
      fields,
    );
    return;
  }
  await onDestination(services, instance, recovery, requestId);
  const { uuid, taskState, host } = instance;
  await endMove(
    services,
    {
      instance: { uuid, changes: recovery.changes, expectedTaskState: [taskState], expectedHost: host },
      ...(recovery.failsMigration && migration
        ? { migration: { id: migration.id, changes: { status: "error" }, expectedStatus: [migration.status] } }
        : {}),
    },
    requestId,
  );
}

async function onHypervisor(
  services: AgentServices,
  instance: Instance,
  recovery: MoveRecovery,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  try {
    if (recovery.driver === "finish-revert") {
      await services.driver.finishRevertMigration(instance, {
        network: [],
        migration: recovery.migration,
        blockDevices: LOCAL_DISKS,
        powerOn: recovery.powerOn,
      });
    } else if (recovery.driver === "abort" && services.driver.supports("liveMigrationAbort")) {
      await services.driver.liveMigrationAbort(instance);
    }
  } catch (error) {
    services.logger.error("the hypervisor could not take back a move that was interrupted", { ...fields, err: error });
  }
}

/** What a live migration made ready there is removed as soon as that host serves. */
async function onDestination(
  services: AgentServices,
  instance: Instance,
  { migration, destination }: MoveRecovery,
  requestId: string,
): Promise<void> {
  if (!migration || !destination) {
    return;
  }
  const sharedInstanceFiles = await storageShared(services, instance, destination, requestId);
  await services.conductor.castAgent(destination, "rollback_live_migration_at_destination", {
    instanceUuid: instance.uuid,
    migrationId: migration.id,
    destroyDisks: !sharedInstanceFiles,
    data: { sharedInstanceFiles },
    requestId,
  });
}

async function inPlacement(
  services: AgentServices,
  instance: Instance,
  { migration, allocations }: MoveRecovery,
  requestId: string,
): Promise<boolean> {
  if (migration === null || allocations === "none") {
    return true;
  }
  try {
    const settle = allocations === "drop-migration" ? finishSource : revertToSource;
    await settle({ context: services }, { instance, migration }, { requestId });
    return true;
  } catch (error) {
    services.logger.error("Placement could not take back a move that was interrupted", {
      instance: instance.uuid,
      migration: migration.id,
      request_id: requestId,
      err: error,
    });
    return false;
  }
}
