import { serverStatus } from "../../control-plane/compute/servers/server-status.js";
import { explainedFault } from "../../control-plane/scheduler/errors.js";
import type { Store } from "../../control-plane/store/store.js";
import { type Instance, type Migration, POWER_STATES } from "../../records/index.js";
import type { MigrationRow, ServerRow } from "../wire/server-rows.js";

const POWER_NAMES = new Map<number, string>(Object.entries(POWER_STATES).map(([name, number]) => [number, name]));

export function serverRow(instance: Instance, store: Pick<Store, "instances">): ServerRow {
  const { flavor } = instance;
  return {
    uuid: instance.uuid,
    name: instance.displayName,
    status: serverStatus(instance),
    vmState: instance.vmState,
    taskState: instance.taskState,
    power: POWER_NAMES.get(instance.powerState) ?? "nostate",
    host: instance.host,
    node: instance.node,
    flavor: flavor.name,
    vcpus: flavor.vcpus,
    memoryMb: flavor.memoryMb,
    diskGb: flavor.rootGb,
    projectId: instance.projectId,
    createdAt: instance.createdAt,
    updatedAt: instance.updatedAt,
    fault: instance.vmState === "error" ? faultOf(store, instance.uuid) : null,
    requestId: instance.taskRequestId,
  };
}

/** @param flavorName by the id of the flavor's row */
export function migrationRow(migration: Migration, flavorName: (id: number | null) => string | null): MigrationRow {
  const { memoryTotal, memoryProcessed } = migration;
  return {
    uuid: migration.uuid,
    id: migration.id,
    server: migration.instanceUuid,
    type: migration.migrationType,
    status: migration.status,
    source: migration.sourceCompute,
    dest: migration.destCompute,
    oldFlavor: flavorName(migration.oldInstanceTypeId),
    newFlavor: flavorName(migration.newInstanceTypeId),
    progress:
      memoryTotal !== null && memoryTotal > 0 && memoryProcessed !== null
        ? Math.min(100, Math.round((100 * memoryProcessed) / memoryTotal))
        : null,
    createdAt: migration.createdAt,
    updatedAt: migration.updatedAt,
  };
}

function faultOf(store: Pick<Store, "instances">, uuid: string): string | null {
  const fault = store.instances.fault(uuid);
  return fault === null ? null : explainedFault(fault);
}
