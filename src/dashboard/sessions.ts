import type { Inside } from "../control-plane/extension.js";
import { requestToken } from "../placement-client/access/keystone-access.js";
import type { Random } from "../runtime/cryptography.js";
import type { ServiceRequest, ServiceResponse } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Clock } from "../runtime/time.js";
import { errorResponse } from "./responses.js";

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

/** Browsers do not tell ports of one host apart: each control plane's cookie has a name of its own. */
const nameOf = (url: string): string => `compute-window-${new URL(url).port}`;

/** The value in a `cookie` header; "": it has none. */
export function cookieIn(header: string | undefined, url: string): string {
  const pairs = (header ?? "").split(/[;,]/).map((pair) => pair.trim().split("="));
  return pairs.find(([name]) => name === nameOf(url))?.[1] ?? "";
}

/** A `set-cookie` header for this value; "" takes the cookie away. */
export function setCookie(value: string, url: string): string {
  const life = value === "" ? "; Max-Age=0" : "";
  return `${nameOf(url)}=${value}; HttpOnly; SameSite=Strict; Path=/${life}`;
}

/** Wrong passwords in {@link WITHIN} milliseconds after which none is looked at. */
const MAX_FAILURES = 10;

const WITHIN = 60_000;

const MAX_BODY_CHARS = 4_096;

/** The project of `clouds.yaml`. */
const PROJECT = "admin";

/** Names and passwords, asked of the Identity service: the window is an administrator's. */
export class Login {
  readonly #inside: Pick<Inside, "url" | "whose">;
  readonly #runtime: Pick<Runtime, "http" | "clock">;
  /** When the last attempts failed. */
  #failures: readonly number[] = [];

  constructor(inside: Pick<Inside, "url" | "whose">, runtime: Pick<Runtime, "http" | "clock">) {
    this.#inside = inside;
    this.#runtime = runtime;
  }

  /** The answer to who may not look; undefined: it is an administrator. */
  async checkCredentials({ body }: ServiceRequest): Promise<ServiceResponse | undefined> {
    const now = this.#runtime.clock.monotonic();
    this.#failures = this.#failures.filter((at) => now - at < WITHIN);
    if (this.#failures.length >= MAX_FAILURES) {
      return errorResponse(429, "too many wrong passwords: wait a minute, or use compute-cluster open");
    }
    const credentials = namesIn(body);
    if (credentials === undefined) {
      return errorResponse(400, "expected JSON with user and password");
    }
    // Counted before the answer is there, so that many at once are no way around it.
    this.#failures = [...this.#failures, now];
    const domain = { id: "default" };
    const { token } = await requestToken(
      this.#runtime.http,
      `${this.#inside.url()}/identity/v3`,
      { kind: "password", user: { name: credentials.user, domain }, password: credentials.password },
      { kind: "project", name: PROJECT, domain },
    );
    const caller = token === undefined ? undefined : this.#inside.whose(token);
    if (caller?.roles.includes("admin") !== true) {
      return errorResponse(401, "the name or the password is wrong, or the user is no administrator of this cluster");
    }
    this.#failures = this.#failures.filter((at) => at !== now);
    return undefined;
  }
}

function namesIn(body: string): { readonly user: string; readonly password: string } | undefined {
  if (body.length > MAX_BODY_CHARS) {
    return undefined;
  }
  try {
    const { user, password } = Object(JSON.parse(body)) as Readonly<Record<string, unknown>>;
    return typeof user === "string" && typeof password === "string" ? { user, password } : undefined;
  } catch {
    return undefined;
  }
}
