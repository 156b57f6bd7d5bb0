import { type MessageObserver, NO_OBSERVER } from "../../conductor-client/port.js";
import type { PlacementRequestEvent } from "../../placement-client/placement-http.js";
import type { DriverOutcome } from "../../virt/driver-call.js";

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
  claim(kind: "instance" | "move", outcome: "succeeded" | "refused" | "aborted"): void;
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
