import type { NovaConfig } from "../../config/nova-config.js";
import type { FairLock } from "../../runtime/locks.js";
import type { AgentContext } from "../context.js";
import type { ProviderMerge } from "./provider-config.js";
import type { RatioOptions, TrackedNode } from "./tracked-node.js";
import type { HostReservation } from "./usage.js";

/** The options of nova.conf that the tracker reads (spec 4.10). */
export interface TrackerOptions extends RatioOptions, HostReservation {
  /** `[compute] image_type_exclude_list` */
  readonly imageTypeExcludeList: readonly string[];
  /** `[compute] provider_config_location` */
  readonly providerConfigLocation: string;
  /** `[compute] consecutive_build_service_disable_threshold`; 0: failed builds are not counted. */
  readonly consecutiveBuildServiceDisableThreshold: number;
  /** `[compute] lean_tracking` */
  readonly leanTracking: boolean;
  /** `[compute] heal_moved_allocations`: the OPT of spec 4.6 row 7. */
  readonly healMovedAllocations: boolean;
  /** Off with quirk `adopt-foreign-hypervisor`: two hosts may then share a hypervisor (spec 2.4 f). */
  readonly exclusiveNames: boolean;
  /** Quirk `unguarded-node-delete`. */
  readonly unguardedNodeDelete: boolean;
  /** Quirk `no-node-undelete`. */
  readonly noNodeUndelete: boolean;
  /** Quirk `keep-moves-of-deleted`. */
  readonly keepLeftMoves: boolean;
  /** Quirk `ignore-evacuations-in-error`. */
  readonly ignoreErroredEvacuations: boolean;
}

/** The state that the functions of one tracker share. */
export interface TrackerState extends AgentContext {
  readonly options: TrackerOptions;
  /** `compute_resources` (spec 4.1). */
  readonly lock: FairLock;
  /** By node name; a node is added only after its row was inserted (bug 1839674). */
  readonly nodes: Map<string, TrackedNode>;
  readonly merge: ProviderMerge;
  /** Trait of a capability → whether the driver has it. */
  readonly capabilityTraits: ReadonlyMap<string, boolean>;
  readonly binding: TrackerBinding;
}

/** The tracker's mutable state. */
interface TrackerBinding {
  /** The Service row's id; null before the agent registered. */
  serviceId: number | null;
  /** The Service row's `disabled`; null: no row. Read again in each pass and claim. */
  disabled: boolean | null;
  /**
   * Incremented by each of the agent's writes that changes where an instance counts; records read before are then
   * outdated.
   */
  epoch: number;
  /**
   * Whether the control plane saves an instance's compute id; Nova before 2023.2 does not. True until a save shows
   * otherwise.
   */
  persistsComputeIds: boolean;
}

/** Selects the tracker's options from nova.conf. */
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

/** Selects the options that determine how much of a host servers can use. */
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
