import { type Flavor, type Instance, localDiskGb, type Migration, type TaskState } from "../../records/index.js";

/** The usage of a node by one instance or migration, in MiB and GiB. */
export interface Usage {
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly localGb: number;
}

export interface HostReservation {
  readonly reservedHostCpus: number;
  /** In MiB. */
  readonly reservedHostMemoryMb: number;
  /** In MiB. */
  readonly reservedHostDiskMb: number;
}

/** Returns the initial usage (spec 4.5), rounded up to GiB as in the DISK_GB inventory. */
export function reservedUsage(reservation: HostReservation): Usage {
  return {
    vcpus: reservation.reservedHostCpus,
    memoryMb: reservation.reservedHostMemoryMb,
    localGb: Math.ceil(reservation.reservedHostDiskMb / 1024),
  };
}

/** Returns the usage of an instance with this flavor (spec 4.5): the same amounts as its allocations in Placement. */
export function flavorUsage(flavor: Flavor, volumeBacked: boolean): Usage {
  return { vcpus: flavor.vcpus, memoryMb: flavor.memoryMb, localGb: localDiskGb(flavor, volumeBacked) };
}

export function sumUsage(usages: Iterable<Usage>): Usage {
  let [vcpus, memoryMb, localGb] = [0, 0, 0];
  for (const part of usages) {
    vcpus += part.vcpus;
    memoryMb += part.memoryMb;
    localGb += part.localGb;
  }
  return { vcpus, memoryMb, localGb };
}

const RESIZE_TASKS: readonly (TaskState | null)[] = [
  "resize_prep",
  "resize_migrating",
  "resize_migrated",
  "resize_finish",
  "rebuilding",
  "rebuild_block_device_mapping",
  "rebuild_spawning",
];

/** Spec 4.5 "in a resize state". @internal for tests */
export function inResizeState({ vmState, taskState }: Pick<Instance, "vmState" | "taskState">): boolean {
  return vmState === "resized" || ((vmState === "active" || vmState === "stopped") && RESIZE_TASKS.includes(taskState));
}

/** Spec 4.5 "live migrating". @internal for tests */
export function isLiveMigrating({ vmState, taskState }: Pick<Instance, "vmState" | "taskState">): boolean {
  return taskState === "migrating" && (vmState === "active" || vmState === "paused");
}

/**
 * Returns whether a migration of the instance is counted at all.
 * @param ignoreErrored quirk `ignore-evacuations-in-error`: upstream ignores evacuations of instances in vm_state error
 * until they are finished (spec 4.5 GAP), although their guest is about to run here
 */
export function countsMigration(instance: Instance, migration: Migration, ignoreErrored: boolean): boolean {
  return (
    inResizeState(instance) ||
    isLiveMigrating(instance) ||
    (!ignoreErrored &&
      migration.migrationType === "evacuation" &&
      instance.vmState === "error" &&
      RESIZE_TASKS.includes(instance.taskState))
  );
}

export interface NodeName {
  readonly host: string;
  readonly node: string;
}

function isIncoming(migration: Migration, { host, node }: NodeName): boolean {
  return migration.destCompute === host && migration.destNode === node;
}

function isOutgoing(migration: Migration, { host, node }: NodeName): boolean {
  return migration.sourceCompute === host && migration.sourceNode === node;
}

/** Returns the flavor that a migration adds to a node's instances; null: none (spec 4.5, second table). */
export function flavorOfMigration(
  migration: Migration,
  instance: Instance,
  where: NodeName,
  instanceCounted: boolean,
): Flavor | null {
  const oldFlavor = migration.migrationType === "resize" ? instance.oldFlavor : instance.flavor;
  const newFlavor = migration.migrationType === "resize" ? instance.newFlavor : instance.flavor;
  const [incoming, outgoing] = [isIncoming(migration, where), isOutgoing(migration, where)];
  if (incoming && outgoing) {
    return instance.instanceTypeId === migration.oldInstanceTypeId ? newFlavor : oldFlavor;
  }
  if (instanceCounted) {
    return null;
  }
  if (incoming) {
    return newFlavor;
  }
  // Without an old flavor the confirmation is about to finish.
  return outgoing ? oldFlavor : null;
}

/** Returns the latest migration of each instance, by updatedAt, else createdAt. */
export function latestPerInstance(migrations: readonly Migration[]): Map<string, Migration> {
  const latest = new Map<string, Migration>();
  for (const migration of migrations) {
    const known = latest.get(migration.instanceUuid);
    if (!known || touched(migration) >= touched(known)) {
      latest.set(migration.instanceUuid, migration);
    }
  }
  return latest;
}

const touched = (migration: Migration): number => migration.updatedAt ?? migration.createdAt;

/** The inputs of a node's statistics: one entry per counted instance. */
export type CountedInstance = Pick<Instance, "vmState" | "taskState" | "projectId" | "systemMetadata">;

/** Tasks that cause disk and network load (Nova's io_workload, in addition to building instances). */
const IO_TASKS: readonly (TaskState | null)[] = [
  "resize_migrating",
  "rebuilding",
  "resize_prep",
  "image_snapshot",
  "image_backup",
  "rescuing",
  "unshelving",
];

/** Returns a node's `stats` (spec 4.5): counts as strings, keys sorted so that equal ones serialise equally. */
export function nodeStats(
  instances: Iterable<CountedInstance>,
  failedBuilds: number,
  driverStats: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const counts = new Map<string, number>([
    ["num_instances", 0],
    ["io_workload", 0],
  ]);
  const count = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const instance of instances) {
    count("num_instances");
    count(`num_vm_${instance.vmState}`);
    count(`num_task_${instance.taskState ?? "None"}`);
    count(`num_os_type_${instance.systemMetadata.os_type ?? "None"}`);
    count(`num_proj_${instance.projectId}`);
    if (instance.vmState === "building" || IO_TASKS.includes(instance.taskState)) {
      count("io_workload");
    }
  }
  const entries: [string, string][] = [...counts].map(([key, value]) => [key, String(value)]);
  entries.push(["failed_builds", String(failedBuilds)], ...Object.entries(driverStats));
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
