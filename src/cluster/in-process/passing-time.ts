import { nodeTimers } from "../../runtime/node/node-builtins.js";
import type { Activity } from "../../simulation/local/activity.js";
import { type LocalTime, VirtualTime } from "../../simulation/local/local-time.js";

/** Milliseconds of a virtual wait in which what is real may end by itself, before time is moved for it. */
const REAL = 2;
/** The same between two looks at what goes by real time. */
const LOOK = 5;
/** Most that virtual time goes on in one step. */
const STEP = 3_600_000;
/** Milliseconds that pass by themselves in each look, while nothing is under way: ten minutes a second. */
const IDLE = 3_000;

/** Milliseconds: a shorter time is not skipped, and so much of a longer one goes by for what was skipped to be done once. */
const LONG = 120_000;
const AFTERWARDS = 2_000;
/** Between two looks whether time can be skipped. */
const BUSY = 60_000;

/** What says whether time may be skipped. */
export interface Rest {
  /** Nothing is under way, and nothing waits for its time: an hour would only bring heartbeats, and passes that find nothing. */
  readonly isAtRest: () => Promise<boolean>;
  /** So much was skipped. */
  readonly skipped: () => void;
}

/** Waits for what a cluster does, and moves its time for that where it stands. */
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

  /** @throws {Error} it goes by itself */
  async advance(seconds: number): Promise<void> {
    if (!(this.#time instanceof VirtualTime)) {
      throw new Error('the cluster goes by real time, which nobody can move: start it with time: "virtual"');
    }
    if (!(Number.isFinite(seconds) && seconds >= 0)) {
      throw new Error(`found ${seconds} seconds, expected 0 or more: no time comes back`);
    }
    await this.#pass(this.#time, seconds * 1000);
  }

  /** What a cluster at rest does in hours it does once. */
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

  /** What `work` comes to. */
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

  /** Until `left` says of nothing that it is left. @throws {NotSettled} after so many milliseconds of the cluster's time */
  async until(left: () => Promise<string | undefined>, timeout: number): Promise<void> {
    const begin = this.#time.clock.monotonic();
    for (;;) {
      await this.#activity.quiet();
      const what = await this.through(left());
      if (what === undefined) {
        return;
      }
      if (this.#time.clock.monotonic() - begin >= timeout) {
        throw new NotSettled(timeout, what);
      }
      if (!(this.#time instanceof VirtualTime && (await this.#time.next(STEP)))) {
        await this.#real.sleep(LOOK);
      }
    }
  }

  /** Lets virtual time move by itself from now on. @param busy whether something is under way */
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

/** It did not come to rest. */
class NotSettled extends Error {
  override readonly name = "NotSettled";

  constructor(timeout: number, left: string) {
    super(`the cluster has not settled within ${timeout / 1000} s: ${left}`);
  }
}
