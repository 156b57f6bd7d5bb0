/** Whether an operation did what it should. */
export interface DrillVerdict {
  readonly verdict: "ok" | "unsupported" | "failed" | "skipped";
  /** Why it is not ok. */
  readonly reason: string;
}

/** What one operation came to. */
export interface DrillResult extends DrillVerdict {
  readonly operation: string;
  readonly milliseconds: number;
  readonly calls: string;
}
