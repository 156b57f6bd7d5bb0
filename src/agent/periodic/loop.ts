import type { Random } from "../../runtime/cryptography.js";
import type { Logger } from "../../runtime/runtime.js";
import type { CancelTimer, Clock, Timers } from "../../runtime/time.js";
import type { AgentMetrics } from "../metrics/metrics.js";

/** Spacing in seconds of tasks whose option is 0 or unset (spec 4.10). */
export const DEFAULT_SPACING = 60;

/** Milliseconds between the times at which hosts of a process begin. */
const BEAT_MS = 250;

/** Seconds after which a task runs again if it requests that. */
const SOON_SECONDS = 5;

/** A task that all hosts of a process share: `subject` is the host that it runs for. */
export interface PeriodicTask<S> {
  /** The task's name in Nova. */
  readonly name: string;
  /** In seconds; 0: {@link DEFAULT_SPACING}; negative: disabled. */
  spacing(subject: S): number;
  /** Returns whether it also runs in the first round. Absent: no. */
  immediate?(subject: S): boolean;
  run(subject: S): Promise<void>;
  /** Called after each run: returns whether the task must run again before its spacing has elapsed. Absent: no. */
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
  /** `periodic_fuzzy_delay`, in seconds: the first round starts after a random time up to this. */
  readonly fuzzyDelay: number;
}

/** In milliseconds; null: disabled. */
function spacingOf<S>(task: PeriodicTask<S>, subject: S): number | null {
  const seconds = task.spacing(subject);
  return seconds < 0 ? null : (seconds || DEFAULT_SPACING) * 1000;
}

/** Runs tasks one after the other, each at its spacing; logs a task's error and continues. */
export class PeriodicLoop<S> {
  readonly #options: PeriodicLoopOptions<S>;
  /** The time at which each task is due, on the monotonic clock. */
  #due: number[] = [];
  #stopped = false;
  #cancel: CancelTimer = () => {};
  /** The running round, or the last one. */
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

  /** Starts no more tasks; resolves when the running one has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#round;
  }

  /** Only the timer is retained between rounds: most of the thousands of hosts in a process are waiting. */
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

  /** @returns the time at which it is due again */
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
    return task.soon?.(subject) ? now + Math.min(SOON_SECONDS * 1000, spacing) : Math.max(due + spacing, now);
  }
}

/**
 * Rounds `time` down to a beat that has not begun yet. Hosts of a process that are due in one beat run at the same
 * time, and their requests are batched.
 */
function beat(now: number, time: number): number {
  const begin = Math.floor(time / BEAT_MS) * BEAT_MS;
  return begin < now ? time : begin;
}
