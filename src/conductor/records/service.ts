/** A row of `services` (spec 1.2). Times are milliseconds since the epoch. */
export interface Service {
  readonly id: number;
  readonly uuid: string;
  readonly host: string;
  /** `nova-compute`, `nova-conductor`, `nova-scheduler` */
  readonly binary: string;
  readonly topic: string;
  readonly reportCount: number;
  /** Moved by heartbeats only; null until the first. */
  readonly lastSeenUp: number | null;
  readonly disabled: boolean;
  readonly disabledReason: string | null;
  /** The operator's fence; an agent never changes it. */
  readonly forcedDown: boolean;
  /** Level of the service; see {@link SERVICE_VERSION}. */
  readonly version: number;
  readonly availabilityZone: string;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

/** What this build of the agent is: Nova master of August 2026 (OWNER_NOVA since 73). */
export const SERVICE_VERSION = 73;
/** The oldest agent that a deployment may hold unless `[workarounds] disable_compute_service_check_for_ffu` is set. */
export const OLDEST_SUPPORTED_SERVICE_VERSION = 72;
/** From here on agents have a `compute_id` file (spec 2.3). */
export const COMPUTE_ID_SERVICE_VERSION = 65;
/** From here on moves are accounted with migration-owned allocations (spec 6.0). */
export const SPLIT_ALLOCATIONS_SERVICE_VERSION = 23;
