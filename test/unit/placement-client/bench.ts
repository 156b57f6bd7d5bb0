import type { PlacementAccess } from "../../../src/placement-client/access/placement-access.js";
import type { ReportClient, ReportClientConfig } from "../../../src/placement-client/report-client.js";
import {
  type HttpClient,
  HttpConnectFailure,
  type HttpMethod,
  type HttpRequest,
  type HttpResponse,
} from "../../../src/runtime/http.js";
import type { LogRecord } from "../../../src/simulation/virtual-logger.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { TestPlacement } from "../../fixtures/world/placement.js";
import { reportClientOf } from "../../fixtures/world/report-client.js";

export const ENDPOINT = "http://placement.test";

/** A fault for the next matching requests, before or after Placement processes them. */
export interface Fault {
  /** The method and a part of the URL: `PUT /inventories`; `*` matches every request. */
  readonly on: string;
  /**
   * `lose`: Placement acts and the response is lost. `refuse`: the connection is refused. `hang`, `hang-after`: the
   * caller waits forever, as if it had been killed before or after Placement acted.
   */
  readonly does:
    | "lose"
    | "refuse"
    | "hang"
    | "hang-after"
    | Pick<HttpResponse, "status" | "body">
    | (() => Promise<void> | void);
  readonly times?: number;
  /** The number of matching requests to let pass first. */
  readonly skip?: number;
}

/** A request as Placement received it. */
export interface Sent {
  readonly method: HttpMethod;
  readonly path: string;
  readonly version: string | undefined;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
}

/** The embedded Placement without a network. Records requests and injects faults; time is advanced manually. */
export class PlacementBench {
  readonly runtime = createVirtualRuntime({ seed: 7 });
  readonly sent: Sent[] = [];
  /** Called with each request after Placement's response. */
  readonly watchers = new Set<(request: Sent) => void>();
  /** Durations of sleeps in milliseconds. */
  readonly slept: number[] = [];
  /** Simulates other clients while a client sleeps. */
  asleep: () => Promise<void> = async () => undefined;
  readonly #placement = new TestPlacement(this.runtime);
  readonly #faults: { readonly fault: Fault; left: number; skip: number }[] = [];
  #elapsed = 0;

  get logs(): readonly LogRecord[] {
    return this.runtime.logs;
  }

  /** Returns requests such as `GET /path 1.14`, in order, with uuids replaced as in `names`. */
  requests(names: Readonly<Record<string, string>> = {}): string[] {
    return this.sent.map(({ method, path, version, status }) => {
      const named = Object.entries(names).reduce((text, [uuid, name]) => text.replaceAll(uuid, name), path);
      return `${method} ${named}${version ? ` ${version}` : ""}${status >= 400 ? ` -> ${status}` : ""}`;
    });
  }

  /** Clears the recorded requests. */
  mark(): void {
    this.sent.length = 0;
  }

  inject(...faults: readonly Fault[]): void {
    this.#faults.push(...faults.map((fault) => ({ fault, left: fault.times ?? 1, skip: fault.skip ?? 0 })));
  }

  /** Removes all faults. */
  heal(): void {
    this.#faults.length = 0;
  }

  advance(milliseconds: number): void {
    this.#elapsed += milliseconds;
  }

  client(config: ReportClientConfig = {}, access?: PlacementAccess): ReportClient {
    const { random, logger, clock } = this.runtime;
    return reportClientOf(`${ENDPOINT}/`, {
      http: this.http,
      ...(access ? { access } : {}),
      config,
      clock: { now: () => clock.now() + this.#elapsed, monotonic: () => this.#elapsed },
      timers: {
        sleep: async (milliseconds) => {
          this.slept.push(milliseconds);
          await this.asleep();
        },
        after: () => () => undefined,
      },
      random,
      logger,
    });
  }

  /** Sends a request as a second client or an operator. */
  async ask(method: HttpMethod, path: string, version = "1.36", body?: unknown): Promise<unknown> {
    return this.#placement.ask(method, path, body, version);
  }

  readonly http: HttpClient = {
    close: async () => undefined,
    request: async (request) => {
      const path = request.url.slice(ENDPOINT.length);
      const does = this.#strike(request.method, path);
      if (does === "hang") {
        return new Promise(() => undefined);
      }
      if (does === "refuse") {
        throw new HttpConnectFailure(request.url, "ECONNREFUSED");
      }
      if (typeof does === "function") {
        await does();
      }
      const response = typeof does === "object" ? { headers: {}, ...does } : await this.#serve(request);
      const sentRequest = sent(request, path, response.status);
      this.sent.push(sentRequest);
      for (const watcher of this.watchers) {
        watcher(sentRequest);
      }
      if (does === "hang-after") {
        return new Promise(() => undefined);
      }
      if (does === "lose") {
        throw new HttpConnectFailure(request.url, "ECONNRESET");
      }
      return response;
    },
  };

  #strike(method: string, path: string): Fault["does"] | undefined {
    const entry = this.#faults.find(({ fault, left }) => left > 0 && matches(fault.on, method, path));
    if (!entry) {
      return undefined;
    }
    if (entry.skip > 0) {
      entry.skip -= 1;
      return undefined;
    }
    entry.left -= 1;
    return entry.fault.does;
  }

  async #serve({ method, url, headers = {}, body = "" }: HttpRequest): Promise<HttpResponse> {
    const [path = "", query = ""] = url.slice(ENDPOINT.length).split("?");
    const length = body === "" ? {} : { "content-length": String(Buffer.byteLength(body)) };
    return this.#placement.handle({
      method,
      path,
      query,
      headers: { host: "placement.test", ...length, ...headers },
      body,
      baseUrl: ENDPOINT,
    });
  }
}

function matches(on: string, method: string, path: string): boolean {
  if (on === "*") {
    return true;
  }
  const [expectedMethod = "", part = ""] = on.split(" ");
  return method === expectedMethod && path.includes(part);
}

function sent({ method, headers = {}, body }: HttpRequest, path: string, status: number): Sent {
  return {
    method,
    path: decodeURIComponent(path),
    version: headers["openstack-api-version"]?.replace("placement ", ""),
    body: body === undefined ? undefined : JSON.parse(body),
    headers,
    status,
  };
}

/** Creates a response in Placement's error format. */
export function errorResponse(status: number, code: string, detail: string): { status: number; body: string } {
  return {
    status,
    body: JSON.stringify({ errors: [{ status, title: "Conflict", detail, code, request_id: "req-test" }] }),
  };
}

export const CONSUMER_CONFLICT = errorResponse(
  409,
  "placement.concurrent_update",
  "consumer generation conflict - expected 1 but got 2",
);
/** A host without enough capacity for the claim. */
export const FULL = errorResponse(409, "placement.undefined_code", "Unable to allocate inventory");

/** Creates a complete inventory record with this total. */
export function inventoryOf(total: number) {
  return {
    total,
    reserved: 0,
    minUnit: 1,
    maxUnit: total,
    stepSize: 1,
    allocationRatio: 1,
  };
}

/** A node's inventory: 8 VCPU, 4096 MEMORY_MB, 100 DISK_GB. */
export const NODE_INVENTORY = { VCPU: inventoryOf(8), MEMORY_MB: inventoryOf(4096), DISK_GB: inventoryOf(100) };
