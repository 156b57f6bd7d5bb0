import type { Clock } from "../../runtime/time.js";
import { EndpointNotFound } from "../errors.js";

/** Where Placement is and what lets a request in. */
export interface Credentials {
  /** Without a trailing slash. */
  readonly endpoint: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How the client gets at Placement: one implementation for each kind of authentication. */
export interface PlacementAccess {
  /**
   * Cached as long as it is good.
   * @throws {PlacementAPIConnectFailure} of the kind that tells why there is none
   */
  credentials(signal?: AbortSignal): Promise<Credentials>;
  /** Placement refused what {@link credentials} gave last: get another. */
  expire(): void;
}

export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, "");

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

/** What the conductor says of how to get at a service; `expiresAt` in milliseconds since the epoch. */
export interface ServiceAccess {
  readonly endpoint: string;
  readonly token: string;
  readonly expiresAt: number;
}

/**
 * Keeps what one host of a process was told of a service, for the others. Hosts that need it at the same time each ask: one that
 * asked for all could be killed before it has its answer.
 */
export class SharedAccess {
  #cached: ServiceAccess | undefined;

  async get(clock: Pick<Clock, "now">, ask: () => Promise<ServiceAccess>): Promise<ServiceAccess> {
    const known = this.#cached;
    if (known !== undefined && clock.now() < known.expiresAt - EXPIRES_SOON) {
      return known;
    }
    const access = await ask();
    this.#cached = access;
    return access;
  }

  /** The service has refused this token: the next host asks again. */
  invalidate(token: string | undefined): void {
    if (this.#cached?.token === token) {
      this.#cached = undefined;
    }
  }
}

/** Tells when the catalogue has no Placement: what comes back under that name later may be another one (spec 5.1). */
export class WatchedAccess implements PlacementAccess {
  readonly #access: PlacementAccess;
  readonly #onEndpointLost: () => void;

  constructor(access: PlacementAccess, onEndpointLost: () => void) {
    this.#access = access;
    this.#onEndpointLost = onEndpointLost;
  }

  async credentials(signal?: AbortSignal): Promise<Credentials> {
    try {
      return await this.#access.credentials(signal);
    } catch (error) {
      if (error instanceof EndpointNotFound) {
        this.#onEndpointLost();
      }
      throw error;
    }
  }

  expire(): void {
    this.#access.expire();
  }
}
