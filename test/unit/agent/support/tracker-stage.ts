import { ProviderMerge } from "../../../../src/agent/tracker/provider-config.js";
import { ResourceTracker } from "../../../../src/agent/tracker/resource-tracker.js";
import { TrackedNode } from "../../../../src/agent/tracker/tracked-node.js";
import type { TrackerOptions, TrackerState } from "../../../../src/agent/tracker/tracker-state.js";
import type { ComputeNode } from "../../../../src/records/index.js";
import { FairLock } from "../../../../src/runtime/locks.js";
import { capabilitiesAsTraits } from "../../../../src/virt/capabilities.js";
import { aComputeNode } from "../../../fixtures/records.js";
import { FlowStage, type StageOptions } from "./flow-stage.js";

export interface TrackerStageOptions extends StageOptions {
  readonly options?: Partial<TrackerOptions>;
  /** The nodes that the tracker knows; default: `node` of host `here`. */
  readonly nodes?: readonly ComputeNode[];
}

export const NODE = aComputeNode({ id: 5, uuid: "node-uuid", host: "here", hypervisorHostname: "node" });

const OPTIONS: TrackerOptions = {
  ovs: {
    bridgeMappings: ["physnet1:br-phys"],
    resourceProviderBandwidths: [],
    resourceProviderPacketProcessingWithoutDirection: [],
    resourceProviderPacketProcessingWithDirection: [],
  },
  cpuAllocationRatio: null,
  ramAllocationRatio: null,
  diskAllocationRatio: null,
  initialCpuAllocationRatio: 4,
  initialRamAllocationRatio: 1,
  initialDiskAllocationRatio: 1,
  reservedHostCpus: 0,
  reservedHostMemoryMb: 0,
  reservedHostDiskMb: 0,
  imageTypeExcludeList: [],
  providerConfigLocation: "/etc/nova/provider_config/",
  consecutiveBuildServiceDisableThreshold: 10,
  leanTracking: false,
  healMovedAllocations: false,
  exclusiveNames: true,
  unguardedNodeDelete: false,
  noNodeUndelete: false,
  keepLeftMoves: false,
  ignoreErroredEvacuations: false,
};

/** The tracker functions of host `here` with the recording substitutes of a {@link FlowStage}. */
export class TrackerStage extends FlowStage {
  readonly state: TrackerState;
  /** A tracker on this state; {@link FlowStage.tracker} only records its calls. */
  readonly subject: ResourceTracker;

  constructor({ options = {}, nodes = [NODE], ...rest }: TrackerStageOptions = {}) {
    super(rest);
    this.state = {
      ...this.context,
      localNodeUuid: async () => "local-uuid",
      options: { ...OPTIONS, ...options },
      lock: new FairLock(),
      nodes: new Map(nodes.map((row) => [row.hypervisorHostname, new TrackedNode(row)])),
      merge: new ProviderMerge([], this.context.logger),
      capabilityTraits: capabilitiesAsTraits(this.context.driver.capabilities),
      binding: { serviceId: 3, disabled: false, epoch: 0, persistsComputeIds: true },
    };
    this.subject = new ResourceTracker(this.state);
  }

  /** Returns a node that the tracker knows. */
  node(name = "node"): TrackedNode {
    const found = this.state.nodes.get(name);
    if (!found) {
      throw new TypeError(`the tracker does not know node ${name}`);
    }
    return found;
  }
}
