import { nodeClock, nodeTimers } from "../../runtime/node/node-builtins.js";
import type { CancelTimer, Clock } from "../../runtime/time.js";
import { type Event, Timeline } from "../timeline.js";
import type { Activity } from "./activity.js";

/** A clock, and events planned by it. */
export interface Planner {
  readonly clock: Clock;
  plan(milliseconds: number, action: () => void): CancelTimer;
}

/** The time of a local world. */
export interface LocalTime extends Planner {
  /** A planner for recurring work that may run once instead of many times when time is skipped. */
  readonly skippable: Planner;
  /** Cancels all planned events. */
  close(): void;
}

/** The machine's real time. An event that is due immediately runs in the next event-loop tick. */
export class RealTime implements LocalTime {
  readonly clock = nodeClock();
  readonly skippable = this;
  readonly #timers = nodeTimers();
  readonly #activity: Activity;
  readonly #planned = new Set<CancelTimer>();

  constructor(activity: Activity) {
    this.#activity = activity;
  }

  plan(milliseconds: number, action: () => void): CancelTimer {
    if (milliseconds <= 0) {
      return this.#activity.soon(action);
    }
    const stop = this.#timers.after(milliseconds, () => {
      this.#planned.delete(cancel);
      action();
    });
    const cancel = () => {
      this.#planned.delete(cancel);
      stop();
    };
    this.#planned.add(cancel);
    return cancel;
  }

  close(): void {
    for (const cancel of [...this.#planned]) {
      cancel();
    }
  }
}

interface Skippable {
  /** By the clock that includes skipped time. */
  readonly due: number;
  readonly action: () => void;
  event: Event;
}

/**
 * Time that passes only when it is advanced. It begins at the machine's time of day.
 * Time can be skipped, as if the machine had been suspended: the time of day advances, and each skippable event in that
 * time runs once, immediately. All other events are postponed, and the monotonic clock does not count skipped time.
 */
export class VirtualTime implements LocalTime {
  readonly clock: Clock;
  readonly skippable: Planner;
  readonly #skippable = new Set<Skippable>();
  #skipped = 0;
  readonly #activity: Activity;
  readonly #timeline = new Timeline();
  readonly #start = nodeClock().now();
  #now = this.#start;
  /** Serializes movements of time. */
  #moving: Promise<void> = Promise.resolve();

  constructor(activity: Activity) {
    this.#activity = activity;
    const now = () => this.#now + this.#skipped;
    this.clock = { now, monotonic: () => this.#now - this.#start };
    this.skippable = {
      clock: { now, monotonic: () => now() - this.#start },
      plan: (milliseconds, action) => this.#planSkippable(milliseconds, action),
    };
  }

  plan(milliseconds: number, action: () => void): CancelTimer {
    if (milliseconds <= 0) {
      return this.#activity.soon(action);
    }
    // Integer milliseconds, as in Node's timers, and at least one: waiting must advance time.
    const event = this.#timeline.plan(this.#now + Math.max(1, Math.trunc(milliseconds)), action);
    return () => this.#timeline.cancel(event);
  }

  /** Advances time and runs everything due in it. */
  async advance(milliseconds: number): Promise<void> {
    await this.#move(async () => {
      const target = this.#now + Math.trunc(milliseconds);
      while (await this.#step(target)) {
        // Each step runs the events of one point in time.
      }
      this.#now = target;
    });
  }

  /** Skips time. The caller must ensure that nothing is in progress that would have completed in it. */
  async skip(milliseconds: number): Promise<void> {
    await this.#move(async () => {
      await this.#activity.quiet();
      this.#skipped += Math.trunc(milliseconds);
      for (const each of [...this.#skippable].toSorted((one, other) => one.due - other.due)) {
        this.#timeline.cancel(each.event);
        each.event = this.#planEvent(each);
      }
    });
  }

  /** Advances to the next event, but by at most `most` milliseconds. Returns false if there is none. */
  async next(most: number): Promise<boolean> {
    let moved = false;
    await this.#move(async () => {
      moved = await this.#step(this.#now + Math.trunc(most));
    });
    return moved;
  }

  close(): void {
    this.#timeline.clear();
    this.#skippable.clear();
  }

  #planSkippable(milliseconds: number, action: () => void): CancelTimer {
    if (milliseconds <= 0) {
      return this.#activity.soon(action);
    }
    const due = this.#now + this.#skipped + Math.max(1, Math.trunc(milliseconds));
    const each: Skippable = {
      due,
      action: () => {
        this.#skippable.delete(each);
        action();
      },
      event: this.#timeline.plan(due - this.#skipped, () => each.action()),
    };
    this.#skippable.add(each);
    return () => {
      this.#skippable.delete(each);
      this.#timeline.cancel(each.event);
    };
  }

  #planEvent({ due, action }: Skippable): Event {
    return this.#timeline.plan(Math.max(this.#now, due - this.#skipped), action);
  }

  async #move(work: () => Promise<void>): Promise<void> {
    const mine = this.#moving.then(work);
    this.#moving = mine.catch(() => undefined);
    await mine;
  }

  async #step(target: number): Promise<boolean> {
    await this.#activity.quiet();
    const first = this.#timeline.take(target);
    if (first === undefined) {
      return false;
    }
    this.#now = first.at;
    first.action();
    for (let due = this.#timeline.take(first.at); due !== undefined; due = this.#timeline.take(first.at)) {
      due.action();
    }
    await this.#activity.quiet();
    return true;
  }
}
