import { AllocationMoveFailed } from "../../../placement/errors.js";
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
import { restoreSourceHalf } from "./source-half.js";
import type { TaskDeps } from "./task-deps.js";

/**
 * Ends the moves that the dead host of an evacuation was in the middle of, as they end when they fail. Until the instance is
 * the destination's, it gets the source's half back; from then on it keeps the destination's. May be repeated.
 * @param evacuation has claimed nothing yet, though its destination may be known, and be that of a move
 * @throws {AllocationMoveFailed} the source's half could not be given back
 */
export async function endOvertakenMoves(
  deps: TaskDeps,
  instance: Instance,
  evacuation: Migration,
  requestId: string,
): Promise<void> {
  for (const migration of await unsettledMoves(deps, instance, requestId)) {
    const arrived = migration.sourceCompute !== instance.host;
    deps.logger.warn(`${migration.migrationType} ${migration.id} is ended: its instance is evacuated`, {
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
        restoreSpec(deps, instance.uuid, flavorsOf(instance, migration).before);
      }
      if (isUnderWay(migration)) {
        castCleanUp(deps, migration, arrived, requestId);
      }
    });
  }
}

const isUnderWay = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);

/** An agent that noticed the evacuation first may have set its move to error, and not have come to its allocations yet. */
async function unsettledMoves(
  { store, placement }: TaskDeps,
  instance: Instance,
  requestId: string,
): Promise<readonly Migration[]> {
  const { uuid: instanceUuid } = instance;
  const moves = store.migrations.byFilters({ instanceUuid, migrationTypes: ["migration", "resize", "live-migration"] });
  const underWay = moves.filter(isUnderWay);
  const last = moves.at(-1);
  if (last?.status !== "error") {
    return underWay;
  }
  const { allocations } = await placement.getAllocationsForConsumer(last.uuid, { requestId });
  const isWritten = isItsOwn(instance.newFlavor, last, "newInstanceTypeId");
  return isWritten || Object.keys(allocations).length > 0 ? [...underWay, last] : underWay;
}

/** `doubled`: the instance itself holds the source's half. */
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

/** An agent that gives the move up may write at the same moment, which refuses one of the two. */
const ATTEMPTS = 3;

async function takeSourceBack(
  deps: TaskDeps,
  instance: Instance,
  migration: Migration,
  overtakenBy: Migration,
  requestId: string,
) {
  const flavor = flavorsOf(instance, migration).after;
  const move = { instance, migration, overtakenBy, flavor, requestId, restarted: true, held: null };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await restoreSourceHalf(deps, move)) {
      return;
    }
  }
  throw new AllocationMoveFailed(migration.uuid, instance.uuid, "Placement refused it; evacuate the server again");
}

/**
 * Until the destination of a cold move has finished, the one copy of the guest's disks may be what the source has set aside; of
 * a live one, the guest may be at either.
 */
function isSetAside({ migrationType, status }: Migration, arrived: boolean): boolean {
  if (migrationType === "live-migration") {
    return !arrived && (status === "running" || status === "running (post-copy)");
  }
  return arrived ? status === "post-migrating" : status !== "pre-migrating";
}

function afterMove(instance: Instance, migration: Migration, arrived: boolean): InstanceChanges {
  const { old_vm_state, [DISK_INFO]: diskInfo, ...systemMetadata } = instance.systemMetadata;
  const { before, after } = flavorsOf(instance, migration);
  return {
    ...flavorColumns(arrived ? after : before),
    oldFlavor: null,
    newFlavor: null,
    migrationContext: null,
    systemMetadata: isSetAside(migration, arrived)
      ? {
          ...systemMetadata,
          ...(arrived && diskInfo !== undefined ? { [DISK_INFO]: diskInfo } : {}),
          ...(migration.migrationType === "live-migration" ? {} : { old_vm_state: old_vm_state ?? instance.vmState }),
          [SET_ASIDE_BY]: String(migration.id),
        }
      : systemMetadata,
  };
}

/** On one host the instance has the new flavor while it is finished, and is on its source all the same. */
function flavorsOf(instance: Instance, migration: Migration): { readonly before: Flavor; readonly after: Flavor } {
  const { flavor, oldFlavor, newFlavor } = instance;
  return {
    before: isItsOwn(oldFlavor, migration, "oldInstanceTypeId") ? oldFlavor : flavor,
    after: isItsOwn(newFlavor, migration, "newInstanceTypeId") ? newFlavor : flavor,
  };
}

/** A revert that failed leaves the flavors of its resize in the row, whatever is done to the server afterwards. */
function isItsOwn(
  found: Flavor | null,
  migration: Migration,
  column: "oldInstanceTypeId" | "newInstanceTypeId",
): found is Flavor {
  const { migrationType, [column]: id } = migration;
  return found !== null && migrationType !== "live-migration" && (id === null || id === found.id);
}

function restoreSpec({ store }: TaskDeps, uuid: string, flavor: Flavor): void {
  const spec = store.requests.spec(uuid);
  if (spec !== null) {
    store.requests.saveSpec({ ...spec, flavor });
  }
}

/**
 * Casts the clean-up to the other host of the move, which gets it when it is back. Keeps files that both hosts may see.
 * Where the guest may be what is left there, it goes when the evacuation is done.
 */
function castCleanUp({ bus }: TaskDeps, migration: Migration, arrived: boolean, requestId: string): void {
  const { id: migrationId, instanceUuid, migrationType, sourceCompute, destCompute } = migration;
  const message = { instanceUuid, migrationId, requestId };
  const live = migrationType === "live-migration";
  if (isSetAside(migration, arrived)) {
    return;
  }
  if (arrived && !live && sourceCompute !== null) {
    bus.cast(sourceCompute, "confirm_resize", message, requestId);
  }
  if (!arrived && live && destCompute !== null) {
    const data = { sharedInstanceFiles: true };
    const params = { ...message, destroyDisks: false, data };
    bus.cast(destCompute, "rollback_live_migration_at_destination", params, requestId);
  }
}
