import type { Clock } from "../../runtime/time.js";

/** Most ids that are remembered, and for how many milliseconds. */
const MAX_IDS = 1_000;
const ID_TTL_MS = 600_000;

/** The messages that have come lately: a broker may deliver one again when a connection is lost. */
export class RecentIds {
  readonly #clock: Clock;
  readonly #receivedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether this one is new; it is remembered. One without an id is. */
  isNew(id: string): boolean {
    const now = this.#clock.monotonic();
    for (const [oldest, at] of this.#receivedAt) {
      if (this.#receivedAt.size <= MAX_IDS && now - at <= ID_TTL_MS) {
        break;
      }
      this.#receivedAt.delete(oldest);
    }
    if (id === "") {
      return true;
    }
    const isKnown = this.#receivedAt.has(id);
    this.#receivedAt.set(id, this.#receivedAt.get(id) ?? now);
    return !isKnown;
  }
}
