import { ComputeResourcesUnavailable } from "../../virt/errors.js";
import type { Claim, ResourceTracker } from "../tracker/contract.js";
import type { AgentMetrics, ClaimKind } from "./metrics.js";

/** The tracker's methods that give a claim. */
type ClaimMethod = {
  [M in keyof ResourceTracker]: ResourceTracker[M] extends (...args: never) => Promise<Claim> ? M : never;
}[keyof ResourceTracker];

/** Every one of them, or this does not compile. */
const KINDS: Readonly<Record<ClaimMethod, ClaimKind>> = {
  instanceClaim: "instance",
  rebuildClaim: "move",
  resizeClaim: "move",
};

/** Counts a tracker's claims, and those that are taken back; all else is the tracker's own. */
export function meteredTracker(tracker: ResourceTracker, metrics: AgentMetrics): ResourceTracker {
  return new Proxy(tracker, new ClaimMeter(metrics));
}

/** An object without functions of its own: a process may have thousands of trackers. */
class ClaimMeter implements ProxyHandler<ResourceTracker> {
  readonly #metrics: AgentMetrics;

  constructor(metrics: AgentMetrics) {
    this.#metrics = metrics;
  }

  get(target: ResourceTracker, name: PropertyKey): unknown {
    const value: unknown = Reflect.get(target, name, target);
    if (typeof value !== "function") {
      return value;
    }
    if (!isClaimMethod(name)) {
      return value.bind(target);
    }
    return (...args: readonly unknown[]) => this.#counted(KINDS[name], () => Reflect.apply(value, target, args));
  }

  async #counted(kind: ClaimKind, take: () => Promise<Claim>): Promise<Claim> {
    const metrics = this.#metrics;
    try {
      const claim = await take();
      metrics.claim(kind, "succeeded");
      return withAbort(claim, () => metrics.claim(kind, "aborted"));
    } catch (error) {
      // What else fails (a lost conductor, Placement) says nothing of the host's resources.
      if (error instanceof ComputeResourcesUnavailable) {
        metrics.claim(kind, "refused");
      }
      throw error;
    }
  }
}

const isClaimMethod = (name: PropertyKey): name is ClaimMethod => Object.hasOwn(KINDS, name);

function withAbort(claim: Claim, aborted: () => void): Claim {
  return {
    instance: claim.instance,
    migration: claim.migration,
    abort: (options) => {
      aborted();
      return claim.abort(options);
    },
  };
}
