import type { LogFields, Logger } from "../runtime/runtime.js";
import type { Clock, Timers } from "../runtime/time.js";
import { LIFECYCLE_TRANSITIONS, type LifecycleEvent } from "./context.js";
import { describe } from "./driver-error.js";
import { UUID_PATTERN } from "./value-checks.js";

/** Lines that a driver may log at once. */
const LINE_BUCKET_CAPACITY = 200;

/** Lines a second after that. */
const RATE = 50;

/** Milliseconds after which what was dropped is said. */
const DROP_REPORT_DELAY_MS = 1_000;

export interface DriverLoggerOptions {
  readonly driver: string;
  readonly clock: Pick<Clock, "monotonic">;
  readonly timers: Pick<Timers, "after">;
  /** Which call of the driver logs now. */
  readonly fields: () => LogFields;
}

/**
 * The log as a driver has it: each line says which call of the driver logs it, and one that logs without end does not fill the
 * disk or hold the loop; how many lines were dropped is said.
 */
export function driverLogger(logger: Logger, options: DriverLoggerOptions): Logger {
  return limited(logger, { ...options, loud: new LineBudget(options, logger), quiet: new LineBudget(options, logger) });
}

/** `quiet`: of trace and debug, which are mostly not written, and must not keep others from being so. */
interface Budgets extends Pick<DriverLoggerOptions, "fields"> {
  readonly loud: LineBudget;
  readonly quiet: LineBudget;
}

function limited(logger: Logger, budgets: Budgets): Logger {
  const line =
    (level: Exclude<keyof Logger, "child">, budget: LineBudget) =>
    (message: string, fields: LogFields = {}): void => {
      if (budget.take()) {
        logger[level](message, { ...budgets.fields(), ...fields });
      }
    };
  const { loud, quiet } = budgets;
  return {
    trace: line("trace", quiet),
    debug: line("debug", quiet),
    info: line("info", loud),
    warn: line("warn", loud),
    error: line("error", loud),
    fatal: line("fatal", loud),
    child: (fields) => limited(logger.child(fields), budgets),
  };
}

/** A bucket of lines that fills again as time passes. */
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
 * The way of events from a driver to the agent (spec 8.5). Delivered in the order they came, never while the driver is
 * still in `emitEvent`. Without a listener they are dropped.
 */
export class LifecycleEvents {
  readonly #driver: string;
  readonly #logger: Logger;
  #listener: LifecycleListener | null = null;

  constructor(driver: string, logger: Logger) {
    this.#driver = driver;
    this.#logger = logger;
  }

  /** There is one listener; a new one takes its place, null drops what comes. */
  setListener(listener: LifecycleListener | null): void {
    this.#listener = listener;
  }

  /** What `context.emitEvent` is. Never throws. */
  readonly emit = (event: LifecycleEvent): void => {
    const broken = brokenRule(event);
    if (broken) {
      this.#logger.warn(
        `driver ${this.#driver}: emitEvent must be given ${broken}, but found ${describe(event)}; the event is dropped`,
        { driver: this.#driver, method: "emitEvent" },
      );
      return;
    }
    const { timestamp, uuid, name, transition } = event;
    void this.#deliver({ timestamp, uuid, name, transition });
  };

  async #deliver(event: LifecycleEvent): Promise<void> {
    // The driver may be in the middle of something.
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

/** Takes anything, since drivers may be plain JavaScript. */
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
