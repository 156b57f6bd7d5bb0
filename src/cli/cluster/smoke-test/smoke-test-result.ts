/** Whether an operation did what it should. */
export interface SmokeTestOutcome {
  readonly outcome: "ok" | "unsupported" | "failed" | "skipped";
  /** Why it is not ok. */
  readonly reason: string;
}

/** What one operation came to. */
export interface SmokeTestResult extends SmokeTestOutcome {
  readonly operation: string;
  readonly milliseconds: number;
  readonly calls: string;
}
