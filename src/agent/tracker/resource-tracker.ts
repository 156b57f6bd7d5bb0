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
  const { logger } = context.runtime;
  const configs = await loadProviderConfigs(options.providerConfigLocation, context.runtime);
  const tracker: TrackerState = {
    context,
    options,
    lock: new FairLock(),
    nodes: new Map(),
    merge: new ProviderMerge(configs, logger),
    capabilityTraits: capabilitiesAsTraits(context.driver.capabilities, options.imageTypeExcludeList),
    binding: { serviceId: null, disabled: null, epoch: 0, persistsComputeIds: true },
  };
  return new Tracker(tracker);
}

/** One object for each agent, and not a closure for each of its methods: a process may have thousands. */
class Tracker implements ResourceTracker {
  readonly #state: TrackerState;

  constructor(state: TrackerState) {
    this.#state = state;
  }

  bindService(...[service]: Parameters<ResourceTracker["bindService"]>) {
    return bindService(this.#state, service);
  }

  updateAvailableResource(...[pass]: Parameters<ResourceTracker["updateAvailableResource"]>) {
    return updateAvailableResource(this.#state, pass);
  }

  updateAvailableResourceForNode(...[node]: Parameters<ResourceTracker["updateAvailableResourceForNode"]>) {
    return updateAvailableResourceForNode(this.#state, node);
  }

  instanceClaim(...claim: Parameters<ResourceTracker["instanceClaim"]>) {
    return instanceClaim(this.#state, ...claim);
  }

  rebuildClaim(...claim: Parameters<ResourceTracker["rebuildClaim"]>) {
    return rebuildClaim(this.#state, ...claim);
  }

  resizeClaim(...claim: Parameters<ResourceTracker["resizeClaim"]>) {
    return resizeClaim(this.#state, ...claim);
  }

  saveMove(...[write]: Parameters<ResourceTracker["saveMove"]>) {
    return saveMove(this.#state, write);
  }

  dropMoveClaimAtSource(...drop: Parameters<ResourceTracker["dropMoveClaimAtSource"]>) {
    return dropMoveClaimAtSource(this.#state, ...drop);
  }

  dropMoveClaimAtDestination(...drop: Parameters<ResourceTracker["dropMoveClaimAtDestination"]>) {
    return dropMoveClaimAtDestination(this.#state, ...drop);
  }

  finishEvacuation(...finish: Parameters<ResourceTracker["finishEvacuation"]>) {
    return finishEvacuation(this.#state, ...finish);
  }

  finishLiveMigration(...finish: Parameters<ResourceTracker["finishLiveMigration"]>) {
    return finishLiveMigration(this.#state, ...finish);
  }

  updateUsage(...[instance, node]: Parameters<ResourceTracker["updateUsage"]>) {
    return updateUsage(this.#state, instance, node);
  }

  saveInstance(...save: Parameters<ResourceTracker["saveInstance"]>) {
    return saveInstance(this.#state, ...save);
  }

  noteBuild(...[node, result]: Parameters<ResourceTracker["noteBuild"]>) {
    return noteBuild(this.#state, node, result);
  }

  nodes() {
    return new Map([...this.#state.nodes].map(([name, { row }]) => [name, row]));
  }

  setHostEnabled(...[enabled, requestId]: Parameters<ResourceTracker["setHostEnabled"]>) {
    return setHostEnabled(this.#state, enabled, { requestId });
  }
}
