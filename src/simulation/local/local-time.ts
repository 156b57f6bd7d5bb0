import { nodeClock, nodeTimers } from "../../runtime/node/node-builtins.js";
import type { CancelTimer, Clock } from "../../runtime/time.js";
import { type Event, Timeline } from "../timeline.js";
import type { Activity } from "./activity.js";

/** A clock, and what is planned by it. */
export interface Planner {
  readonly clock: Clock;
  plan(milliseconds: number, action: () => void): CancelTimer;
}

/** The time of a local world. */
export interface LocalTime extends Planner {
  /** The same for what only happens again and again, so that once does for many times: it can be skipped. */
  readonly skippable: Planner;
  /** Nothing that was planned comes any more. */
  close(): void;
}

/** The machine's own. What is due now comes in the next turn of the event loop. */
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
  /** By the clock that goes on over what is skipped. */
  readonly due: number;
  readonly action: () => void;
  event: Event;
}

/**
 * Time that stands until somebody moves it. It begins at the machine's time of day.
 *
 * Some of it can be skipped, as if the machine had slept: its time of day goes on, and what was planned as skippable in that time is
 * due at once, each of it once. Everything else is due as much later, and its clock has stood.
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
  /** Moves one after the other. */
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
    // Whole milliseconds, as Node's timers, and never none: time has to move for what is waited for.
    const event = this.#timeline.plan(this.#now + Math.max(1, Math.trunc(milliseconds)), action);
    return () => this.#timeline.cancel(event);
  }

  /** Lets time pass, with everything that is due in it. */
  async advance(milliseconds: number): Promise<void> {
    await this.#move(async () => {
      const target = this.#now + Math.trunc(milliseconds);
      while (await this.#step(target)) {
        // Each step does what is due at one moment.
      }
      this.#now = target;
    });
  }

  /** Skips time. Nothing may be under way that would have come to its end in it. */
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

  /** Goes on to the next moment at which something is due, but not further than `most` milliseconds. False: nothing is. */
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
