import type { Inside } from "../control-plane/extension.js";
import { requestToken } from "../placement-client/access/keystone-access.js";
import type { Random } from "../runtime/cryptography.js";
import type { ServiceRequest, ServiceResponse } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Clock } from "../runtime/time.js";
import { errorResponse } from "./responses.js";

/** Milliseconds for which a one-time key is valid. */
const KEY_LIFE = 60_000;

const MAX_KEYS = 20;

/** Milliseconds of a session, regardless of activity. */
const SESSION_LIFE = 12 * 3_600_000;

/** Maximum number of sessions. A new session beyond it ends the oldest. */
const MAX_SESSIONS = 50;

export interface Session {
  /** Secret that requests for changes must present in addition to the cookie. */
  readonly secret: string;
  /** The session may read but run no actions. */
  readonly readOnly: boolean;
  /** Aborted when the session ends. */
  readonly ended: AbortSignal;
}

interface ActiveSession extends Session {
  readonly until: number;
  readonly end: AbortController;
}

/** Sessions of the dashboard. They are in memory only, so they end with the process. */
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

  /** Creates a key that begins one session. */
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

  /** Begins the key's session and returns its cookie, or undefined if the key is unknown or has expired. */
  enter(key: string): string | undefined {
    const found = this.#keys.get(key);
    this.#keys.delete(key);
    return found !== undefined && found.until >= this.#clock.monotonic() ? this.begin(found.readOnly) : undefined;
  }

  /** Begins a session and returns its cookie. */
  begin(readOnly: boolean): string {
    const cookie = this.#random.hex(32);
    const end = new AbortController();
    const until = this.#clock.monotonic() + SESSION_LIFE;
    this.#sessions.set(cookie, { secret: this.#random.hex(32), readOnly, until, end, ended: end.signal });
    for (const old of this.#sessions.keys()) {
      if (this.#sessions.size <= MAX_SESSIONS) {
        break;
      }
      this.end(old, "too many sessions on this cluster: the oldest one was ended");
    }
    return cookie;
  }

  /** Returns undefined if there is no such session or it has ended. */
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

/** Browsers share cookies between the ports of a host, so each control plane uses its own cookie name. */
const nameOf = (url: string): string => `compute-window-${new URL(url).port}`;

/** Returns the value in a `cookie` header, or "" if it has none. */
export function cookieIn(header: string | undefined, url: string): string {
  const pairs = (header ?? "").split(/[;,]/).map((pair) => pair.trim().split("="));
  return pairs.find(([name]) => name === nameOf(url))?.[1] ?? "";
}

/** Returns a `set-cookie` header for this value; "" removes the cookie. */
export function setCookie(value: string, url: string): string {
  const life = value === "" ? "; Max-Age=0" : "";
  return `${nameOf(url)}=${value}; HttpOnly; SameSite=Strict; Path=/${life}`;
}

/** Failed logins within {@link WITHIN} milliseconds after which further ones are rejected unchecked. */
const MAX_FAILURES = 10;

const WITHIN = 60_000;

const MAX_BODY_CHARS = 4_096;

/** The project of `clouds.yaml`. */
const PROJECT = "admin";

/** Checks user names and passwords with the Identity service. Only administrators may use the dashboard. */
export class Login {
  readonly #inside: Pick<Inside, "url" | "whose">;
  readonly #runtime: Pick<Runtime, "http" | "clock">;
  /** Times of the latest failed attempts. */
  #failures: readonly number[] = [];

  constructor(inside: Pick<Inside, "url" | "whose">, runtime: Pick<Runtime, "http" | "clock">) {
    this.#inside = inside;
    this.#runtime = runtime;
  }

  /** Returns the error response of a failed login, or undefined if the user is an administrator. */
  async checkCredentials({ body }: ServiceRequest): Promise<ServiceResponse | undefined> {
    const now = this.#runtime.clock.monotonic();
    this.#failures = this.#failures.filter((at) => now - at < WITHIN);
    if (this.#failures.length >= MAX_FAILURES) {
      return errorResponse(429, "too many wrong passwords: wait a minute, or use compute-agent open");
    }
    const credentials = namesIn(body);
    if (credentials === undefined) {
      return errorResponse(400, "expected JSON with user and password");
    }
    // Counted before the reply arrives, so that parallel attempts cannot exceed the limit.
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
      return errorResponse(
        401,
        "the name or the password is wrong, or the user is not an administrator of this cluster",
      );
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
