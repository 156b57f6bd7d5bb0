/** What the code that runs belongs to: it, and everything that it starts, such as timers, promises and listeners. */
export interface Scope<T> {
  /** Undefined: nobody's. */
  readonly current: T | undefined;
  run<R>(owner: T, work: () => R): R;
  /** Runs what is nobody's in the middle of somebody's. */
  leave<R>(work: () => R): R;
}
