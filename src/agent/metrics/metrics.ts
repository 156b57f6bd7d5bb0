import { type MessageObserver, NO_OBSERVER } from "../../conductor-client/port.js";
import type { PlacementRequestEvent } from "../../placement-client/placement-http.js";
import type { DriverOutcome } from "../../virt/driver-call.js";
import { ComputeResourcesUnavailable } from "../../virt/errors.js";
import type { Claim, ResourceTracker } from "../tracker/contract.js";

/** What the agent counts about itself; {@link MetricsRegistry} implements it. Must not throw. */
export interface AgentMetrics extends MessageObserver {
  /** Guests on the hypervisor, whoever they belong to. */
  guests(count: number): void;
  /** Guests on the hypervisor whose instance belongs to another host, without an evacuation record (spec 2.4 G13). */
  foreignGuests(count: number): void;
  /** Guests on the hypervisor that no instance is known for; never touched (spec V3). */
  orphanGuests(count: number): void;
  /** A guest of an evacuated instance was destroyed, or is kept until its evacuation has ended (spec 3.1, 3.3). */
  evacuatedGuest(outcome: "destroyed" | "kept"): void;
  /** One run of a periodic task. */
  periodicTask(name: string, seconds: number, failed: boolean): void;
  /** A claim was asked of the tracker (spec 4.2), or taken back. `kind`: what for. */
  claim(kind: ClaimKind, outcome: "succeeded" | "refused" | "aborted"): void;
  /** Spec 2.5. */
  heartbeat(reported: boolean): void;
  placementRequest(event: PlacementRequestEvent): void;
  /** `instanceUuid`: of the guest that the call was about, if it was about one. */
  driverCall(method: string, milliseconds: number, outcome: DriverOutcome, instanceUuid: string | undefined): void;
  /** The driver left an error that no call of it could catch. */
  driverUnhandledError(method: string, kind: "rejection" | "exception"): void;
  /** Consumers that hold something on this host's tree and should not (spec 9.3), as last found. */
  leakedAllocations(kind: LeakKind, count: number): void;
}

type ClaimKind = "instance" | "move";

/** `migration`: of a move that has ended. `instance`: at rest on another host. */
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
