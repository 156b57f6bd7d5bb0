export interface FindingRow {
  /** `stale-guest`, `guest-without-server`, `server-without-guest`, `stale-allocation`, `missing-allocation` or `doubled-allocation`. */
  readonly code: string;
  readonly text: string;
  /** Where it is shown; null: it is not about one. */
  readonly host: string | null;
  readonly server: string | null;
  readonly consumer: string | null;
  readonly provider: string | null;
}

/** An edit of the plan that the action `audit` has written; `apply` and `undo` do it alone, or take it back. */
export interface EditRow {
  /** Codes of what `compute-cluster audit` has found, which it removes. */
  readonly findings: readonly string[];
  readonly reason: string;
  /** What it does, in a line. */
  readonly does: string;
  /** The consumer or provider that it changes, by which it can be chosen. */
  readonly subject: string;
}
