import { FairLock } from "../../runtime/fair-lock.js";
import { capabilitiesAsTraits } from "../../virt/capabilities.js";
import type { AgentContext } from "../context.js";
import { instanceClaim } from "./claims.js";
import type { ResourceTracker } from "./contract.js";
import { updateAvailableResource, updateAvailableResourceForNode } from "./host-pass.js";
import { noteBuild, setHostEnabled } from "./host-status.js";
import { finishEvacuation, finishLiveMigration, saveInstance, updateUsage } from "./instance-writes.js";
import { loadProviderConfigs } from "./load-provider-configs.js";
import { rebuildClaim, resizeClaim } from "./move-claim.js";
import { dropMoveClaimAtDestination, dropMoveClaimAtSource, saveMove } from "./move-writes.js";
import { trackerOptions } from "./options.js";
import { ProviderMerge } from "./provider-merge.js";
import { bindService } from "./service-binding.js";
import type { TrackerState } from "./tracker-state.js";

/**
 * The tracker of one agent (spec 4): functions of what it knows, each in a file beside this one. Loads provider.yaml, once.
 * @throws {ProviderConfigException} a file breaks a rule.
 */
export async function createResourceTracker(context: AgentContext): Promise<ResourceTracker> {
  const options = trackerOptions(context.config);
  const { files, logger } = context.runtime;
  const configs = await loadProviderConfigs(options.providerConfigLocation, { files, logger });
  const tracker: TrackerState = {
    context,
    options,
    lock: new FairLock(),
    nodes: new Map(),
    merge: new ProviderMerge(configs, logger),
    capabilityTraits: capabilitiesAsTraits(context.driver.capabilities, options.imageTypeExcludeList),
    binding: { serviceId: null, disabled: null, epoch: 0, keepsComputeIds: true },
  };
  return {
    bindService: (service) => bindService(tracker, service),
    updateAvailableResource: (pass) => updateAvailableResource(tracker, pass),
    updateAvailableResourceForNode: (node) => updateAvailableResourceForNode(tracker, node),
    instanceClaim: (...claim) => instanceClaim(tracker, ...claim),
    rebuildClaim: (...claim) => rebuildClaim(tracker, ...claim),
    resizeClaim: (...claim) => resizeClaim(tracker, ...claim),
    saveMove: (write) => saveMove(tracker, write),
    dropMoveClaimAtSource: (...drop) => dropMoveClaimAtSource(tracker, ...drop),
    dropMoveClaimAtDestination: (...drop) => dropMoveClaimAtDestination(tracker, ...drop),
    finishEvacuation: (...finish) => finishEvacuation(tracker, ...finish),
    finishLiveMigration: (...finish) => finishLiveMigration(tracker, ...finish),
    updateUsage: (instance, node) => updateUsage(tracker, instance, node),
    saveInstance: (...save) => saveInstance(tracker, ...save),
    noteBuild: (node, result) => noteBuild(tracker, node, result),
    nodes: () => new Map([...tracker.nodes].map(([name, { row }]) => [name, row])),
    setHostEnabled: (enabled, requestId) => setHostEnabled(tracker, enabled, { requestId }),
  };
}
