import {
  type AssignedResource,
  allowsResourceRemoval,
  COMPUTE_NODE_CHANGES,
  type ComputeNode,
  type ComputeNodeChanges,
  type ComputeNodeResources,
  type Instance,
  isVolumeBacked,
  type Migration,
} from "../../records/index.js";
import { SparseMap } from "../../runtime/collections.js";
import type { ProviderTree } from "../../virt/provider-tree.js";
import type { AvailableResource } from "../../virt/types.js";
import {
  type CountedInstance,
  flavorUsage,
  type HostReservation,
  nodeStats,
  reservedUsage,
  sumUsage,
  type Usage,
} from "./usage.js";

interface InstanceEntry {
  readonly counted: CountedInstance;
  readonly usage: Usage;
}

interface MigrationEntry {
  readonly migration: Migration;
  /** The usage beyond the instance's; null if the migration adds none. */
  readonly usage: Usage | null;
}

/** The columns of a compute node that are derived from its instances and migrations. */
type UsedResources = Pick<
  ComputeNodeResources,
  "vcpusUsed" | "memoryMbUsed" | "localGbUsed" | "freeRamMb" | "freeDiskGb" | "runningVms" | "currentWorkload" | "stats"
>;

/**
 * The usage of one node (spec 4.5). The total is always the sum of the entries (spec V19), never a running counter that
 * could drift. One per node: statistics of nodes must not mix (bug 1784705).
 */
export class NodeAccount {
  readonly #instances = new SparseMap<string, InstanceEntry>();
  /** Instance uuid → its one migration. */
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

  /** Returns the instance's migration that is tracked here. */
  migrationOf(instanceUuid: string): Migration | undefined {
    return this.#migrations.get(instanceUuid)?.migration;
  }

  /** Stops counting the instance's migration; resources assigned to the instance stay. */
  stopCountingMigration(instanceUuid: string): void {
    this.#migrations.delete(instanceUuid);
  }

  hasInstance(uuid: string): boolean {
    return this.#instances.has(uuid);
  }

  get migrations(): readonly Migration[] {
    return [...this.#migrations.values()].map(({ migration }) => migration);
  }

  /** Discrete resources in use. */
  get assigned(): readonly AssignedResource[] {
    return [...this.#assigned.values()].flat();
  }

  /** @param totals of the node, in MiB and GiB */
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

const SAVED = Object.keys(COMPUTE_NODE_CHANGES) as readonly (keyof ComputeNodeChanges)[];

/** The tracker's data of one node; removed completely together with the node (bugs 1784705, 1784874). */
export class TrackedNode {
  readonly account = new NodeAccount();
  /** In memory, as in Nova: a restart resets it, and with it the host's rank in the scheduler. */
  failedBuilds = 0;
  driverStats: Readonly<Record<string, string>> = {};
  /** The tree as last written to Placement. */
  tree: ProviderTree | null = null;
  #row: ComputeNode;
  #persisted: ComputeNode;

  /** @param row as saved by the conductor */
  constructor(row: ComputeNode) {
    this.#row = row;
    this.#persisted = this.#row;
  }

  /** The current row; may be ahead of the conductor's. */
  get row(): ComputeNode {
    return this.#row;
  }

  /** Leaves the row object unchanged if all values are equal: most passes over most nodes find no change. */
  set(columns: ComputeNodeChanges): void {
    const columnNames = Object.keys(columns) as readonly (keyof ComputeNodeChanges)[];
    if (columnNames.some((column) => !sameValue(this.#row[column], columns[column]))) {
      this.#row = { ...this.#row, ...columns };
    }
  }

  /** Returns the differences from the last saved row; null: none. */
  changes(): ComputeNodeChanges | null {
    if (this.#row === this.#persisted) {
      return null;
    }
    const changed = SAVED.filter((column) => !sameValue(this.#row[column], this.#persisted[column]));
    if (changed.length === 0) {
      return null;
    }
    return Object.fromEntries(changed.map((column) => [column, this.#row[column]]));
  }

  /** Call this only after the conductor saved it: a failed save is repeated in the next pass (bug 1834712). */
  persisted(row: ComputeNode): void {
    this.#row = row;
    this.#persisted = this.#row;
  }
}

function sameValue(left: unknown, right: unknown): boolean {
  return (
    left === right ||
    (typeof left === "object" && typeof right === "object" && JSON.stringify(left) === JSON.stringify(right))
  );
}

/** The allocation ratios that a node's row gets (spec 4.4 "copying"); null or 0: unset. */
export interface RatioOptions {
  readonly cpuAllocationRatio: number | null;
  readonly ramAllocationRatio: number | null;
  readonly diskAllocationRatio: number | null;
  readonly initialCpuAllocationRatio: number;
  readonly initialRamAllocationRatio: number;
  readonly initialDiskAllocationRatio: number;
}

/** The columns that come from the driver; the used ones come from the account. */
type DriverColumns = Omit<ComputeNodeResources, keyof UsedResources | "metrics" | "pciDevicePools">;

/** @param row the node's current row; null for a new node, which gets the initial ratios */
export function driverColumns(
  resources: AvailableResource,
  row: ComputeNode | null,
  hostIp: string,
  options: RatioOptions,
): DriverColumns {
  return {
    hostIp,
    vcpus: resources.vcpus,
    memoryMb: resources.memoryMb,
    localGb: resources.localGb,
    diskAvailableLeast: resources.diskAvailableLeast,
    hypervisorType: resources.hypervisorType,
    hypervisorVersion: resources.hypervisorVersion,
    cpuInfo: resources.cpuInfo ?? "",
    supportedHvSpecs: resources.supportedInstances,
    numaTopology: resources.numaTopology,
    cpuAllocationRatio: options.cpuAllocationRatio || row?.cpuAllocationRatio || options.initialCpuAllocationRatio,
    ramAllocationRatio: options.ramAllocationRatio || row?.ramAllocationRatio || options.initialRamAllocationRatio,
    diskAllocationRatio: options.diskAllocationRatio || row?.diskAllocationRatio || options.initialDiskAllocationRatio,
  };
}
