import { AllocationMoveFailed } from "../../../placement/errors.js";
import {
  FINAL_MIGRATION_STATUSES,
  flavorColumns,
  type Instance,
  type InstanceChanges,
  type Migration,
} from "../../../records/index.js";
import { restoreSourceHalf } from "./source-half.js";
import type { TaskParts } from "./task-parts.js";

/**
 * An evacuation ends the moves that its dead host was in the middle of; nobody else would. As after a move that failed: before
 * the instance became the destination's, the source's half is its again; from then on it stays the destination's, and what
 * is left on the source is removed by that host, when it is back. May be repeated.
 * @throws {AllocationMoveFailed} the source's half could not be given back
 */
export async function endOvertakenMoves(parts: TaskParts, instance: Instance, requestId: string): Promise<void> {
  for (const migration of await unsettledMoves(parts, instance, requestId)) {
    const arrived = migration.sourceCompute !== instance.host;
    parts.logger.warn(`${migration.migrationType} ${migration.id} is ended: its instance is evacuated`, {
      instance: instance.uuid,
      host: instance.host,
      status: migration.status,
      request_id: requestId,
    });
    if (arrived) {
      await dropSource(parts, instance, migration, requestId);
    } else {
      await takeSourceBack(parts, instance, migration, requestId);
    }
    parts.store.transaction(() => {
      parts.store.migrations.save(migration.id, { status: "error" });
      parts.store.instances.save(instance.uuid, afterMove(instance, arrived));
      if (!arrived) {
        restoreSpec(parts, instance);
      }
      if (isUnderWay(migration)) {
        castCleanUp(parts, migration, arrived, requestId);
      }
    });
  }
}

const isUnderWay = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);

/** An agent that noticed the evacuation first may have set its move to error, and not have come to its allocations yet. */
async function unsettledMoves(
  { store, placement }: TaskParts,
  { uuid: instanceUuid, newFlavor }: Instance,
  requestId: string,
): Promise<readonly Migration[]> {
  const moves = store.migrations.byFilters({ instanceUuid, migrationTypes: ["migration", "resize", "live-migration"] });
  const underWay = moves.filter(isUnderWay);
  const last = moves.at(-1);
  if (last?.status !== "error") {
    return underWay;
  }
  const { allocations } = await placement.getAllocationsForConsumer(last.uuid, { requestId });
  return newFlavor !== null || Object.keys(allocations).length > 0 ? [...underWay, last] : underWay;
}

/** `doubled`: the instance itself holds the source's half. */
async function dropSource(parts: TaskParts, instance: Instance, migration: Migration, requestId: string) {
  const { store, placement } = parts;
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

async function takeSourceBack(parts: TaskParts, instance: Instance, migration: Migration, requestId: string) {
  const flavor = instance.newFlavor ?? instance.flavor;
  const move = { instance, migration, flavor, requestId, restarted: true, held: null };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await restoreSourceHalf(parts, move)) {
      return;
    }
  }
  throw new AllocationMoveFailed(migration.uuid, instance.uuid, "Placement refused it; evacuate the server again");
}

function afterMove(instance: Instance, arrived: boolean): InstanceChanges {
  const { old_vm_state: _, resize_disk_info: _info, ...systemMetadata } = instance.systemMetadata;
  return {
    ...(arrived ? flavorColumns(instance.newFlavor ?? instance.flavor) : {}),
    oldFlavor: null,
    newFlavor: null,
    migrationContext: null,
    systemMetadata,
  };
}

function restoreSpec({ store }: TaskParts, { uuid, flavor }: Instance): void {
  const spec = store.requests.spec(uuid);
  if (spec !== null) {
    store.requests.saveSpec({ ...spec, flavor });
  }
}

/** The other host of the move; one that is away gets it when it is back. Files that both hosts may see are kept. */
function castCleanUp({ bus }: TaskParts, migration: Migration, arrived: boolean, requestId: string): void {
  const { id: migrationId, instanceUuid, migrationType, sourceCompute, destCompute } = migration;
  const message = { instanceUuid, migrationId, requestId };
  const live = migrationType === "live-migration";
  if (arrived && !live && sourceCompute !== null) {
    bus.cast(sourceCompute, "confirm_resize", message, requestId);
  }
  if (!arrived && live && destCompute !== null) {
    const data = { sharedInstanceFiles: true };
    const params = { ...message, destroyDisks: false, data };
    bus.cast(destCompute, "rollback_live_migration_at_destination", params, requestId);
  }
}
