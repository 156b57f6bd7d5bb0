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

/** A service whose requests can be made to fail; its name begins its points. */
interface FaultyService {
  readonly name: "placement" | "ironic";
  readonly methods: readonly string[];
  /** Words of paths, the last of which says what a request is about. */
  readonly resources: readonly string[];
  /** Whether it may answer 409 to reads, too. */
  readonly readsConflict: boolean;
  /** Whether a request is for it; that is seen by the microversion that it asks for. */
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

/** Milliseconds, as {@link HttpRequest} has it. */
const DEFAULT_TIMEOUT = 60_000;

const CONDUCTOR_POINT = "conductor";

/** Points of the doors: `placement.put`, `placement.put.allocations`, `ironic.patch.nodes`, `conductor`. */
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

/** The same doors, through which Placement, Ironic and the conductor are as the faults make them. */
export function createFaultyRuntime(runtime: Runtime, faults: ChangingFaults): Runtime {
  return {
    ...runtime,
    http: new FaultyHttp(runtime, faults),
    sockets: new FaultySockets(runtime.sockets, faults),
  };
}

/** Requests of other services go through untouched. */
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
    // `/resource_providers/<uuid>/inventories` is about inventories.
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

  /** A conflict that is set for any request waits for one that can have it; a point of reads has what is set for it. */
  #decideForAny({ name, readsConflict }: FaultyService, method: string): FaultAction | undefined {
    const action = this.#faults.peek(name);
    const conflict = action?.kind === "status" && action.status === 409;
    return conflict && method === "GET" && !readsConflict ? undefined : this.#faults.decide(name);
  }

  /** The time that the caller allows passes while nothing happens. */
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

/** Placement's way to say it; a conflict is the kind that a client may try again. */
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

/** Ironic's way: JSON in JSON. A conflict is that of a node which is locked. */
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

/** During a partition no connection is possible, and those that are open break. */
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

/** `driver.spawn` and so on; `fail` comes before the driver is called, `lose-answer` after it has done its work. */
export const DRIVER_POINTS: readonly FaultPoint[] = (Object.keys(DRIVER_METHODS) as DriverMethod[])
  // The core asks for a constant, and cannot wait.
  .filter((method) => method !== "getHostIpAddr")
  .map((method) => ({
    point: pointOf(method),
    kinds: ["fail", "hang", "slow", "lose-answer"],
    errors: DRIVER_ERRORS,
  }));

/** For {@link DriverCallOptions.point}. */
export function driverFaults(faults: ChangingFaults): NonNullable<DriverCallOptions["point"]> {
  // Each call has a signal of its own. Made for the first, which most hosts never have.
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
