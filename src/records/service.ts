import { amount, flag, id, name, nullable, type RecordOf, text, time, uuid } from "./field.js";
import { RELEASES } from "./release.js";

/** A row of `services` (spec 1.2). */
export const SERVICE = {
  id,
  uuid,
  host: name,
  /** `nova-compute`, `nova-conductor`, `nova-scheduler` */
  binary: name,
  topic: text(),
  reportCount: id,
  /** Moved by heartbeats only; null until the first. */
  lastSeenUp: nullable(time),
  disabled: flag,
  disabledReason: nullable(text()),
  /** The operator's fence; an agent never changes it. */
  forcedDown: flag,
  /** Level of the service; see {@link SERVICE_VERSION}. */
  version: amount,
  availabilityZone: text(),
  createdAt: time,
  updatedAt: nullable(time),
};

export type Service = RecordOf<typeof SERVICE>;

/** The service version of this build of the agent: that of Nova 34 (2026.2). OWNER_NOVA dates from 73. */
export const SERVICE_VERSION: number = RELEASES.hibiscus;
/** The oldest agent that a deployment may hold unless `[workarounds] disable_compute_service_check_for_ffu` is set. */
export const OLDEST_SUPPORTED_SERVICE_VERSION = 72;
/** From here on agents have a `compute_id` file (spec 2.3). */
export const COMPUTE_ID_SERVICE_VERSION = 65;
/** From here on moves are accounted with migration-owned allocations (spec 6.0). */
export const SPLIT_ALLOCATIONS_SERVICE_VERSION = 23;
