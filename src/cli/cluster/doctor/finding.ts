/** `info`: fine as it is; `warning`: may surprise; `problem`: has to be mended before a cluster works. */
type FindingSeverity = "ok" | "info" | "warning" | "problem";

/** One thing that was looked at. */
export interface Finding {
  /** `node`, `port 8774`, `openstack` … */
  readonly what: string;
  readonly outcome: FindingSeverity;
  readonly found: string;
  /** What to do; absent: nothing. */
  readonly advice?: string;
}
