import { nodeTimers } from "../../runtime/node/node-builtins.js";
import type { Activity } from "../../simulation/local/activity.js";
import { type LocalTime, VirtualTime } from "../../simulation/local/local-time.js";

/** Real milliseconds to wait for real work before virtual time is advanced for it. */
const REAL = 2;
/** Poll interval in real milliseconds for work that takes real time. */
const LOOK = 5;
/** Max virtual milliseconds of one step. */
const STEP = 3_600_000;
/** Virtual milliseconds per poll while nothing is in progress: ten minutes a second. */
const IDLE = 3_000;

/**
 * Milliseconds. Shorter times are not skipped. Of a longer one, this much passes regularly afterwards, so that skipped
 * events run once.
 */
const LONG = 120_000;
const AFTERWARDS = 2_000;
/** Virtual milliseconds between two checks whether time can be skipped. */
const BUSY = 60_000;

/** Decides whether time may be skipped. */
export interface Rest {
  /**
   * Returns whether nothing is in progress or scheduled: an hour would only bring heartbeats and periodic tasks without
   * effect.
   */
  readonly isAtRest: () => Promise<boolean>;
  /** Called after time was skipped. */
  readonly skipped: () => void;
}

/** Waits for the work of a cluster and advances virtual time as needed. */
export class PassingTime {
  readonly #time: LocalTime;
  readonly #activity: Activity;
  readonly #real = nodeTimers();
  readonly #rest: Rest;
  #isOver = false;

  constructor(time: LocalTime, activity: Activity, rest: Rest) {
    this.#rest = rest;
    this.#time = time;
    this.#activity = activity;
  }

  get now(): number {
    return this.#time.clock.now();
  }

  /** @throws {Error} when the cluster uses real time */
  async advance(seconds: number): Promise<void> {
    if (!(this.#time instanceof VirtualTime)) {
      throw new Error('the cluster uses real time, which cannot be advanced: start it with time: "virtual"');
    }
    if (!(Number.isFinite(seconds) && seconds >= 0)) {
      throw new Error(`found ${seconds} seconds, expected 0 or more`);
    }
    await this.#pass(this.#time, seconds * 1000);
  }

  /** Skips time while the cluster is idle, since its periodic work of hours then runs only once. */
  async #pass(time: VirtualTime, milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; ) {
      if (left > LONG && (await this.#isAtRest(time))) {
        const skipped = Math.min(left - AFTERWARDS, STEP);
        await time.skip(skipped);
        this.#rest.skipped();
        await time.advance(AFTERWARDS);
        left -= skipped + AFTERWARDS;
      } else {
        const passed = Math.min(left, BUSY);
        await time.advance(passed);
        left -= passed;
      }
    }
  }

  async #isAtRest(time: VirtualTime): Promise<boolean> {
    await time.advance(0);
    return this.through(this.#rest.isAtRest());
  }

  /** Settles as `work` does, advancing virtual time as needed. */
  async through<T>(work: Promise<T>): Promise<T> {
    if (this.#time instanceof VirtualTime) {
      let isDone = false;
      const done = () => {
        isDone = true;
      };
      work.then(done, done);
      await this.#move(this.#time, () => isDone);
    }
    return work;
  }

  /**
   * Waits until `left` returns undefined.
   * @throws {Error} after `timeout` milliseconds of the cluster's time
   */
  async until(left: () => Promise<string | undefined>, timeout: number): Promise<void> {
    const begin = this.#time.clock.monotonic();
    for (;;) {
      await this.#activity.quiet();
      const what = await this.through(left());
      if (what === undefined) {
        return;
      }
      if (this.#time.clock.monotonic() - begin >= timeout) {
        throw new Error(`the cluster has not settled within ${timeout / 1000} s: ${what}`);
      }
      if (!(this.#time instanceof VirtualTime && (await this.#time.next(STEP)))) {
        await this.#real.sleep(LOOK);
      }
    }
  }

  /**
   * Advances virtual time continuously from now on.
   * @param busy returns whether an operation is in progress
   */
  async run(busy: () => boolean): Promise<void> {
    const time = this.#time;
    while (time instanceof VirtualTime && !this.#isOver) {
      if (!(busy() && (await time.next(STEP)))) {
        await this.#real.sleep(LOOK);
        await time.advance(this.#isOver ? 0 : IDLE);
      }
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  async #move(time: VirtualTime, isDone: () => boolean): Promise<void> {
    await this.#activity.quiet();
    if (!isDone()) {
      await this.#real.sleep(REAL);
    }
    while (!isDone()) {
      if (!(await time.next(STEP))) {
        await this.#real.sleep(REAL);
      }
    }
  }
}
