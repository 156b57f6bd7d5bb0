import type { Faults } from "../../faults/faults.js";
import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/logger.js";
import type { Random } from "../../runtime/random.js";
import type { Timers } from "../../runtime/timers.js";
import type { ValidateToken } from "../credentials.js";
import { applySchema } from "../database/schema-steps.js";
import type { Sql } from "../database/sql.js";
import { createIronicApi } from "./api/ironic-api.js";
import { IronicConductor } from "./conductor.js";
import { enrolNodes } from "./enrol-nodes.js";
import { DEFAULT_DELAYS, type HardwareDelays } from "./fault-points.js";
import { Hardware } from "./hardware.js";
import { IRONIC_SCHEMA } from "./ironic-schema.js";
import { NodeLocks } from "./node-locks.js";
import { NodeStore } from "./node-store.js";
import { PortStore } from "./port-store.js";

export interface IronicOptions {
  /** The state of record's file, in which Ironic keeps tables of its own. */
  readonly sql: Sql;
  readonly validate: ValidateToken;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  /** See `IRONIC_FAULTS`. */
  readonly faults: Faults;
  readonly delays?: Partial<HardwareDelays>;
}

/**
 * An emulated Ironic with hardware that is not there.
 * @internal for tests
 */
export type IronicService = ReturnType<typeof createIronic>;

export function createIronic(options: IronicOptions) {
  const { sql, clock, timers, faults, logger } = options;
  applySchema(sql, "ironic", IRONIC_SCHEMA, clock.now());
  const nodes = new NodeStore(sql, clock);
  const ports = new PortStore(sql, clock);
  const locks = new NodeLocks(timers);
  const delays = { ...DEFAULT_DELAYS, ...options.delays };
  const hardware = new Hardware({ nodes, ports, locks, clock, timers, faults, delays, logger });
  const conductor = new IronicConductor({ nodes, ports, locks, hardware, timers });
  return {
    /** Ironic's API v1; mount it at `/baremetal`. */
    handle: createIronicApi({ ...options, nodes, ports, locks, conductor }),
    /** See {@link enrolNodes}. */
    enrol: (count: number): void => sql.transaction(() => enrolNodes(nodes, ports, count)),
    /** Hardware goes on with what it was at when an earlier process ended. */
    start: (): void => hardware.resume(),
    /** Nothing changes any more; what hardware is at is taken up at the next start. */
    stop: (): void => hardware.stop(),
  };
}
