import { ComputeResourcesUnavailable } from "../virt/errors.js";
import type { Claim, ResourceTracker } from "./contracts.js";
import type { AgentMetrics, ClaimKind } from "./metrics.js";

/** Counts a tracker's claims, and those that are taken back; all else is the tracker's own. */
export function meteredTracker(tracker: ResourceTracker, metrics: AgentMetrics): ResourceTracker {
  const claims: Partial<ResourceTracker> = {
    instanceClaim: (...args) => counted("instance", () => tracker.instanceClaim(...args)),
    rebuildClaim: (...args) => counted("move", () => tracker.rebuildClaim(...args)),
    resizeClaim: (...args) => counted("move", () => tracker.resizeClaim(...args)),
  };

  async function counted(kind: ClaimKind, take: () => Promise<Claim>): Promise<Claim> {
    try {
      const claim = await take();
      metrics.claim(kind, "succeeded");
      return withAbort(claim, () => metrics.claim(kind, "aborted"));
    } catch (error) {
      // What else fails (a lost conductor, Placement) says nothing of the host's resources.
      if (error instanceof ComputeResourcesUnavailable) metrics.claim(kind, "refused");
      throw error;
    }
  }

  return new Proxy(tracker, {
    get: (target, name) => {
      const counting: unknown = Reflect.get(claims, name);
      if (counting !== undefined) return counting;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const withAbort = (claim: Claim, aborted: () => void): Claim => ({
  instance: claim.instance,
  migration: claim.migration,
  abort: (options) => {
    aborted();
    return claim.abort(options);
  },
});
