import { VirtualRandom } from "./virtual-random.js";

/** An action planned for a point in virtual time. */
export interface Event {
  readonly at: number;
  /** Order among events of the same time: lower ranks first, then the order of planning. */
  readonly rank: number;
  readonly sequence: number;
  /** Undefined once cancelled. */
  action: (() => void) | undefined;
}

/** A priority queue of events by time, rank and order of planning, as a binary heap. */
export class Timeline {
  readonly #heap: Event[] = [];
  #sequence = 0;
  #live = 0;

  /** The number of planned events that are not cancelled. */
  get size(): number {
    return this.#live;
  }

  plan(at: number, action: () => void, rank = 0): Event {
    const event: Event = { at, rank, sequence: this.#sequence++, action };
    this.#heap.push(event);
    this.#live += 1;
    this.#rise(this.#heap.length - 1);
    return event;
  }

  cancel(event: Event): void {
    if (event.action) {
      event.action = undefined;
      this.#live -= 1;
    }
  }

  /** Removes and returns the next event that is due at `until` or earlier. */
  take(until: number): { readonly at: number; readonly action: () => void } | undefined {
    const next = this.#first();
    if (!next?.action || next.at > until) {
      return undefined;
    }
    const { at, action } = next;
    this.cancel(next);
    return { at, action };
  }

  /** Cancels all events. */
  clear(): void {
    this.#heap.length = 0;
    this.#live = 0;
  }

  #first(): Event | undefined {
    while (this.#heap[0] && !this.#heap[0].action) {
      this.#dropFirst();
    }
    return this.#heap[0];
  }

  #dropFirst(): void {
    const last = this.#heap.pop();
    if (last && this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink();
    }
  }

  #rise(start: number): void {
    const heap = this.#heap;
    const event = heap[start];
    if (!event) {
      return;
    }
    let index = start;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (!parent || !isBefore(event, parent)) {
        break;
      }
      heap[index] = parent;
      index = above;
    }
    heap[index] = event;
  }

  #sink(): void {
    const heap = this.#heap;
    const event = heap[0];
    if (!event) {
      return;
    }
    let index = 0;
    for (;;) {
      const [left, right] = [heap[2 * index + 1], heap[2 * index + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (!child || !isBefore(child, event)) {
        break;
      }
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = event;
  }
}

function isBefore(a: Event, b: Event): boolean {
  if (a.at !== b.at) {
    return a.at < b.at;
  }
  return a.rank === b.rank ? a.sequence < b.sequence : a.rank < b.rank;
}

interface InterleavingOptions {
  /** The same seed gives the same choices. */
  readonly seed: string;
  /** Max latency of an I/O operation in milliseconds: a file access, a message, the end of a wait. */
  readonly most: number;
}

/**
 * Chooses among possible orders of events: the latency of each I/O operation, and the order of events at the same time.
 * Without it, everything happens immediately and in the order of planning.
 */
export class Interleaving {
  readonly #random: VirtualRandom;
  readonly #most: number;

  constructor({ seed, most }: InterleavingOptions) {
    this.#random = new VirtualRandom(seed);
    this.#most = most;
  }

  /** Returns a latency in milliseconds. Usually 0, so that rare orders do not hide common ones. */
  delay(): number {
    return this.#most > 0 && this.#random.next() < 0.25 ? this.#random.integer(1, this.#most) : 0;
  }

  /** Returns a rank; among events of the same time the lowest comes first. */
  rank(): number {
    return this.#random.next();
  }
}
