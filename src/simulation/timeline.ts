/** Something that happens at a moment of virtual time. */
export interface Event {
  readonly at: number;
  /** Among those of one moment: the lower one first, and of equal ones that which was planned first. */
  readonly rank: number;
  readonly sequence: number;
  /** Undefined when it was cancelled. */
  action: (() => void) | undefined;
}

/** Events in order of time; those of one moment by rank, then in the order in which they were planned. A binary heap. */
export class Timeline {
  readonly #heap: Event[] = [];
  #sequence = 0;
  #live = 0;

  /** Events that are planned and not cancelled. */
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

  /** Takes the next event that is due at `until` or earlier. */
  take(until: number): { readonly at: number; readonly action: () => void } | undefined {
    const next = this.#first();
    if (!next?.action || next.at > until) {
      return undefined;
    }
    const { at, action } = next;
    this.cancel(next);
    return { at, action };
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
    for (let index = start; index > 0; ) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfBefore(index, parent)) {
        return;
      }
      index = parent;
    }
  }

  #sink(): void {
    for (let index = 0; ; ) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const child = this.#isBefore(right, left) ? right : left;
      if (!this.#swapIfBefore(child, index)) {
        return;
      }
      index = child;
    }
  }

  #isBefore(index: number, other: number): boolean {
    const [a, b] = [this.#heap[index], this.#heap[other]];
    if (a === undefined || b === undefined) {
      return false;
    }
    if (a.at !== b.at) {
      return a.at < b.at;
    }
    return a.rank === b.rank ? a.sequence < b.sequence : a.rank < b.rank;
  }

  #swapIfBefore(index: number, other: number): boolean {
    const [a, b] = [this.#heap[index], this.#heap[other]];
    if (!a || !b || !this.#isBefore(index, other)) {
      return false;
    }
    this.#heap[index] = b;
    this.#heap[other] = a;
    return true;
  }
}
