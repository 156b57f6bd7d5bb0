import type { Clock } from "../../runtime/clock.js";
import type { Credentials, PlacementAccess } from "./placement-access.js";

/** Tokens are renewed this long before they expire, so that none runs out on its way. */
export const EXPIRES_SOON = 30_000;

export interface Lease extends Credentials {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Keeps what `obtain` gave until shortly before it expires; callers that come meanwhile share one request. */
export class CachedAccess implements PlacementAccess {
  readonly #clock: Clock;
  readonly #obtain: () => Promise<Lease>;
  readonly #onTokenRejected: (token: string | undefined) => void;
  #token: string | undefined;
  #lease: Promise<Lease> | undefined;
  #expiresAt = 0;

  /** @param onTokenRejected hears of each token that is taken no more */
  constructor(
    clock: Clock,
    obtain: () => Promise<Lease>,
    onTokenRejected: (token: string | undefined) => void = () => {},
  ) {
    this.#clock = clock;
    this.#obtain = obtain;
    this.#onTokenRejected = onTokenRejected;
  }

  async credentials(): Promise<Credentials> {
    if (this.#lease === undefined || this.#clock.now() >= this.#expiresAt - EXPIRES_SOON) {
      const lease = this.#obtain();
      this.#lease = lease;
      this.#expiresAt = Number.POSITIVE_INFINITY;
      try {
        const { expiresAt, headers } = await lease;
        this.#expiresAt = expiresAt;
        this.#token = headers["x-auth-token"];
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
    this.#onTokenRejected(this.#token);
    this.#lease = undefined;
  }
}
