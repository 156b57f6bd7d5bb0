import type { InventoryOptions } from "./context.js";
import type { InventoryRecord } from "./provider-tree.js";

/** The total resources of a node; memory in MiB, disk in GiB. Zero amounts are omitted from the inventory. */
export interface NodeTotals {
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly diskGb: number;
}

/**
 * Returns VCPU, MEMORY_MB and DISK_GB of a node by the rules for ratios and reserved amounts (spec 4.7). The ratio is the
 * configured one; else the initial one if the class has no inventory yet; else Placement's.
 * @param current the provider's present inventory.
 */
export function nodeInventory(
  options: InventoryOptions,
  current: Readonly<Record<string, InventoryRecord>>,
  totals: NodeTotals,
): Readonly<Record<string, InventoryRecord>> {
  const entry = (
    name: string,
    total: number,
    reserved: number,
    set: number | null,
    initial: number,
  ): readonly (readonly [string, InventoryRecord])[] =>
    total === 0
      ? []
      : [
          [
            name,
            {
              total,
              reserved: Math.min(reserved, total),
              minUnit: 1,
              maxUnit: total,
              stepSize: 1,
              // An unset ratio may arrive as 0.0, which must never be written (bug 1789654).
              allocationRatio: set || current[name]?.allocationRatio || initial,
            },
          ],
        ];
  return Object.fromEntries([
    ...entry(
      "VCPU",
      totals.vcpus,
      options.reservedHostCpus,
      options.cpuAllocationRatio,
      options.initialCpuAllocationRatio,
    ),
    ...entry(
      "MEMORY_MB",
      totals.memoryMb,
      options.reservedHostMemoryMb,
      options.ramAllocationRatio,
      options.initialRamAllocationRatio,
    ),
    ...entry(
      "DISK_GB",
      totals.diskGb,
      Math.ceil(options.reservedHostDiskMb / 1024),
      options.diskAllocationRatio,
      options.initialDiskAllocationRatio,
    ),
  ]);
}
