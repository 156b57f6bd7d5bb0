import { POWER_STATES } from "../../records/index.js";
import { hasQuirk, requestId } from "../context.js";
import { requireHostLease } from "../host-lease.js";
import { ignore } from "../ignore-errors.js";
import { destroyOptions, storageShared } from "../operations/flow/guest-options.js";
import type { AgentServices } from "../services.js";
import { type EvacuatedGuest, type EvacuationPlan, type EvacuationRecord, UNCLEANED } from "./plan.js";

/** The guests that the cleanup has dealt with, over all attempts. */
export class CleanUpProgress {
  /** Instances whose running guest was stopped and is retained. */
  readonly stopped = new Set<string>();
  /** Instances whose guest is retained. */
  readonly retained = new Set<string>();
}

/**
 * Runs a plan (spec 3.1): all guests first, then all allocations and records. An error of the driver or of Placement is
 * thrown before any later record changes, so the next attempt can continue with a new plan.
 */
export async function cleanUpEvacuated(
  services: AgentServices,
  plan: EvacuationPlan,
  progress: CleanUpProgress,
): Promise<void> {
  const request = requestId(services);
  for (const guest of plan.guests) {
    const { uuid } = guest.instance;
    if (guest.action === "destroy") {
      await destroyGuest(services, guest, request);
    } else if (!progress.retained.has(uuid)) {
      if (await stopGuest(services, guest, request)) {
        progress.stopped.add(uuid);
      }
      progress.retained.add(uuid);
    }
  }
  for (const record of plan.records) {
    await settleRecord(services, record, request);
  }
}

async function destroyGuest(services: AgentServices, guest: EvacuatedGuest, request: string): Promise<void> {
  const { instance, disks, migration, reason } = guest;
  const destroyDisks =
    disks.disks === "probe"
      ? !(await storageShared(services, instance, disks.probedHost, request))
      : disks.disks === "destroy";
  requireHostLease(services, `destroy the evacuated guest of instance ${instance.uuid}`);
  services.logger.info(
    `destroying the guest of an evacuated instance, ${destroyDisks ? "with" : "without"} its disks: ${reason}`,
    {
      instance: instance.uuid,
      migration: migration.id,
      request_id: request,
    },
  );
  await services.driver.destroy(instance, await destroyOptions(services, instance, destroyDisks));
  services.metrics.evacuatedGuest("destroyed");
}

/** Returns whether the guest was running. */
async function stopGuest(services: AgentServices, guest: EvacuatedGuest, request: string): Promise<boolean> {
  const { instance, migration, reason } = guest;
  const fields = { instance: instance.uuid, migration: migration.id, request_id: request, evacuation_pending: true };
  services.logger.warn(`stopping and retaining a guest whose evacuation has not ended: ${reason}`, fields);
  services.metrics.evacuatedGuest("kept");
  requireHostLease(services, `stop the guest of instance ${instance.uuid}`);
  const power = await services.driver.powerState(instance);
  if (power !== POWER_STATES.running && power !== POWER_STATES.paused) {
    return false;
  }
  await services.driver.powerOff(instance);
  return true;
}

async function settleRecord(services: AgentServices, record: EvacuationRecord, request: string): Promise<void> {
  const { migration, action, reason } = record;
  const fields = { instance: migration.instanceUuid, migration: migration.id, request_id: request };
  if (action === "wait") {
    return;
  }
  if (action === "skip") {
    services.logger.error(`cannot clean up after the evacuation: ${reason}`, fields);
    return;
  }
  if (action === "strip" && !(await stripAllocations(services, record, request))) {
    return;
  }
  requireHostLease(services, `complete migration ${migration.id}`);
  const write = { id: migration.id, changes: { status: "completed" }, expectedStatus: [...UNCLEANED] } as const;
  await services.conductor.call("migration_save", write, { requestId: request }).catch(
    ignore("InvalidMigrationState", (err) =>
      services.logger.warn("the evacuation's status changed during the cleanup; its record is left", {
        ...fields,
        err,
      }),
    ),
  );
}

/** Returns false if the allocations are not removed: the record stays for the next attempt (spec 3.3 GAP-a). */
async function stripAllocations(services: AgentServices, record: EvacuationRecord, request: string): Promise<boolean> {
  const { migration, node } = record;
  if (node === null) {
    return false;
  }
  requireHostLease(services, `remove this host's allocations of instance ${migration.instanceUuid}`);
  const forgets = hasQuirk(services, "forget-failed-strip");
  const stripped = await services.placement.removeProviderTreeFromInstanceAllocation(
    migration.instanceUuid,
    node.uuid,
    {
      requestId: request,
      retry: !forgets,
    },
  );
  if (stripped) {
    return true;
  }
  services.logger.error("could not remove this host's allocations of an evacuated instance", {
    instance: migration.instanceUuid,
    migration: migration.id,
    node: node.hypervisorHostname,
    request_id: request,
  });
  if (forgets) {
    return true;
  }
  const held = await services.placement.getAllocationsForConsumer(migration.instanceUuid, { requestId: request });
  return Object.keys(held.allocations).length === 0;
}
