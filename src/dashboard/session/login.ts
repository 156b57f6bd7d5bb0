import type { Inside } from "../../control-plane/extension.js";
import { requestToken } from "../../placement-client/access/keystone-access.js";
import type { Runtime } from "../../runtime/runtime.js";
import type { ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import { errorResponse } from "../responses.js";

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
