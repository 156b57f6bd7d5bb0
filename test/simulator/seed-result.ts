import type { Breach } from "./oracle.js";

/** What one seed came to, as it goes from process to process and to scripts. */
export interface SeedResult {
  readonly seed: number;
  readonly hash: string;
  /** Milliseconds. */
  readonly virtualTime: number;
  /** Milliseconds of real time. */
  readonly realTime: number;
  /** Milliseconds of the processor. */
  readonly processorTime: number;
  readonly steps: number;
  readonly acknowledged: number;
  readonly breaches: readonly Breach[];
  /** The last that was done to the first breach's subject. */
  readonly history: readonly string[];
  /** Where the plan was written, when it broke something. */
  readonly file: string | null;
}
