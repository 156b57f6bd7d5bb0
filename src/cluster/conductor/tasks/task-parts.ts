import type { ReportClient } from "../../../placement/report-client.js";
import type { Clock } from "../../../runtime/clock.js";
import type { Logger } from "../../../runtime/logger.js";
import type { Scheduler } from "../../scheduler/scheduler.js";
import type { Store } from "../../store/store.js";
import type { AgentBus } from "../agent-bus.js";

/** What the flows of the conductor work with. */
export interface TaskParts {
  readonly store: Store;
  readonly bus: AgentBus;
  readonly placement: ReportClient;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: {
    /** `[scheduler] max_attempts`; Nova's default is 3. */
    readonly maxAttempts: number;
    /** `service_down_time` in milliseconds. */
    readonly serviceDownTime: number;
    /** `[DEFAULT] allow_resize_to_same_host` */
    readonly allowResizeToSameHost: boolean;
    /** `[DEFAULT] migrate_max_retries`: further hosts that a live migration tries; -1: all. */
    readonly migrateMaxRetries: number;
    /** `[workarounds] upstream_quirks` */
    readonly upstreamQuirks: ReadonlySet<string>;
  };
}

/** Where the conductor's own events and faults say they happened. */
export const CONDUCTOR_HOST = "conductor";
