import { isObject } from "../../../runtime/collections.js";
import type { Digests, Random } from "../../../runtime/cryptography.js";
import type { Clock } from "../../../runtime/time.js";
import { HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { type RoutedRequest, readJson, ServiceCall } from "../../http/request.js";
import type { IdentityStore } from "../store/identity-store.js";
import { DEFAULT_DOMAIN } from "../store/records.js";
import type { Authenticator } from "../tokens/authenticate.js";
import type { LiveToken } from "../tokens/live-tokens.js";
import { expecting, forbidden, unauthorized } from "./identity-error.js";
import { allows, type PolicyTarget } from "./policy.js";

export interface IdentityServices extends Authenticator {
  readonly digests: Digests;
  readonly random: Random;
  readonly clock: Clock;
}

export interface IdentityRoute {
  readonly method: string;
  readonly path: string;
  readonly handle: (call: IdentityCall) => IdentityResponse | Promise<IdentityResponse>;
}

export interface IdentityResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

/** A request to Identity. */
export class IdentityCall extends ServiceCall {
  readonly services: IdentityServices;

  constructor(services: IdentityServices, routed: RoutedRequest) {
    super(routed);
    this.services = services;
  }

  get store(): IdentityStore {
    return this.services.store;
  }

  /** `http://host:port/identity/v3` */
  get root(): string {
    return `${this.request.baseUrl}/v3`;
  }

  /** The request's URL, with its query. */
  get url(): string {
    const { baseUrl, path, query } = this.request;
    return `${baseUrl}${path}${query === "" ? "" : `?${query}`}`;
  }

  /** Returns true if the query has the parameter with any value except 0, false, no and off. */
  flag(name: string): boolean {
    const value = this.query.get(name);
    return value !== undefined && !["0", "false", "no", "off"].includes(value.toLowerCase());
  }

  /** The caller's token. @throws {HttpError} 401 */
  get token(): LiveToken {
    return this.requireToken();
  }

  /**
   * Validates the caller's token again: it may have expired or been revoked while the handler waited.
   * @throws {HttpError} 401
   */
  requireToken(): LiveToken {
    const live = this.services.live.find(this.request.headers["x-auth-token"] ?? "");
    if (!live) {
      throw unauthorized();
    }
    return live;
  }

  /** @param action `identity:list_users` @throws {HttpError} 401, 403 */
  enforce(action: string, target: PolicyTarget = {}): void {
    if (!allows(action, this.token, target)) {
      throw forbidden(action);
    }
  }

  /** Returns the object in a member of the body, or an empty object if there is none. @throws {HttpError} 400, 413 */
  body(member: string): unknown {
    return this.json()[member] ?? {};
  }

  /** @throws {HttpError} 400, 413 */
  json(): Readonly<Record<string, unknown>> {
    const body = readJson(this.request);
    if (body.kind === "too-large") {
      throw new HttpError(413, "Request is too large.");
    }
    if (body.kind === "empty") {
      return {};
    }
    if (body.kind !== "json" || !isObject(body.value)) {
      throw expecting("valid JSON", "request body");
    }
    return body.value;
  }

  /** Returns 32 hex digits. */
  newId(): string {
    return this.services.random.hex(16);
  }

  /** The domain of a new record whose request names no domain. */
  get ownDomain(): string {
    const { record, targetDomain } = this.token;
    return record.domainId ?? targetDomain?.id ?? DEFAULT_DOMAIN;
  }
}
