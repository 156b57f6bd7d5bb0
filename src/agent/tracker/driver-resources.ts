import type { ComputeNode, ComputeNodeResources } from "../../records/index.js";
import type { AvailableResource } from "../../virt/types.js";
import type { UsedResources } from "./node-account.js";

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
export type DriverColumns = Omit<ComputeNodeResources, keyof UsedResources | "metrics" | "pciDevicePools">;

/** @param row what is known of the node; null for a new one, whose ratios are the initial ones. */
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
