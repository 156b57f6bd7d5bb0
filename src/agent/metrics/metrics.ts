import { type MessageObserver, NO_OBSERVER } from "../../conductor-client/message-observer.js";
import type { PlacementRequestEvent } from "../../placement-client/placement-http.js";
import type { DriverOutcome } from "../../virt/driver-call.js";

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

export type ClaimKind = "instance" | "move";

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
