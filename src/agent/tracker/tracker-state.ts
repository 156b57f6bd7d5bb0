import type { NovaConfig } from "../../config/nova-config.js";
import type { FairLock } from "../../runtime/locks.js";
import type { AgentContext } from "../context.js";
import type { ProviderMerge } from "./provider-config.js";
import type { RatioOptions, TrackedNode } from "./tracked-node.js";
import type { HostReservation } from "./usage.js";

/** The options of nova.conf that the tracker reads (spec 4.10). @internal */
export type TrackerOptions = Readonly<ReturnType<typeof trackerOptions>>;

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
  /** Incremented by each write that changes where an instance counts; records read before are then outdated. */
  epoch: number;
  /** False if the control plane does not save an instance's compute id, as Nova before 2023.2. */
  persistsComputeIds: boolean;
}

export function trackerOptions({ defaults, compute, workarounds, ovs }: NovaConfig) {
  return {
    ovs,
    imageTypeExcludeList: compute.imageTypeExcludeList,
    providerConfigLocation: compute.providerConfigLocation,
    consecutiveBuildServiceDisableThreshold: compute.consecutiveBuildServiceDisableThreshold,
    leanTracking: compute.leanTracking,
    healMovedAllocations: compute.healMovedAllocations,
    /** With the quirk two hosts may share a hypervisor (spec 2.4 f). */
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
