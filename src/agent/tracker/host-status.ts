import type { RequestContext } from "../../placement-client/types.js";
import type { TrackerState } from "./tracker-state.js";
import { DISABLED_TRAIT } from "./traits.js";

/**
 * Sets or clears COMPUTE_STATUS_DISABLED on every node (spec 2.5). A failure only warns: each pass derives the trait from
 * the Service row again.
 */
export async function setHostEnabled(tracker: TrackerState, enabled: boolean, request: RequestContext): Promise<void> {
  await tracker.lock.run(() => setTraits(tracker, enabled, request));
}

async function setTraits(tracker: TrackerState, enabled: boolean, request: RequestContext): Promise<void> {
  const { placement, runtime, host } = tracker.context;
  // What is written between passes must not undo it.
  tracker.binding.disabled = !enabled;
  if (tracker.nodes.size === 0) {
    runtime.logger.warn("the host has no compute node: nothing to enable or disable", { host });
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
      runtime.logger.warn(`${DISABLED_TRAIT} could not be ${enabled ? "removed" : "set"}; the next pass does it`, {
        node: name,
        request_id: request.requestId,
        err,
      });
    }
  }
}

/** Counts towards `[compute] consecutive_build_service_disable_threshold`; a success starts the count again. */
export function noteBuild(tracker: TrackerState, node: string, result: "succeeded" | "failed"): void {
  const tracked = tracker.nodes.get(node);
  if (!tracked || tracker.options.consecutiveBuildServiceDisableThreshold === 0) {
    return;
  }
  tracked.failedBuilds = result === "failed" ? tracked.failedBuilds + 1 : 0;
}
