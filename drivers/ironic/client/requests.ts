import {
  type Clock,
  type HttpClient,
  HttpConnectFailure,
  type HttpRequest,
  type HttpResponse,
  HttpTimeout,
  InvalidConfiguration,
  type Timers,
} from "../../../src/virt/index.js";
import { type IronicConfig, ironicSchema } from "../config.js";
import { createAccess, type IronicAccess } from "./access.js";
import { IronicError, type IronicMeaning, isRecord, means, toIronicError } from "./ironic-error.js";

/** The newest API version that this client knows. */
const NEWEST = "1.82";

/** Traits, resource classes and rescue need at least this version. */
const OLDEST = "1.46";

/** The `shard` of nodes. */
const SHARDS = "1.82";

/** Config drives as an object from which Ironic builds an image. */
export const CONFIG_DRIVE_OBJECTS = "1.56";

const minor = (version: string): number => Number(/^1\.(\d+)$/.exec(version)?.[1] ?? Number.NaN);

export const atLeast = (version: string, minimum: string): boolean => minor(version) >= minor(minimum);

export interface RequestDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface IronicRequest {
  readonly method: HttpRequest["method"];
  /** Begins with `/v1`. */
  readonly path: string;
  readonly body?: unknown;
  /** Used instead of the negotiated version if that is newer. */
  readonly version?: string;
  /** Meanings after which the request is retried, by `status_code_retries`. Default: {@link PASSING}. */
  readonly retryOn?: readonly IronicMeaning[];
  readonly signal?: AbortSignal | undefined;
}

/** Conditions that pass by themselves. */
const PASSING: readonly IronicMeaning[] = ["locked", "transition", "no-worker"];

/** Sends requests with the negotiated version and a token, and retries errors that may pass. */
export class IronicRequests {
  readonly #deps: RequestDeps;
  readonly #config: IronicConfig;
  readonly #access: IronicAccess;
  #version: Promise<string> | null = null;

  /** @throws {InvalidConfiguration} */
  constructor(deps: RequestDeps, config: IronicConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#access = createAccess(deps, config);
  }

  /** Negotiated once, and again after Ironic rejected the version, since Ironic may have been upgraded. */
  async version(): Promise<string> {
    if (this.#version === null) {
      this.#version = this.#negotiate();
    }
    const negotiation = this.#version;
    try {
      return await negotiation;
    } catch (error) {
      if (this.#version === negotiation) {
        this.#version = null;
      }
      throw error;
    }
  }

  /** @throws {IronicError} the response is an error, or there is none. */
  async send(request: IronicRequest): Promise<HttpResponse> {
    const { retryOn = PASSING, signal } = request;
    const { statusCodeRetries, statusCodeRetryDelay } = this.#config;
    let renewed = false;
    for (let attempt = 0; ; ) {
      try {
        return await this.#sendOnce(request);
      } catch (error) {
        if (!renewed && this.#mayRenew(error)) {
          renewed = true;
          continue;
        }
        if (attempt >= statusCodeRetries || !means(error, ...retryOn)) {
          throw error;
        }
        await this.#deps.timers.sleep(statusCodeRetryDelay * 1000 * 2 ** attempt, signal);
        attempt += 1;
      }
    }
  }

  /** Sends like {@link send} and returns the parsed body. */
  async sendJson(request: IronicRequest): Promise<unknown> {
    const { body } = await this.send(request);
    try {
      return JSON.parse(body);
    } catch (error) {
      throw new IronicError("malformed", 200, `Ironic's response to ${request.method} ${request.path} is not JSON`, {
        cause: error,
      });
    }
  }

  async #sendOnce({ method, path, body, version, signal }: IronicRequest): Promise<HttpResponse> {
    const agreed = version ?? (await this.version());
    return this.#exchange(method, path, signal, {
      headers: {
        "x-openstack-ironic-api-version": agreed,
        "openstack-api-version": `baremetal ${agreed}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async #negotiate(): Promise<string> {
    const { body } = await this.#exchange("GET", "/", undefined, { headers: {} });
    let root: unknown;
    try {
      root = JSON.parse(body);
    } catch (error) {
      throw new IronicError("malformed", 200, "the service is not Ironic: its response to GET / is not JSON", {
        cause: error,
      });
    }
    const version = chooseVersion(root, { shard: this.#config.shard !== null });
    await this.#exchange("GET", "/v1/", undefined, { headers: {} });
    return version;
  }

  async #exchange(
    method: HttpRequest["method"],
    path: string,
    signal: AbortSignal | undefined,
    { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body?: string },
  ): Promise<HttpResponse> {
    const admission = await this.#access.admission(signal);
    const url = `${admission.endpoint}${path}`;
    let response: HttpResponse;
    try {
      response = await this.#deps.http.request({
        method,
        url,
        tlsSection: ironicSchema.section,
        headers: { accept: "application/json", ...headers, ...admission.headers },
        ...(body === undefined ? {} : { body }),
        ...(signal ? { signal } : {}),
      });
    } catch (error) {
      if (!(error instanceof HttpConnectFailure || error instanceof HttpTimeout)) {
        throw error;
      }
      throw new IronicError("unreachable", null, `Ironic did not respond to ${method}: ${error.message}`, {
        cause: error,
      });
    }
    if (response.status >= 200 && response.status < 300) {
      return response;
    }
    throw toIronicError(method, url, response.status, response.body);
  }

  /**
   * Discards an expired token, or a version negotiated with an Ironic of another release. Returns whether a retry may
   * help.
   */
  #mayRenew(error: unknown): boolean {
    if (means(error, "version")) {
      this.#version = null;
      return true;
    }
    return means(error, "unauthorized") && error.status === 401 && this.#access.renew();
  }
}

/**
 * Chooses the API version from the body of `GET /`.
 * @throws {InvalidConfiguration} there is no common version, or it is too old for an option in use.
 */
function chooseVersion(root: unknown, needs: { readonly shard: boolean }): string {
  const { oldest, newest } = offered(root);
  const chosen = atLeast(NEWEST, newest) ? newest : NEWEST;
  if (!atLeast(chosen, OLDEST) || !atLeast(chosen, oldest)) {
    throw new InvalidConfiguration(
      `Ironic offers API versions ${oldest} to ${newest}, but this driver needs one of ${OLDEST} to ${NEWEST}`,
    );
  }
  if (needs.shard && !atLeast(chosen, SHARDS)) {
    throw new InvalidConfiguration(
      `[ironic] shard is set, which needs Ironic's API version ${SHARDS}, but Ironic offers at most ${newest}: unset shard, or upgrade Ironic`,
    );
  }
  return chosen;
}

function offered(root: unknown): { readonly oldest: string; readonly newest: string } {
  const candidates = isRecord(root)
    ? [root.default_version, ...(Array.isArray(root.versions) ? (root.versions as unknown[]) : [])]
    : [];
  for (const candidate of candidates) {
    if (!isRecord(candidate) || candidate.id !== "v1") {
      continue;
    }
    const { min_version: oldest, version: newest } = candidate;
    if (typeof oldest === "string" && typeof newest === "string") {
      return { oldest, newest };
    }
  }
  throw new IronicError(
    "malformed",
    200,
    "the service is not Ironic: its response to GET / has no version range of v1",
  );
}
