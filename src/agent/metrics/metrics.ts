import { type MessageObserver, NO_OBSERVER } from "../../conductor-client/port.js";
import type { PlacementRequestEvent } from "../../placement-client/placement-http.js";
import type { DriverOutcome } from "../../virt/driver-call.js";
import { ComputeResourcesUnavailable } from "../../virt/errors.js";
import type { Claim, ResourceTracker } from "../tracker/contract.js";

/** The agent's own metrics; {@link MetricsRegistry} implements it. Must not throw. */
export interface AgentMetrics extends MessageObserver {
  /** All guests on the hypervisor, whichever host they belong to. */
  guests(count: number): void;
  /** Guests on the hypervisor whose instance belongs to another host, without an evacuation record (spec 2.4 G13). */
  foreignGuests(count: number): void;
  /** Guests on the hypervisor without a known instance; never touched (spec V3). */
  orphanGuests(count: number): void;
  /**
   * Counts a guest of an evacuated instance that was destroyed, or that is retained until its evacuation has ended
   * (spec 3.1, 3.3).
   */
  evacuatedGuest(outcome: "destroyed" | "kept"): void;
  /** One run of a periodic task. */
  periodicTask(name: string, seconds: number, failed: boolean): void;
  /** Counts a claim that was requested from the tracker (spec 4.2), or aborted. */
  claim(kind: ClaimKind, outcome: "succeeded" | "refused" | "aborted"): void;
  /** Spec 2.5. */
  heartbeat(reported: boolean): void;
  placementRequest(event: PlacementRequestEvent): void;
  /** `instanceUuid`: the instance whose guest the call was for, if any. */
  driverCall(method: string, milliseconds: number, outcome: DriverOutcome, instanceUuid: string | undefined): void;
  /** Counts a driver error that occurred outside of any driver call. */
  driverUnhandledError(method: string, kind: "rejection" | "exception"): void;
  /** Consumers with allocations on this host's tree that should not exist (spec 9.3), as of the last check. */
  leakedAllocations(kind: LeakKind, count: number): void;
}

type ClaimKind = "instance" | "move";

/** `migration`: of a move that has ended. `instance`: on another host, without a task state. */
export type LeakKind = "migration" | "instance";

export const NO_METRICS: AgentMetrics = Object.freeze({
  ...NO_OBSERVER,
  guests() {},
  foreignGuests() {},
  orphanGuests() {},
  evacuatedGuest() {},
  periodicTask() {},
  claim() {},
  heartbeat() {},
  placementRequest() {},
  driverCall() {},
  driverUnhandledError() {},
  leakedAllocations() {},
});

/** The tracker's methods that return a claim. */
type ClaimMethod = {
  [M in keyof ResourceTracker]: ResourceTracker[M] extends (...args: never) => Promise<Claim> ? M : never;
}[keyof ResourceTracker];

/** The type requires an entry for each of them. */
const KINDS: Readonly<Record<ClaimMethod, ClaimKind>> = {
  instanceClaim: "instance",
  rebuildClaim: "move",
  resizeClaim: "move",
};

/** Wraps a tracker to count its claims and aborts; everything else is passed through. */
export function meteredTracker(tracker: ResourceTracker, metrics: AgentMetrics): ResourceTracker {
  return new Proxy(tracker, new ClaimMeter(metrics));
}

/** Shares its functions between instances: a process may have thousands of trackers. */
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
      // Other errors (a lost conductor, Placement) do not concern the host's resources.
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
