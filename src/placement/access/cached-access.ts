import type { Clock } from "../../runtime/clock.js";
import type { Credentials, PlacementAccess } from "./placement-access.js";

/** Tokens are renewed this long before they expire, so that none runs out on its way. */
const EXPIRES_SOON = 30_000;

export interface Lease extends Credentials {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Keeps what `obtain` gave until shortly before it expires; callers that come meanwhile share one request. */
export class CachedAccess implements PlacementAccess {
  readonly #clock: Clock;
  readonly #obtain: () => Promise<Lease>;
  #lease: Promise<Lease> | undefined;
  #expiresAt = 0;

  constructor(clock: Clock, obtain: () => Promise<Lease>) {
    this.#clock = clock;
    this.#obtain = obtain;
  }

  async credentials(): Promise<Credentials> {
    if (this.#lease === undefined || this.#clock.now() >= this.#expiresAt - EXPIRES_SOON) {
      const lease = this.#obtain();
      this.#lease = lease;
      this.#expiresAt = Number.POSITIVE_INFINITY;
      try {
        this.#expiresAt = (await lease).expiresAt;
      } catch (error) {
        if (this.#lease === lease) {
          this.#lease = undefined;
        }
        throw error;
      }
    }
    return this.#lease;
  }

  expire(): void {
    this.#lease = undefined;
  }
}
