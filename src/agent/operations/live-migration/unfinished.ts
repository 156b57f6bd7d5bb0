import type { MigrationStatus } from "../../../records/index.js";

/** Statuses in which the source of a live migration may have left it (spec 1.5). */
export const UNFINISHED = [
  "accepted",
  "queued",
  "preparing",
  "running",
  "running (post-copy)",
] as const satisfies readonly MigrationStatus[];
