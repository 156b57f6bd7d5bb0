import {
  type HttpClient,
  HttpConnectFailure,
  type HttpRequest,
  type HttpResponse,
  HttpTimeout,
} from "../runtime/http.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Sockets } from "../runtime/sockets.js";
import type { DriverCallOptions } from "../virt/driver-call.js";
import { DRIVER_ERRORS } from "../virt/driver-error.js";
import { DRIVER_METHODS, type DriverMethod } from "../virt/driver-methods.js";
import { type ChangingFaults, type FaultAction, FaultInjected, type FaultPoint } from "./faults.js";

/** A service whose requests can be made to fail. Its name is the prefix of its fault points. */
interface FaultyService {
  readonly name: "placement" | "ironic";
  readonly methods: readonly string[];
  /** Path segments; the last one in a path determines the resource of a request. */
  readonly resources: readonly string[];
  /** Whether the service may respond with 409 to reads as well. */
  readonly readsConflict: boolean;
  /** Returns whether a request is for this service, which its microversion header shows. */
  owns(headers: Readonly<Record<string, string>>): boolean;
}

const SERVICES: readonly FaultyService[] = [
  {
    name: "placement",
    methods: ["get", "put", "post", "delete"],
    resources: [
      "allocations",
      "allocation_candidates",
      "resource_providers",
      "inventories",
      "traits",
      "aggregates",
      "usages",
      "reshaper",
    ],
    readsConflict: false,
    owns: (headers) => headers["openstack-api-version"]?.startsWith("placement") === true,
  },
  {
    name: "ironic",
    methods: ["get", "put", "post", "patch", "delete"],
    resources: ["nodes", "provision", "power", "validate", "vifs"],
    readsConflict: true,
    owns: (headers) => headers["x-openstack-ironic-api-version"] !== undefined,
  },
];

const KINDS = ["status", "lose-answer", "refuse", "slow", "hang"] as const;

/** In milliseconds, as in {@link HttpRequest}. */
const DEFAULT_TIMEOUT = 60_000;

const CONDUCTOR_POINT = "conductor";

/** The fault points of the runtime: `placement.put`, `placement.put.allocations`, `ironic.patch.nodes`, `conductor`. */
export const RUNTIME_FAULT_POINTS: readonly FaultPoint[] = [
  ...SERVICES.flatMap(({ name, methods, resources }) => [
    { point: name, kinds: KINDS },
    ...methods.map((method) => ({ point: `${name}.${method}`, kinds: KINDS })),
    ...methods.flatMap((method) =>
      resources.map((resource) => ({ point: `${name}.${method}.${resource}`, kinds: KINDS })),
    ),
  ]),
  { point: CONDUCTOR_POINT, kinds: ["partition"] },
];

/** Wraps a runtime so that faults apply to Placement, Ironic and the conductor. */
export function createFaultyRuntime(runtime: Runtime, faults: ChangingFaults): Runtime {
  return {
    ...runtime,
    http: new FaultyHttp(runtime, faults),
    sockets: new FaultySockets(runtime.sockets, faults),
  };
}

/** Passes requests to other services unchanged. */
class FaultyHttp implements HttpClient {
  readonly #http: HttpClient;
  readonly #timers: Runtime["timers"];
  readonly #faults: ChangingFaults;

