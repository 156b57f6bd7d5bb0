import type { Clock } from "../../runtime/clock.js";

/** Most ids that are remembered, and for how many milliseconds. */
const MOST = 1_000;
const KEPT = 600_000;

/** The messages that have come lately: a broker may deliver one again when a connection is lost. */
export class RecentIds {
  readonly #clock: Clock;
  readonly #seen = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether this one is new; it is remembered. One without an id is. */
  isNew(id: string): boolean {
    const now = this.#clock.monotonic();
    for (const [oldest, at] of this.#seen) {
      if (this.#seen.size <= MOST && now - at <= KEPT) {
        break;
      }
      this.#seen.delete(oldest);
    }
    if (id === "") {
      return true;
    }
    const isKnown = this.#seen.has(id);
    this.#seen.set(id, this.#seen.get(id) ?? now);
    return !isKnown;
  }
}
