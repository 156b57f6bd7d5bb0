import type { Clock } from "../../runtime/time.js";
import { isPlacementError } from "../errors.js";

/** Placement's endpoint and the headers that authenticate a request. */
export interface Credentials {
  /** Without a trailing slash. */
  readonly endpoint: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Provides credentials for Placement. One implementation for each kind of authentication. */
export interface PlacementAccess {
  /**
   * Returns credentials, cached while they are valid.
   * @throws {PlacementAPIConnectFailure} of the kind that explains why there are none
   */
  credentials(signal?: AbortSignal): Promise<Credentials>;
  /** Discards the last credentials after Placement rejected them. */
  expire(): void;
}

export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, "");

/** Milliseconds before expiry at which a token is renewed, so that none expires during a request. */
const EXPIRES_SOON = 30_000;

export interface Lease extends Credentials {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Caches the result of `obtain` until shortly before it expires. Concurrent callers share one request. */
export class CachedAccess implements PlacementAccess {
  readonly #clock: Clock;
  readonly #obtain: () => Promise<Lease>;
  readonly #onTokenRejected: (token: string | undefined) => void;
  #token: string | undefined;
  #lease: Promise<Lease> | undefined;
  #expiresAt = 0;

  /** @param onTokenRejected called with each rejected token */
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

/** The conductor's information on a service; `expiresAt` in milliseconds since the epoch. */
export interface ServiceAccess {
  readonly endpoint: string;
  readonly token: string;
  readonly expiresAt: number;
}

/**
 * Shares the access to a service among the hosts of a process. Hosts that need it at the same time each request it: a
 * single requesting host could be killed before it gets the response.
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

  /** Discards this token after the service rejected it; the next host requests a new one. */
  invalidate(token: string | undefined): void {
    if (this.#cached?.token === token) {
      this.#cached = undefined;
    }
  }
}

/**
 * Calls `onEndpointLost` when the catalog has no Placement endpoint: a later endpoint may be another Placement (spec
 * 5.1).
 */
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
      if (isPlacementError(error, "EndpointNotFound")) {
        this.#onEndpointLost();
      }
      throw error;
    }
  }

  expire(): void {
    this.#access.expire();
  }
}
