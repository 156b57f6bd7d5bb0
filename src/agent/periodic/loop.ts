import type { Random } from "../../runtime/cryptography.js";
import type { Logger } from "../../runtime/runtime.js";
import type { CancelTimer, Clock, Timers } from "../../runtime/time.js";
import type { AgentMetrics } from "../metrics/metrics.js";

/** Spacing in seconds of tasks whose option is 0 or unset (spec 4.10). */
export const DEFAULT_SPACING = 60;

/** Milliseconds between moments at which hosts of a process begin. */
const BEAT = 250;

/** Seconds after which a task that wants it soon runs again. */
const SOON = 5;

/** A task of all hosts of a process: `subject` is whose turn it is. */
export interface PeriodicTask<S> {
  /** Nova's name of it. */
  readonly name: string;
  /** Seconds; 0: {@link DEFAULT_SPACING}; negative: disabled. */
  spacing(subject: S): number;
  /** Whether it runs in the first round, too. Absent: no. */
  immediate?(subject: S): boolean;
  run(subject: S): Promise<void>;
  /** Asked after each run: whether it left something for which the spacing is too long. Absent: no. */
  soon?(subject: S): boolean;
}

export interface PeriodicLoopOptions<S> {
  readonly tasks: readonly PeriodicTask<S>[];
  readonly subject: S;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: AgentMetrics;
  /** `periodic_fuzzy_delay`, seconds: the first round comes after 0 to this many. */
  readonly fuzzyDelay: number;
}

/** Milliseconds; null: it is disabled. */
function spacingOf<S>(task: PeriodicTask<S>, subject: S): number | null {
  const seconds = task.spacing(subject);
  return seconds < 0 ? null : (seconds || DEFAULT_SPACING) * 1000;
}

/** Runs tasks one after the other, each in its spacing; an error in one is logged and stops nothing. */
export class PeriodicLoop<S> {
  readonly #options: PeriodicLoopOptions<S>;
  /** When each task is due, on the monotonic clock. */
  #due: number[] = [];
  #stopped = false;
  #cancel: CancelTimer = () => {};
  /** The round that runs, or ran last. */
  #round: Promise<void> | null = null;

  constructor(options: PeriodicLoopOptions<S>) {
    this.#options = options;
  }

  start(): void {
    const { tasks, subject } = this.#options;
    const start = this.#firstRound();
    this.#due = tasks.map((task) => {
      const spacing = spacingOf(task, subject);
      return spacing === null ? Number.POSITIVE_INFINITY : task.immediate?.(subject) ? start : start + spacing;
    });
    this.#wait();
  }

  /** No task is started any more; resolves when the one that runs has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#round;
  }

  /** Nothing is kept meanwhile but the timer: thousands of hosts of a process wait most of the time. */
  #wait(): void {
    const { timers, clock } = this.#options;
    const next = Math.min(...this.#due);
    if (!this.#stopped && next < Number.POSITIVE_INFINITY) {
      this.#cancel = timers.after(Math.max(0, next - clock.monotonic()), () => {
        this.#round = this.#runDue();
      });
    }
  }

  async #runDue(): Promise<void> {
    const { clock, tasks } = this.#options;
    for (const [index, task] of tasks.entries()) {
      if (this.#stopped) {
        return;
      }
      const due = this.#due[index] ?? 0;
      if (due <= clock.monotonic()) {
        this.#due[index] = await this.#run(task, due);
      }
    }
    this.#wait();
  }

  #firstRound(): number {
    const { clock, random, fuzzyDelay } = this.#options;
    const now = clock.monotonic();
    return fuzzyDelay > 0 ? beat(now, now + random.integer(0, fuzzyDelay * 1000)) : now;
  }

  /** @returns when it is due again. */
  async #run(task: PeriodicTask<S>, due: number): Promise<number> {
    const { clock, logger, metrics, subject } = this.#options;
    const started = clock.monotonic();
    let failed = false;
    try {
      await task.run(subject);
    } catch (error) {
      failed = true;
      logger.error(`periodic task ${task.name} failed`, { task: task.name, err: error });
    }
    metrics.periodicTask(task.name, (clock.monotonic() - started) / 1000, failed);
    const now = clock.monotonic();
    const spacing = spacingOf(task, subject) ?? Number.POSITIVE_INFINITY;
    return task.soon?.(subject) ? now + Math.min(SOON * 1000, spacing) : Math.max(due + spacing, now);
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
