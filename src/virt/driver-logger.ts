import type { Clock, Timers } from "../runtime/time.js";
import type { LogFields, Logger } from "../runtime/runtime.js";

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
