import type { NovaConfig } from "../../../config/nova-config.js";
import type { ReportClient } from "../../../placement-client/report-client.js";
import type { Clock } from "../../../runtime/clock.js";
import type { Logger } from "../../../runtime/logger.js";
import type { Scheduler } from "../../scheduler/scheduler.js";
import type { Store } from "../../store/store.js";
import type { AgentBus } from "../agent-messages.js";

/** The options of `[DEFAULT]` that the conductor's tasks go by; a new one needs its name here, and no more. */
const TASK_OPTIONS = ["allowResizeToSameHost", "migrateMaxRetries"] as const;

export type TaskOptions = Pick<NovaConfig["defaults"], (typeof TASK_OPTIONS)[number]>;

/** Picks them from all options of `[DEFAULT]`. */
export function taskOptions(defaults: TaskOptions): TaskOptions {
  return Object.fromEntries(TASK_OPTIONS.map((name) => [name, defaults[name]])) as TaskOptions;
}

/** The dependencies of the flows of the conductor's tasks. */
export interface TaskDeps {
  readonly store: Store;
  readonly bus: AgentBus;
  readonly placement: ReportClient;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: TaskOptions & {
    /** `[scheduler] max_attempts`; Nova's default is 3. */
    readonly maxAttempts: number;
    /** `service_down_time` in milliseconds. */
    readonly serviceDownTime: number;
    /** `[workarounds] upstream_quirks` */
    readonly upstreamQuirks: ReadonlySet<string>;
  };
}

/** Where the conductor's own events and faults say they happened. */
export const CONDUCTOR_HOST = "conductor";
