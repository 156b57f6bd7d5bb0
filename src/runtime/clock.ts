/** The time of day and a clock that never goes back. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. For measuring and for leases. */
  monotonic(): number;
}
