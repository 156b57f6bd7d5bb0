import type { Clock } from "../../runtime/time.js";
import type { Random } from "../../runtime/cryptography.js";

/** Milliseconds for which a one-time key is good. */
const KEY_LIFE = 60_000;
const MAX_KEYS = 20;
/** Milliseconds of a session, whatever is done in it. */
const SESSION_LIFE = 12 * 3_600_000;
/** Sessions at a time; the oldest one ends for a new one. */
const MAX_SESSIONS = 50;

export interface Session {
  /** What what changes something has to name, beside the cookie. */
  readonly secret: string;
  /** It looks, and does nothing. */
  readonly readOnly: boolean;
  /** Aborted when it ends. */
  readonly ended: AbortSignal;
}

interface ActiveSession extends Session {
  readonly until: number;
  readonly end: AbortController;
}

/** Clients that may look at the window: in memory alone, so that sessions end with the process. */
export class Sessions {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #random: Pick<Random, "hex">;
  readonly #keys = new Map<string, { readonly until: number; readonly readOnly: boolean }>();
  /** By cookie, oldest first. */
  readonly #sessions = new Map<string, ActiveSession>();

  constructor(clock: Pick<Clock, "monotonic">, random: Pick<Random, "hex">) {
    this.#clock = clock;
    this.#random = random;
  }

  /** A key that begins one session. */
  makeKey(readOnly: boolean): string {
    const key = this.#random.hex(32);
    this.#keys.set(key, { until: this.#clock.monotonic() + KEY_LIFE, readOnly });
    for (const [old, { until }] of this.#keys) {
      if (this.#keys.size > MAX_KEYS || until < this.#clock.monotonic()) {
        this.#keys.delete(old);
      }
    }
    return key;
  }

  /** The cookie of the session that the key begins; undefined: the key is no good, or no longer. */
  enter(key: string): string | undefined {
    const found = this.#keys.get(key);
    this.#keys.delete(key);
    return found !== undefined && found.until >= this.#clock.monotonic() ? this.begin(found.readOnly) : undefined;
  }

  /** The cookie of a new session. */
  begin(readOnly: boolean): string {
    const cookie = this.#random.hex(32);
    const end = new AbortController();
    const until = this.#clock.monotonic() + SESSION_LIFE;
    this.#sessions.set(cookie, { secret: this.#random.hex(32), readOnly, until, end, ended: end.signal });
    for (const old of this.#sessions.keys()) {
      if (this.#sessions.size <= MAX_SESSIONS) {
        break;
      }
      this.end(old, "too many browsers look at this cluster: the session that was begun first has ended");
    }
    return cookie;
  }

  /** Undefined: there is none, or it has ended. */
  find(cookie: string): Session | undefined {
    const found = this.#sessions.get(cookie);
    if (found !== undefined && found.until < this.#clock.monotonic()) {
      this.end(cookie, "the session has ended");
      return undefined;
    }
    return found;
  }

  end(cookie: string, reason: string): void {
    const found = this.#sessions.get(cookie);
    this.#sessions.delete(cookie);
    found?.end.abort(reason);
  }

  endAll(reason: string): void {
    for (const cookie of [...this.#sessions.keys()]) {
      this.end(cookie, reason);
    }
  }
}
