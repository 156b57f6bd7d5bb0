import { LevelLogger, type LogLevel } from "../runtime/level-logger.js";
import type { LogFields, Logger } from "../runtime/runtime.js";
import type { Clock, Timers } from "../runtime/time.js";
import { LIFECYCLE_TRANSITIONS, type LifecycleEvent } from "./context.js";
import { describe } from "./driver-error.js";
import { UUID_PATTERN } from "./value-checks.js";

/** Maximum number of lines in one burst. */
const LINE_BUCKET_CAPACITY = 200;

/** Lines per second that refill the bucket. */
const RATE = 50;

/** Delay until the number of dropped lines is logged. */
const DROP_REPORT_DELAY_MS = 1_000;

export interface DriverLoggerOptions {
  readonly driver: string;
  readonly clock: Pick<Clock, "monotonic">;
  readonly timers: Pick<Timers, "after">;
  /** Returns the fields that identify the driver call that logs. */
  readonly fields: () => LogFields;
}

/**
 * `quiet` is the budget of trace and debug lines, so that these, which are rarely written, do not use up the other budget.
 */
interface Budgets {
  readonly loud: LineBudget;
  readonly quiet: LineBudget;
}

/**
 * A driver's logger. Each line names the driver call that wrote it. The rate is limited, so that a driver that logs
 * without end neither fills the disk nor blocks the event loop; the number of dropped lines is logged.
 */
export class DriverLogger extends LevelLogger {
  readonly #logger: Logger;
  readonly #options: DriverLoggerOptions;
  readonly #budgets: Budgets;

  constructor(
    logger: Logger,
    options: DriverLoggerOptions,
    budgets: Budgets = { loud: new LineBudget(options, logger), quiet: new LineBudget(options, logger) },
  ) {
    super();
    this.#logger = logger;
    this.#options = options;
    this.#budgets = budgets;
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    const budget = level === "trace" || level === "debug" ? this.#budgets.quiet : this.#budgets.loud;
    if (budget.take()) {
      this.#logger[level](message, { ...this.#options.fields(), ...fields });
    }
  }

  child(fields: LogFields): Logger {
    return new DriverLogger(this.#logger.child(fields), this.#options, this.#budgets);
  }
}

/** A token bucket for log lines. */
class LineBudget {
  readonly #options: Omit<DriverLoggerOptions, "fields">;
  readonly #logger: Logger;
  #left = LINE_BUCKET_CAPACITY;
  #since: number;
  #dropped = 0;

  constructor(options: Omit<DriverLoggerOptions, "fields">, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    this.#since = options.clock.monotonic();
  }

  take(): boolean {
    const now = this.#options.clock.monotonic();
    this.#left = Math.min(LINE_BUCKET_CAPACITY, this.#left + ((now - this.#since) * RATE) / 1_000);
    this.#since = now;
    if (this.#left >= 1) {
      this.#left -= 1;
      return true;
    }
    if (this.#dropped === 0) {
      this.#options.timers.after(DROP_REPORT_DELAY_MS, () => this.#reportDropped());
    }
    this.#dropped += 1;
    return false;
  }

  #reportDropped(): void {
    const { driver } = this.#options;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#logger.warn(`driver ${driver} logs too much: ${dropped} of its lines were dropped`, { driver, dropped });
  }
}

export type LifecycleListener = (event: LifecycleEvent) => void | Promise<void>;

/**
 * Delivers events of a driver to the agent (spec 8.5), in order and never while the driver is still inside `emitEvent`.
 * Without a listener, events are dropped.
 */
export class LifecycleEvents {
  readonly #driver: string;
  readonly #logger: Logger;
  #listener: LifecycleListener | null = null;

  constructor(driver: string, logger: Logger) {
    this.#driver = driver;
    this.#logger = logger;
  }

  /** Replaces the listener; there is only one. Null drops events. */
  setListener(listener: LifecycleListener | null): void {
    this.#listener = listener;
  }

  /** Implements `context.emitEvent`. Never throws. */
  readonly emit = (event: LifecycleEvent): void => {
    const broken = brokenRule(event);
    if (broken) {
      this.#logger.warn(
        `driver ${this.#driver}: emitEvent must be called with ${broken}, but found ${describe(event)}; the event is dropped`,
        { driver: this.#driver, method: "emitEvent" },
      );
      return;
    }
    const { timestamp, uuid, name, transition } = event;
    void this.#deliver({ timestamp, uuid, name, transition });
  };

  async #deliver(event: LifecycleEvent): Promise<void> {
    // Leave the driver's call stack first: the driver may be in the middle of an operation.
    await null;
    try {
      await this.#listener?.(event);
    } catch (error) {
      this.#logger.error(`the handler of lifecycle event ${event.transition} failed`, {
        instance: event.uuid,
        err: error,
      });
    }
  }
}

/** Accepts any value, since drivers may be plain JavaScript. */
function brokenRule(event: unknown): string | undefined {
  if (typeof event !== "object" || event === null) {
    return "a lifecycle event";
  }
  const { timestamp, uuid, name, transition } = event as Record<string, unknown>;
  if (typeof timestamp !== "number" || !Number.isFinite(timestamp)) {
    return "a timestamp in milliseconds";
  }
  if (typeof uuid !== "string" || !UUID_PATTERN.test(uuid)) {
    return "the guest's uuid in lower case with hyphens";
  }
  if (typeof name !== "string") {
    return "the guest's name";
  }
  const transitions: readonly unknown[] = LIFECYCLE_TRANSITIONS;
  if (!transitions.includes(transition)) {
    return `a transition of ${LIFECYCLE_TRANSITIONS.join(", ")}`;
  }
  return undefined;
}
