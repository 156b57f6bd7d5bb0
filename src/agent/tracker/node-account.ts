import {
  type AssignedResource,
  allowsResourceRemoval,
  type ComputeNodeResources,
  type Instance,
  isVolumeBacked,
  type Migration,
} from "../../records/index.js";
import { SparseMap } from "../../runtime/sparse.js";
import { type CountedInstance, nodeStats } from "./stats.js";
import { flavorUsage, type HostReservation, reservedUsage, sumUsage, type Usage } from "./usage.js";

interface InstanceEntry {
  readonly counted: CountedInstance;
  readonly usage: Usage;
}

interface MigrationEntry {
  readonly migration: Migration;
  /** Null: tracked, but nothing is counted for it beside its instance. */
  readonly usage: Usage | null;
}

/** The columns of a compute node that are derived from who is on it. */
export type UsedResources = Pick<
  ComputeNodeResources,
  "vcpusUsed" | "memoryMbUsed" | "localGbUsed" | "freeRamMb" | "freeDiskGb" | "runningVms" | "currentWorkload" | "stats"
>;

/**
 * Holds what counts on one node, and how much (spec 4.5). What is used is always the sum of the entries (spec V19), never a
 * running figure that could drift. One per node: statistics of nodes must not mix (bug 1784705).
 */
export class NodeAccount {
  readonly #instances = new SparseMap<string, InstanceEntry>();
  /** By instance uuid: one migration of an instance at a time. */
  readonly #migrations = new SparseMap<string, MigrationEntry>();
  readonly #assigned = new SparseMap<string, readonly AssignedResource[]>();

  clear(): void {
    this.#instances.clear();
    this.#migrations.clear();
    this.#assigned.clear();
  }

  /** Counts the instance as it is now, or stops counting one whose resources are free. */
  countInstance(instance: Instance): void {
    if (instance.deleted !== 0 || allowsResourceRemoval(instance)) {
      this.#instances.delete(instance.uuid);
      return;
    }
    const { vmState, taskState, projectId, systemMetadata } = instance;
    this.#instances.set(instance.uuid, {
      counted: { vmState, taskState, projectId, systemMetadata },
      usage: flavorUsage(instance.flavor, isVolumeBacked(instance)),
    });
  }

  countMigration(migration: Migration, usage: Usage | null): void {
    this.#migrations.set(migration.instanceUuid, { migration, usage });
  }

  assign(consumer: string, resources: readonly AssignedResource[]): void {
    if (resources.length > 0) {
      this.#assigned.set(consumer, resources);
    }
  }

  forgetInstance(uuid: string): void {
    this.#instances.delete(uuid);
    this.#assigned.delete(uuid);
  }

  forgetMigration(instanceUuid: string): void {
    this.#migrations.delete(instanceUuid);
    this.#assigned.delete(instanceUuid);
  }

  /** The instance's migration that is tracked here. */
  migrationOf(instanceUuid: string): Migration | undefined {
    return this.#migrations.get(instanceUuid)?.migration;
  }

  /** Counts nothing more for the instance's migration; what is assigned to the instance stays. */
  stopCountingMigration(instanceUuid: string): void {
    this.#migrations.delete(instanceUuid);
  }

  hasInstance(uuid: string): boolean {
    return this.#instances.has(uuid);
  }

  get migrations(): readonly Migration[] {
    return [...this.#migrations.values()].map(({ migration }) => migration);
  }

  /** Discrete resources that are taken. */
  get assigned(): readonly AssignedResource[] {
    return [...this.#assigned.values()].flat();
  }

  /** @param totals of the node, MiB and GiB. */
  used(
    totals: { readonly memoryMb: number; readonly localGb: number },
    reservation: HostReservation,
    failedBuilds: number,
    driverStats?: Readonly<Record<string, string>>,
  ): UsedResources {
    const instances = [...this.#instances.values()];
    const migrations = [...this.#migrations.values()].flatMap(({ usage }) => usage ?? []);
    const used = sumUsage([reservedUsage(reservation), ...instances.map(({ usage }) => usage), ...migrations]);
    return {
      vcpusUsed: used.vcpus,
      memoryMbUsed: used.memoryMb,
      localGbUsed: used.localGb,
      freeRamMb: totals.memoryMb - used.memoryMb,
      freeDiskGb: totals.localGb - used.localGb,
      runningVms: instances.length,
      currentWorkload: instances.filter(({ counted }) => counted.taskState !== null).length,
      stats: nodeStats(
        instances.map(({ counted }) => counted),
        failedBuilds,
        driverStats,
      ),
    };
  }
}
