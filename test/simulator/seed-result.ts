import type { Breach } from "./oracle.js";

/** The result of one seed, for other processes and scripts. */
export interface SeedResult {
  readonly seed: number;
  readonly hash: string;
  /** Milliseconds. */
  readonly virtualTime: number;
  /** Milliseconds of real time. */
  readonly realTime: number;
  /** Milliseconds of processor time. */
  readonly processorTime: number;
  readonly steps: number;
  readonly acknowledged: number;
  readonly breaches: readonly Breach[];
  /** The last events of the first violation's subject. */
  readonly history: readonly string[];
  /** The path of the plan if a rule was violated. */
  readonly file: string | null;
}
