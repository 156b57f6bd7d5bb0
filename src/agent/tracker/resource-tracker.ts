import { FairLock } from "../../runtime/fair-lock.js";
import type { AgentContext } from "../context.js";
import { instanceClaim, rebuildClaim } from "./claims.js";
import type { ResourceTracker } from "./contract.js";
import { updateAvailableResource, updateAvailableResourceForNode } from "./host-pass.js";
import { noteBuild, setHostEnabled } from "./host-status.js";
import { finishEvacuation, finishLiveMigration, saveInstance, updateUsage } from "./instance-writes.js";
import { dropMoveClaimAtDestination, dropMoveClaimAtSource, saveMove } from "./move-writes.js";
import { trackerOptions } from "./options.js";
import type { TrackerParts } from "./parts.js";
import { loadProviderConfigs } from "./provider-config.js";
import { ProviderMerge } from "./provider-merge.js";
import { resizeClaim } from "./resize-claim.js";
import { bindService } from "./service-binding.js";

/**
 * The tracker of one agent (spec 4): functions of what it knows, each in a file beside this one. Loads provider.yaml, once.
 * @throws {ProviderConfigException} a file breaks a rule.
 */
export async function createResourceTracker(context: AgentContext): Promise<ResourceTracker> {
  const options = trackerOptions(context.config);
  const { files, logger } = context.runtime;
  const configs = await loadProviderConfigs(options.providerConfigLocation, { files, logger });
  const parts: TrackerParts = {
    context,
    options,
    lock: new FairLock(),
    nodes: new Map(),
    merge: new ProviderMerge(configs, logger),
    binding: { serviceId: null, disabled: null, epoch: 0 },
  };
  return {
    bindService: (service) => bindService(parts, service),
    updateAvailableResource: (pass) => updateAvailableResource(parts, pass),
    updateAvailableResourceForNode: (node) => updateAvailableResourceForNode(parts, node),
    instanceClaim: (...claim) => instanceClaim(parts, ...claim),
    rebuildClaim: (...claim) => rebuildClaim(parts, ...claim),
    resizeClaim: (...claim) => resizeClaim(parts, ...claim),
    saveMove: (write) => saveMove(parts, write),
    dropMoveClaimAtSource: (...drop) => dropMoveClaimAtSource(parts, ...drop),
    dropMoveClaimAtDestination: (...drop) => dropMoveClaimAtDestination(parts, ...drop),
    finishEvacuation: (...finish) => finishEvacuation(parts, ...finish),
    finishLiveMigration: (...finish) => finishLiveMigration(parts, ...finish),
    updateUsage: (instance, node) => updateUsage(parts, instance, node),
    saveInstance: (...save) => saveInstance(parts, ...save),
    noteBuild: (node, result) => noteBuild(parts, node, result),
    nodes: () => new Map([...parts.nodes].map(([name, { row }]) => [name, row])),
    setHostEnabled: (enabled, requestId) =>
      setHostEnabled(parts, enabled, requestId === undefined ? {} : { requestId }),
  };
}
