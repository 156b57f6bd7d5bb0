/** What the agent counts about itself; the metrics endpoint implements it. Must not throw. */
export interface AgentMetrics {
  /** Guests on the hypervisor whose instance belongs to another host, without an evacuation record (spec 2.4 G13). */
  foreignGuests(count: number): void;
  /** Guests on the hypervisor that no instance is known for; never touched (spec V3). */
  orphanGuests(count: number): void;
  /** A guest of an evacuated instance was destroyed, or is kept until its evacuation has ended (spec 3.1, 3.3). */
  evacuatedGuest(outcome: "destroyed" | "kept"): void;
  /** One run of a periodic task. */
  periodicTask(name: string, seconds: number, failed: boolean): void;
}

export const NO_METRICS: AgentMetrics = Object.freeze({
  foreignGuests() {},
  orphanGuests() {},
  evacuatedGuest() {},
  periodicTask() {},
});
