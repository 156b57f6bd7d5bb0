import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/logger.js";
import type { Random } from "../../runtime/random.js";
import type { Timers } from "../../runtime/timers.js";
import type { AgentMetrics } from "../metrics/metrics.js";

/** Spacing in seconds of tasks whose option is 0 or unset (spec 4.10). */
export const DEFAULT_SPACING = 60;

/** Milliseconds between moments at which hosts of a process begin. */
const BEAT = 250;

/** Seconds after which a task that wants it soon runs again. */
const SOON = 5;

export interface PeriodicTask {
  /** Nova's name of it. */
  readonly name: string;
  /** Seconds; 0: {@link DEFAULT_SPACING}; negative: disabled. */
  readonly spacing: number;
  /** Runs in the first round, too. */
  readonly immediate: boolean;
  run(): Promise<void>;
  /** Asked after each run: whether it left something for which the spacing is too long. Absent: no. */
  soon?(): boolean;
}

export interface PeriodicLoopOptions {
  readonly tasks: readonly PeriodicTask[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: AgentMetrics;
  /** `periodic_fuzzy_delay`, seconds: the first round comes after 0 to this many. */
  readonly fuzzyDelay: number;
}

interface Planned {
  readonly task: PeriodicTask;
  /** Milliseconds. */
  readonly spacing: number;
  due: number;
}

/** Runs tasks one after the other, each in its spacing; an error in one is logged and stops nothing. */
export class PeriodicLoop {
  readonly #options: PeriodicLoopOptions;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: PeriodicLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#loop();
  }

  /** No task is started any more; resolves when the one that runs has ended. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    const { clock, random, tasks, fuzzyDelay } = this.#options;
    const now = clock.monotonic();
    const start = fuzzyDelay > 0 ? beat(now, now + random.integer(0, fuzzyDelay * 1000)) : now;
    const planned = tasks
      .filter(({ spacing }) => spacing >= 0)
      .map((task): Planned => {
        const spacing = (task.spacing || DEFAULT_SPACING) * 1000;
        return { task, spacing, due: task.immediate ? start : start + spacing };
      });
    while (planned.length > 0) {
      const next = Math.min(...planned.map(({ due }) => due));
      if (!(await this.#sleptUntil(next))) {
        return;
      }
      for (const entry of planned) {
        if (entry.due <= clock.monotonic()) {
          await this.#run(entry);
        }
        if (this.#stopped.signal.aborted) {
          return;
        }
      }
    }
  }

  /** False when the loop was stopped meanwhile. */
  async #sleptUntil(due: number): Promise<boolean> {
    const { signal } = this.#stopped;
    try {
      await this.#options.timers.sleep(Math.max(0, due - this.#options.clock.monotonic()), signal);
    } catch (error) {
      if (!signal.aborted) {
        throw error;
      }
    }
    return !signal.aborted;
  }

  async #run(entry: Planned): Promise<void> {
    const { clock, logger, metrics } = this.#options;
    const { task, spacing } = entry;
    const started = clock.monotonic();
    let failed = false;
    try {
      await task.run();
    } catch (error) {
      failed = true;
      logger.error(`periodic task ${task.name} failed`, { task: task.name, err: error });
    }
    metrics.periodicTask(task.name, (clock.monotonic() - started) / 1000, failed);
    const now = clock.monotonic();
    entry.due = task.soon?.() ? now + Math.min(SOON * 1000, spacing) : Math.max(entry.due + spacing, now);
  }
}

/**
 * The quarter of a second in which `time` is, if it has not begun: the hosts of a process that are due in one run together, and
 * what they ask travels together.
 */
function beat(now: number, time: number): number {
  const begin = Math.floor(time / BEAT) * BEAT;
  return begin < now ? time : begin;
}
