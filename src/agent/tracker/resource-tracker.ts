import type { RequestContext } from "../../placement-client/types.js";
import type { Service } from "../../records/index.js";
import { FairLock } from "../../runtime/locks.js";
import { capabilitiesAsTraits } from "../../virt/capabilities.js";
import type { AgentContext } from "../context.js";
import { instanceClaim } from "./claims.js";
import { type ResourceTracker, TrackerError } from "./contract.js";
import {
  dropMoveClaimAtDestination,
  dropMoveClaimAtSource,
  finishEvacuation,
  finishLiveMigration,
  saveInstance,
  saveMove,
  updateUsage,
} from "./instance-saves.js";
import { rebuildClaim, resizeClaim } from "./move-claim.js";
import { DISABLED_TRAIT } from "./node-update.js";
import { loadProviderConfigs, ProviderMerge } from "./provider-config.js";
import { type TrackerState, trackerOptions } from "./tracker-state.js";
import { updateAvailableResource, updateAvailableResourceForNode } from "./update-available-resource.js";

/**
 * Creates the tracker of one agent (spec 4): functions on a shared state, each in a file next to this one. Loads
 * provider.yaml once.
 * @throws {ProviderConfigException} a file breaks a rule
 */
export async function createResourceTracker(context: AgentContext): Promise<ResourceTracker> {
  const options = trackerOptions(context.config);
  const configs = await loadProviderConfigs(options.providerConfigLocation, context.runtime);
  const tracker: TrackerState = {
    options,
    lock: new FairLock(),
    nodes: new Map(),
    merge: new ProviderMerge(configs, context.logger),
    capabilityTraits: capabilitiesAsTraits(context.driver.capabilities, options.imageTypeExcludeList),
    binding: { serviceId: null, disabled: null, epoch: 0, persistsComputeIds: true },
    ...context,
  };
  return new Tracker(tracker);
}

/** A class instead of one closure per method: a process may have thousands of agents. */
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

/** @throws ComputeServiceInUse for a service other than the bound one, ServiceNotUnique for another host's. @internal */
export function bindService(tracker: TrackerState, service: Service): void {
  const { binding } = tracker;
  if (service.host !== tracker.host) {
    throw new TrackerError(
      "ServiceNotUnique",
      `the tracker of host ${tracker.host} was given the service of host ${service.host}: start one agent per host`,
    );
  }
  if (binding.serviceId !== null && binding.serviceId !== service.id) {
    throw new TrackerError(
      "ComputeServiceInUse",
      `host ${tracker.host} is bound to service ${binding.serviceId} and was given service ${service.id}: ` +
        "the service was deleted and created again while this agent ran; restart the agent",
    );
  }
  binding.serviceId = service.id;
  binding.disabled = service.disabled;
}

/**
 * Sets or clears COMPUTE_STATUS_DISABLED on every node (spec 2.5). Logs failures as warnings: each pass derives the
 * trait from the Service row again.
 * @internal
 */
export async function setHostEnabled(tracker: TrackerState, enabled: boolean, request: RequestContext): Promise<void> {
  await tracker.lock.run(() => setTraits(tracker, enabled, request));
}

async function setTraits(tracker: TrackerState, enabled: boolean, request: RequestContext): Promise<void> {
  const { placement, logger, host } = tracker;
  // Writes between passes must not undo it.
  tracker.binding.disabled = !enabled;
  if (tracker.nodes.size === 0) {
    logger.warn("the host has no compute node: nothing to enable or disable", { host });
  }
  for (const [name, { row }] of tracker.nodes) {
    try {
      const { traits, generation } = await placement.getProviderTraits(row.uuid, request);
      if (traits.includes(DISABLED_TRAIT) === !enabled) {
        continue;
      }
      const desiredTraits = enabled ? traits.filter((trait) => trait !== DISABLED_TRAIT) : [...traits, DISABLED_TRAIT];
      await placement.setTraitsForProvider(row.uuid, { traits: desiredTraits, generation }, request);
    } catch (err) {
      logger.warn(`${DISABLED_TRAIT} could not be ${enabled ? "removed" : "set"}; the next pass does it`, {
        node: name,
        request_id: request.requestId,
        err,
      });
    }
  }
}

/** Counts towards `[compute] consecutive_build_service_disable_threshold`; a success resets the count. @internal */
export function noteBuild(tracker: TrackerState, node: string, result: "succeeded" | "failed"): void {
  const tracked = tracker.nodes.get(node);
  if (!tracked || tracker.options.consecutiveBuildServiceDisableThreshold === 0) {
    return;
  }
  tracked.failedBuilds = result === "failed" ? tracked.failedBuilds + 1 : 0;
}