  constructor({ http, timers }: Runtime, faults: ChangingFaults) {
    this.#http = http;
    this.#timers = timers;
    this.#faults = faults;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    const service = SERVICES.find(({ owns }) => owns(request.headers ?? {}));
    const action = service && this.#decide(service, request);
    switch (action?.kind) {
      case "status":
        return service?.name === "ironic" ? ironicErrorOf(action.status) : errorOf(action.status);
      case "refuse":
        throw new HttpConnectFailure(request.url, "ECONNREFUSED");
      case "lose-answer":
        await this.#http.request(request);
        throw new HttpConnectFailure(request.url, "ECONNRESET");
      case "slow":
      case "hang":
        return this.#later(request, action.milliseconds);
      default:
        return this.#http.request(request);
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #decide(service: FaultyService, { method, url }: HttpRequest): FaultAction | undefined {
    const { name, resources } = service;
    const general = `${name}.${method.toLowerCase()}`;
    // The resource of `/resource_providers/<uuid>/inventories` is `inventories`.
    const resource = new URL(url).pathname
      .split("/")
      .reverse()
      .find((segment) => resources.includes(segment));
    return (
      (resource === undefined ? undefined : this.#faults.decide(`${general}.${resource}`)) ??
      this.#faults.decide(general) ??
      this.#decideForAny(service, method)
    );
  }

  /**
   * A conflict set for all requests does not apply to reads that cannot conflict. A fault point for reads applies
   * regardless.
   */
  #decideForAny({ name, readsConflict }: FaultyService, method: string): FaultAction | undefined {
    const action = this.#faults.peek(name);
    const conflict = action?.kind === "status" && action.status === 409;
    return conflict && method === "GET" && !readsConflict ? undefined : this.#faults.decide(name);
  }

  /** Delays the request; the delay counts towards the caller's timeout. */
  async #later(request: HttpRequest, milliseconds: number | null): Promise<HttpResponse> {
    const timeout = request.timeout ?? DEFAULT_TIMEOUT;
    if (milliseconds === null || milliseconds >= timeout) {
      await this.#timers.sleep(timeout, request.signal);
      throw new HttpTimeout(request.url, timeout);
    }
    await this.#timers.sleep(milliseconds, request.signal);
    return this.#http.request({ ...request, timeout: timeout - milliseconds });
  }
}

/** Returns an error in Placement's format. A conflict is of the kind that a client may retry. */
function errorOf(status: number): HttpResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      errors: [
        {
          status,
          title: "Fault",
          detail: "a fault is set for this request",
          code: status === 409 ? "placement.concurrent_update" : "placement.undefined_code",
          request_id: "req-fault",
        },
      ],
    }),
  };
}

/** Returns an error in Ironic's format, JSON within JSON. A conflict is that of a locked node. */
function ironicErrorOf(status: number): HttpResponse {
  const faultstring =
    status === 409
      ? "Node is locked by host fault, please retry after the current operation is completed."
      : "a fault is set for this request";
  const faultcode = status < 500 ? "Client" : "Server";
  return {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ error_message: JSON.stringify({ faultcode, faultstring, debuginfo: null }) }),
  };
}

/** During a partition, no connection can be opened and open ones are closed. */
class FaultySockets implements Sockets {
  readonly #sockets: Sockets;
  readonly #faults: ChangingFaults;

  constructor(sockets: Sockets, faults: ChangingFaults) {
    this.#sockets = sockets;
    this.#faults = faults;
  }

  async connect(...[url, options]: Parameters<Sockets["connect"]>) {
    if (this.#isCut()) {
      throw new HttpConnectFailure(url, "ECONNREFUSED");
    }
    const socket = await this.#sockets.connect(url, options);
    const cut = () => {
      if (this.#isCut()) {
        socket.terminate();
      }
    };
    socket.onClose(this.#faults.onChange(cut));
    cut();
    return socket;
  }

  #isCut(): boolean {
    return this.#faults.peek(CONDUCTOR_POINT)?.kind === "partition";
  }
}

/** `driver.spawn` and so on. `fail` applies before the driver is called, `lose-answer` after it has done its work. */
export const DRIVER_POINTS: readonly FaultPoint[] = (Object.keys(DRIVER_METHODS) as DriverMethod[])
  // The agent reads this constant synchronously, so it cannot wait for a fault.
  .filter((method) => method !== "getHostIpAddr")
  .map((method) => ({
    point: pointOf(method),
    kinds: ["fail", "hang", "slow", "lose-answer"],
    errors: DRIVER_ERRORS,
  }));

/** Returns the hook for {@link DriverCallOptions.point}. */
export function driverFaults(faults: ChangingFaults): NonNullable<DriverCallOptions["point"]> {
  // Each call has its own signal. Created on first use, since most hosts never need it.
  let losing: WeakSet<AbortSignal> | undefined;
  return async (method, when, signal) => {
    const point = pointOf(method);
    if (when === "after") {
      if (losing?.has(signal)) {
        throw new FaultInjected(point);
      }
    } else if (faults.peek(point)?.kind === "lose-answer") {
      faults.decide(point);
      losing ??= new WeakSet();
      losing.add(signal);
    } else {
      await faults.hit(point, signal);
    }
  };
}

function pointOf(method: DriverMethod): string {
  return `driver.${method}`;
}
