import { createAllocationError } from "../../../placement-client/errors.js";
import {
  DISK_INFO,
  FINAL_MIGRATION_STATUSES,
  type Flavor,
  flavorColumns,
  type Instance,
  type InstanceChanges,
  type Migration,
  SET_ASIDE_BY,
} from "../../../records/index.js";
import { restoreSourceAllocations } from "./source-allocations.js";
import type { TaskDeps } from "./task-deps.js";

/**
 * Ends unfinished moves of the dead host, as if they had failed, before an evacuation. Until the instance is on the
 * destination, it gets the source allocations back; afterwards it keeps the destination allocations. Safe to repeat.
 * @param evacuation has no allocations yet; its destination may already be set, and may be the destination of a move
 * @throws {AllocationMoveFailed} if the source allocations could not be returned
 */
export async function endSupersededMoves(
  deps: TaskDeps,
  instance: Instance,
  evacuation: Migration,
  requestId: string,
): Promise<void> {
  for (const migration of await unsettledMoves(deps, instance, evacuation, requestId)) {
    const arrived = migration.sourceCompute !== instance.host;
    deps.logger.warn(`${migration.migrationType} ${migration.id} ended: its instance is being evacuated`, {
      instance: instance.uuid,
      host: instance.host,
      status: migration.status,
      request_id: requestId,
    });
    if (arrived) {
      await dropSource(deps, instance, migration, requestId);
    } else {
      await takeSourceBack(deps, instance, migration, evacuation, requestId);
    }
    deps.store.transaction(() => {
      deps.store.migrations.save(migration.id, { status: "error" });
      deps.store.instances.save(instance.uuid, afterMove(instance, migration, arrived));
      if (!arrived) {
        deps.store.requests.changeSpec(instance.uuid, { flavor: flavorsOf(instance, migration).before });
      }
      if (isUnderWay(migration)) {
        castCleanUp(deps, migration, arrived, requestId);
      }
    });
  }
}

const isUnderWay = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);

/** Includes moves that an agent, noticing the evacuation first, set to error without having moved the allocations yet. */
async function unsettledMoves(
  { store, placement }: TaskDeps,
  instance: Instance,
  evacuation: Migration,
  requestId: string,
): Promise<readonly Migration[]> {
  const { uuid: instanceUuid } = instance;
  const moves = store.migrations.byFilters({ instanceUuid, migrationTypes: ["migration", "resize", "live-migration"] });
  const underWay = moves.filter(isUnderWay);
  const last = moves.at(-1);
  if (last?.status !== "error") {
    return underWay;
  }
  if (isEndedByEvacuation(store, instance, last, evacuation)) {
    return [...underWay, last];
  }
  const { allocations } = await placement.getAllocationsForConsumer(last.uuid, { requestId });
  const isWritten = isItsOwn(instance.newFlavor, last, "newInstanceTypeId");
  return isWritten || Object.keys(allocations).length > 0 ? [...underWay, last] : underWay;
}

/**
 * Returns true if an earlier, failed evacuation ended the move when the instance was already on the destination. The
 * source may still have a guest; after an earlier release ended the move, no record of the instance shows it.
 */
function isEndedByEvacuation(
  store: TaskDeps["store"],
  { uuid: instanceUuid, host, systemMetadata }: Instance,
  { id, migrationType, sourceCompute, destCompute }: Migration,
  evacuation: Migration,
): boolean {
  const isNamed = systemMetadata[SET_ASIDE_BY] === String(id);
  if (
    isNamed ||
    migrationType === "live-migration" ||
    destCompute === null ||
    destCompute !== host ||
    sourceCompute === host
  ) {
    return false;
  }
  return store.migrations
    .byFilters({ instanceUuid, migrationTypes: ["evacuation"], sourceCompute: destCompute })
    .some((other) => other.id > id && other.id !== evacuation.id);
}

/** With `doubled`, the instance itself has the source allocations. */
async function dropSource(deps: TaskDeps, instance: Instance, migration: Migration, requestId: string) {
  const { store, placement } = deps;
  if (await placement.deleteAllocation(migration.uuid, { force: true, requestId })) {
    return;
  }
  const source = store.computeNodes.getByHostAndNode(migration.sourceCompute ?? "", migration.sourceNode ?? "");
  if (source === null) {
    return;
  }
  const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
  if (allocations[source.uuid] === undefined) {
    return;
  }
  await placement.removeProviderTreeFromInstanceAllocation(instance.uuid, source.uuid, { retry: true, requestId });
}

