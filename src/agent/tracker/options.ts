import type { NovaConfig } from "../../config/nova-config.js";
import type { RatioOptions } from "./driver-resources.js";
import type { TrackerOptions } from "./tracker-state.js";
import type { HostReservation } from "./usage.js";

/** What the tracker reads of nova.conf. */
export function trackerOptions({ defaults, compute, workarounds }: NovaConfig): TrackerOptions {
  return {
    imageTypeExcludeList: compute.imageTypeExcludeList,
    providerConfigLocation: compute.providerConfigLocation,
    consecutiveBuildServiceDisableThreshold: compute.consecutiveBuildServiceDisableThreshold,
    leanTracking: compute.leanTracking,
    healMovedAllocations: compute.healMovedAllocations,
    exclusiveNames: !workarounds.upstreamQuirks.has("adopt-foreign-hypervisor"),
    unguardedNodeDelete: workarounds.upstreamQuirks.has("unguarded-node-delete"),
    noNodeUndelete: workarounds.upstreamQuirks.has("no-node-undelete"),
    keepLeftMoves: workarounds.upstreamQuirks.has("keep-moves-of-deleted"),
    ignoreErroredEvacuations: workarounds.upstreamQuirks.has("ignore-evacuations-in-error"),
    ...inventoryOptions(defaults),
  };
}

/** What says how much of a host is given to servers. */
export function inventoryOptions(defaults: NovaConfig["defaults"]): RatioOptions & HostReservation {
  return {
    cpuAllocationRatio: defaults.cpuAllocationRatio,
    ramAllocationRatio: defaults.ramAllocationRatio,
    diskAllocationRatio: defaults.diskAllocationRatio,
    initialCpuAllocationRatio: defaults.initialCpuAllocationRatio,
    initialRamAllocationRatio: defaults.initialRamAllocationRatio,
    initialDiskAllocationRatio: defaults.initialDiskAllocationRatio,
    reservedHostCpus: defaults.reservedHostCpus,
    reservedHostMemoryMb: defaults.reservedHostMemoryMb,
    reservedHostDiskMb: defaults.reservedHostDiskMb,
  };
}
