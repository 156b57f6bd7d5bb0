import { isDeepStrictEqual } from "node:util";
import { DISK_INFO, type Instance, instanceResources, type Migration } from "../../records/index.js";
import { imageMeta, storageShared } from "../operations/flow/guest-options.js";
import { finishSource, heldHere, revertToSource } from "../operations/flow/move-allocations.js";
import { castSetAsideGoes } from "../operations/flow/other-moves.js";
import { freedAsDeleted } from "../operations/flow/release-allocations.js";
import { disksOf } from "../operations/states/power.js";
import type { AgentServices } from "../services.js";
import { takeBack } from "../volumes/live-attachments.js";
import type { MoveRecovery } from "./plan-move-recovery.js";
import { endMove } from "./unless-taken.js";

/**
 * Runs the recovery of a move: hypervisor, then allocations, then the records in one write, so that the instance
 * appears usable only with correct allocations (spec V27). Logs failures; the records then stay for the next start.
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
    services.logger.error(`an interrupted move is left as it is: ${unclear}`, fields);
    return;
  }
  const failed = !(await onHypervisor(services, instance, recovery, requestId, fields));
  if (!(await inPlacement(services, instance, recovery, requestId))) {
    services.logger.error("could not correct the allocations of an interrupted move; its records stay", fields);
    return;
  }
  if (!failed) {
    await onOtherHost(services, instance, recovery, requestId);
  }
  const { uuid, taskState, host } = instance;
  const changes = failed ? (recovery.changesIfFailed ?? recovery.changes) : recovery.changes;
  await endMove(
    services,
    {
      instance: {
        uuid,
        changes: recovery.revives ? { ...changes, taskRequestId: requestId } : changes,
        expectedTaskState: [taskState],
        expectedHost: host,
      },
      ...(recovery.failsMigration && migration
        ? { migration: { id: migration.id, changes: { status: "error" }, expectedStatus: [migration.status] } }
        : {}),
      ...(recovery.revives && migration
        ? { migration: { id: migration.id, changes: { status: "running" }, expectedStatus: [migration.status] } }
        : {}),
    },
    requestId,
  );
}

/** Returns false on failure. */
async function onHypervisor(
  services: AgentServices,
  instance: Instance,
  recovery: MoveRecovery,
  requestId: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  try {
    if (recovery.driver === "finish-revert") {
      await services.driver.finishRevertMigration(instance, {
        network: [],
        migration: recovery.migration,
        blockDevices: await services.volumes.connect(instance, { completes: false }),
        powerOn: recovery.powerOn,
      });
      await services.volumes.complete(instance);
    } else if (recovery.driver === "finish") {
      await finishHere(services, instance, recovery, requestId);
    } else if (recovery.driver === "abort" && services.driver.supports("liveMigrationAbort")) {
      await services.driver.liveMigrationAbort(instance);
    }
    if (recovery.destination) {
      // The guest is here, but the destination may have attached its volumes as well.
      await takeBack(services, instance, null);
    }
    return true;
  } catch (error) {
    services.logger.error("the hypervisor could not revert an interrupted move", { ...fields, err: error });
    return false;
  }
}

/** The destination may already have had the guest when it died. */
async function finishHere(
  services: AgentServices,
  instance: Instance,
  { migration, powerOn }: MoveRecovery,
  requestId: string,
): Promise<void> {
  const { driver, conductor, host } = services;
  const blockDevices = await services.volumes.connect(instance, { completes: false });
  if (await driver.instanceExists(instance)) {
    if (powerOn) {
      await driver.powerOn(instance, ...(await disksOf(services, instance)));
    }
    await services.volumes.complete(instance);
    return;
  }
  if (migration === null) {
    return;
  }
  const node = await conductor.call("compute_node_get_by_host_and_node", { host, node: instance.node ?? "" });
  const allocations = await heldHere(services, instance, node ?? undefined, { requestId });
  await driver.finishMigration(migration, instance, instance.systemMetadata[DISK_INFO] ?? "", {
    network: [],
    allocations,
    image: imageMeta(instance),
    resizeInstance: migration.oldInstanceTypeId !== migration.newInstanceTypeId,
    blockDevices,
    powerOn,
  });
  await services.volumes.complete(instance);
}

/** Makes the other host remove a live migration's preparations, or a cold move's set-aside guest, as soon as it serves. */
async function onOtherHost(
  services: AgentServices,
  instance: Instance,
  { migration, destination, guestGoes, dropsSetAside = false }: MoveRecovery,
  requestId: string,
): Promise<void> {
  if (migration && dropsSetAside) {
    await castSetAsideGoes(services, migration, requestId);
  }
  if (!migration || !destination) {
    return;
  }
  const sharedInstanceFiles = await storageShared(services, instance, destination, requestId);
  await services.conductor.castAgent(destination, "rollback_live_migration_at_destination", {
    instanceUuid: instance.uuid,
    migrationId: migration.id,
    destroyDisks: !sharedInstanceFiles,
    data: { sharedInstanceFiles },
    ...(guestGoes ? { guestGoes } : {}),
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
    if (allocations === "claim-destination") {
      return await claimDestination(services, instance, migration, requestId);
    }
    const settle = allocations === "drop-migration" ? finishSource : revertToSource;
    await settle(services, { instance, migration }, { requestId });
    return true;
  } catch (error) {
    services.logger.error("Placement could not revert an interrupted move", {
      instance: instance.uuid,
      migration: migration.id,
      request_id: requestId,
      err: error,
    });
    return false;
  }
}

/** Claims the destination for a guest that is there, unless the instance is deleted. Returns false without room. */
async function claimDestination(
  services: AgentServices,
  instance: Instance,
  migration: Migration,
  requestId: string,
): Promise<boolean> {
  const { conductor, placement } = services;
  const { destCompute, destNode } = migration;
  const node = await conductor.call("compute_node_get_by_host_and_node", {
    host: destCompute ?? "",
    node: destNode ?? "",
  });
  if (node === null) {
    return false;
  }
  const held = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  const resources = instanceResources(instance);
  // Amounts of another flavor are left over from a host that the instance was evacuated from.
  if (isDeepStrictEqual(held.allocations[node.uuid]?.resources, resources)) {
    return true;
  }
  const allocations = { ...held.allocations, [node.uuid]: { resources } };
  const { projectId, userId } = instance;
  const write = { read: held, allocations, projectId, userId };
  const claimed = await placement.putAllocations(instance.uuid, write, { requestId });
  await freedAsDeleted(services, { instance, migration }, { requestId });
  return claimed;
}
