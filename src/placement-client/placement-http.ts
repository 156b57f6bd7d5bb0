import {
  type HttpClient,
  type HttpMethod,
  type HttpResponse,
  hasNoResponse,
  withoutUserInfo,
} from "../runtime/http.js";
import type { Clock } from "../runtime/time.js";
import type { PlacementAccess } from "./access/placement-access.js";
import { isPlacementError, PlacementError } from "./errors.js";
import { asArray, asRecord, parseJson } from "./json.js";
import type { RequestContext } from "./types.js";

/** A sent request; for metrics. */
export interface PlacementRequestEvent {
  readonly method: HttpMethod;
  /** The path with uuids and names replaced: `/resource_providers/{uuid}/inventories`. */
  readonly route: string;
  /** Null if there was no response. */
  readonly status: number | null;
  readonly milliseconds: number;
}

export interface PlacementHttpOptions {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly access: PlacementAccess;
  /** The first word of User-Agent: `nova-compute`, `nova-conductor`, `nova-scheduler`. */
  readonly userAgent: string;
  /** Timeout of a request in milliseconds. */
  readonly timeout?: number;
  readonly observe?: (event: PlacementRequestEvent) => void;
}

export interface PlacementCall extends RequestContext {
  /** Microversion: `1.28`. Absent: no header, which means 1.0. */
  readonly version?: string;
  readonly body?: unknown;
}

/**
 * Sends requests to Placement as Nova's client does: a microversion per request, the operation's request id, and one
 * new token after a 401.
 */
export class PlacementHttp {
  readonly #options: PlacementHttpOptions;

  constructor(options: PlacementHttpOptions) {
    this.#options = options;
  }

  get(path: string, call: PlacementCall): Promise<PlacementResponse> {
    return this.request("GET", path, call);
  }

  put(path: string, call: PlacementCall): Promise<PlacementResponse> {
    return this.request("PUT", path, call);
  }

  post(path: string, call: PlacementCall): Promise<PlacementResponse> {
    return this.request("POST", path, call);
  }

  delete(path: string, call: PlacementCall): Promise<PlacementResponse> {
    return this.request("DELETE", path, call);
  }

  /**
   * Returns a response of any status but 401.
   * @throws {PlacementAPIConnectFailure}
   */
  async request(method: HttpMethod, path: string, call: PlacementCall): Promise<PlacementResponse> {
    const { access } = this.#options;
    let response = await this.#send(method, path, call);
    if (response.status === 401) {
      access.expire();
      response = await this.#send(method, path, call);
    }
    if (response.status === 401) {
      throw new PlacementError(
        "Unauthorized",
        `${method} ${path}: the token is not accepted; check auth_type and the credentials in [placement]`,
        response,
      );
    }
    return response;
  }

  async #send(method: HttpMethod, path: string, call: PlacementCall): Promise<PlacementResponse> {
    const { http, clock, access, observe, timeout } = this.#options;
    const { endpoint, headers } = await access.credentials(call.signal);
    const started = clock.monotonic();
    const report = (status: number | null) =>
      observe?.({ method, route: routeOf(path), status, milliseconds: clock.monotonic() - started });
    try {
      const response = await http.request({
        method,
        url: endpoint + path,
        headers: { ...this.#headers(call), ...headers },
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
        ...(timeout === undefined ? {} : { timeout }),
        ...(call.signal ? { signal: call.signal } : {}),
      });
      report(response.status);
      return new PlacementResponse(response, `${method} ${withoutUserInfo(endpoint)}${path}`);
    } catch (error) {
      report(null);
      if (hasNoResponse(error)) {
        throw new PlacementError(
          "ConnectFailure",
          `${method} ${path}: ${error.message}; start Placement, or correct its endpoint in [placement]`,
          undefined,
          { cause: error },
        );
      }
      throw error;
    }
  }

  #headers({ version, body, requestId }: PlacementCall): Record<string, string> {
    return {
      accept: "application/json",
      "user-agent": `${this.#options.userAgent} compute-agent`,
      ...(version === undefined ? {} : { "openstack-api-version": `placement ${version}` }),
      ...(requestId === undefined ? {} : { "x-openstack-request-id": requestId }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
  }
}

/** A response of any status, with access to Placement's error record. */
export class PlacementResponse {
  readonly status: number;
  /** The body as objects, if the Placement runs in this process. */
  readonly records: unknown;
  readonly #body: string;
  readonly #request: string;
  #error: { readonly code: string; readonly detail: string } | undefined;

  constructor({ status, body, records }: Pick<HttpResponse, "status" | "body" | "records">, request: string) {
    this.status = status;
    this.records = records;
    this.#body = body;
    this.#request = request;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /**
   * Parses the body with a reader based on json.ts.
   * @throws {DiscoveryFailure} when the body is not a response of Placement
   */
  read<T>(reader: (body: Readonly<Record<string, unknown>>) => T): T {
    try {
      return reader(asRecord(parseJson(this.#body)));
    } catch (error) {
      if (!isPlacementError(error, "DiscoveryFailure")) {
        throw error;
      }
      throw new PlacementError(
        "DiscoveryFailure",
        `${this.#request} did not get a response of Placement: ${error.message}`,
        undefined,
        { cause: error },
      );
    }
  }

  /** `placement.concurrent_update` and so on; empty below microversion 1.23. */
  get code(): string {
    return this.#readError().code;
  }

  get detail(): string {
    return this.#readError().detail;
  }

  /** Whether a generation of a provider or a consumer was stale, so that reading and writing again may succeed. */
  get isConcurrentUpdate(): boolean {
    return this.status === 409 && this.code === "placement.concurrent_update";
  }

  /** Whether another client wrote the consumer between our read and our write. */
  get isConsumerConflict(): boolean {
    return this.isConcurrentUpdate && this.detail.includes("consumer generation conflict");
  }

  describe(): string {
    const { code, detail } = this.#readError();
    return [String(this.status), code && `(${code})`, detail && `"${detail}"`].filter(Boolean).join(" ");
  }

  #readError(): { readonly code: string; readonly detail: string } {
    this.#error ??= errorIn(this.#body);
    return this.#error;
  }
}

function errorIn(body: string): { code: string; detail: string } {
  try {
    const error = asRecord(asArray(asRecord(JSON.parse(body)).errors)[0]);
    return {
      code: String(error.code ?? ""),
      detail: String(error.detail ?? "")
        .replace(/\s+/g, " ")
        .trim(),
    };
  } catch {
    // The response came from a proxy or web server in front of Placement. Its text is the only information.
    return { code: "", detail: body.replace(/\s+/g, " ").trim().slice(0, 200) };
  }
}

const PLACES: Readonly<Record<string, string>> = {
  resource_providers: "{uuid}",
  allocations: "{consumer_uuid}",
  traits: "{name}",
  resource_classes: "{name}",
};

function routeOf(path: string): string {
  const [, collection = "", member, ...rest] = path.split(/[/?]/);
  if (member === undefined || path.includes("?")) {
    return `/${collection}`;
  }
  return ["", collection, PLACES[collection] ?? member, ...rest].join("/");
}
