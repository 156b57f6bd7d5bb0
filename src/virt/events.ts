export const LIFECYCLE_TRANSITIONS = [
  "started",
  "stopped",
  "paused",
  "resumed",
  "suspended",
  "postcopy_started",
  "migration_completed",
] as const;
export type LifecycleTransition = (typeof LIFECYCLE_TRANSITIONS)[number];

/** Something happened to a guest outside of the agent (spec 8.5). */
export interface LifecycleEvent {
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly uuid: string;
  readonly name: string;
  readonly transition: LifecycleTransition;
}