/** Retries, since an agent that cancels the move may write at the same time, and Placement then rejects one of the writes. */
const ATTEMPTS = 3;

async function takeSourceBack(
  deps: TaskDeps,
  instance: Instance,
  migration: Migration,
  supersededBy: Migration,
  requestId: string,
) {
  const flavor = flavorsOf(instance, migration).after;
  const move = { instance, migration, supersededBy: supersededBy, flavor, requestId, restarted: true, held: null };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await restoreSourceAllocations(deps, move)) {
      return;
    }
  }
  throw createAllocationError(
    "AllocationMoveFailed",
    `${migration.uuid} to consumer ${instance.uuid}`,
    "Placement rejected the change; evacuate the server again",
  );
}

/**
 * Returns true if the instance must refer to the move until the evacuation ends. After a cold move has arrived, the
 * source has a shut-off guest. Until the destination has finished, that is the only copy of the disks; afterwards it
 * would block an evacuation to that host. In a live migration, the guest may be on either host.
 */
function isSetAside({ migrationType, status }: Migration, arrived: boolean): boolean {
  if (migrationType === "live-migration") {
    return !arrived && (status === "running" || status === "running (post-copy)");
  }
  return arrived || status !== "pre-migrating";
}

function afterMove(instance: Instance, migration: Migration, arrived: boolean): InstanceChanges {
  const { old_vm_state, [DISK_INFO]: diskInfo, ...systemMetadata } = instance.systemMetadata;
  const { before, after } = flavorsOf(instance, migration);
  // The destination recreates its guest from this when it takes the instance back. A finished move already has a guest
  // there.
  const isUnfinished = arrived && migration.status === "post-migrating";
  return {
    ...flavorColumns(arrived ? after : before),
    oldFlavor: null,
    newFlavor: null,
    migrationContext: null,
    systemMetadata: isSetAside(migration, arrived)
      ? {
          ...systemMetadata,
          ...(isUnfinished ? { [DISK_INFO]: diskInfo ?? "" } : {}),
          ...(migration.migrationType === "live-migration" ? {} : { old_vm_state: old_vm_state ?? instance.vmState }),
          [SET_ASIDE_BY]: String(migration.id),
        }
      : systemMetadata,
  };
}

/** For a move on one host, the instance has the new flavor once finished, although it is still on its source. */
function flavorsOf(instance: Instance, migration: Migration): { readonly before: Flavor; readonly after: Flavor } {
  const { flavor, oldFlavor, newFlavor } = instance;
  return {
    before: isItsOwn(oldFlavor, migration, "oldInstanceTypeId") ? oldFlavor : flavor,
    after: isItsOwn(newFlavor, migration, "newInstanceTypeId") ? newFlavor : flavor,
  };
}

/** Returns true if the flavor belongs to this move. A failed revert leaves flavors of its resize in the instance. */
function isItsOwn(
  found: Flavor | null,
  migration: Migration,
  column: "oldInstanceTypeId" | "newInstanceTypeId",
): found is Flavor {
  const { migrationType, [column]: id } = migration;
  return found !== null && migrationType !== "live-migration" && (id === null || id === found.id);
}

/**
 * Casts the cleanup to the destination of a live migration, which receives it when it returns. Files on shared storage
 * are retained. The guest of a deferred move is removed when the evacuation is done.
 */
function castCleanUp({ bus }: TaskDeps, migration: Migration, arrived: boolean, requestId: string): void {
  const { id: migrationId, instanceUuid, migrationType, destCompute } = migration;
  if (arrived || migrationType !== "live-migration" || destCompute === null || isSetAside(migration, arrived)) {
    return;
  }
  const data = { sharedInstanceFiles: true };
  const params = { instanceUuid, migrationId, requestId, destroyDisks: false, data };
  bus.cast(destCompute, "rollback_live_migration_at_destination", params, requestId);
}
