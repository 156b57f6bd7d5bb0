import type { FaultPoint } from "./fault-knobs.js";
import type { ChangingFaults, FaultAction } from "./faults.js";
import { type HttpClient, HttpConnectFailure, type HttpRequest, type HttpResponse, HttpTimeout } from "./http.js";
import type { Runtime } from "./runtime.js";
import type { Socket, Sockets } from "./socket.js";

const METHODS = ["get", "put", "post", "delete"] as const;
const RESOURCES = [
  "allocations",
  "allocation_candidates",
  "resource_providers",
  "inventories",
  "traits",
  "aggregates",
  "usages",
  "reshaper",
] as const;
const KINDS = ["status", "lose-answer", "refuse", "slow", "hang"] as const;

/** Milliseconds, as {@link HttpRequest} has it. */
const DEFAULT_TIMEOUT = 60_000;

export const CONDUCTOR_POINT = "conductor";

/** Points of the doors: `placement.put`, `placement.put.allocations`, `conductor`. */
export const DOOR_POINTS: readonly FaultPoint[] = [
  { point: "placement", kinds: KINDS },
  ...METHODS.map((method) => ({ point: `placement.${method}`, kinds: KINDS })),
  ...METHODS.flatMap((method) =>
    RESOURCES.map((resource) => ({ point: `placement.${method}.${resource}`, kinds: KINDS })),
  ),
  { point: CONDUCTOR_POINT, kinds: ["partition"] },
];

/** The same doors, through which Placement and the conductor are as the faults make them. */
export const createFaultDoors = (runtime: Runtime, faults: ChangingFaults): Runtime => ({
  ...runtime,
  http: new FaultyHttp(runtime, faults),
  sockets: faultySockets(runtime.sockets, faults),
});

/** Requests of other services, which send no microversion of Placement, go through untouched. */
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
    const action = this.#decide(request);
    switch (action?.kind) {
      case "status":
        return errorOf(action.status);
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

  #decide({ method, url, headers }: HttpRequest): FaultAction | undefined {
    if (headers?.["openstack-api-version"]?.startsWith("placement") !== true) return undefined;
    const general = `placement.${method.toLowerCase()}`;
    // `/resource_providers/<uuid>/inventories` is about inventories.
    const resource = new URL(url).pathname
      .split("/")
      .reverse()
      .find((segment) => RESOURCES.some((name) => name === segment));
    return (
      (resource === undefined ? undefined : this.#faults.decide(`${general}.${resource}`)) ??
      this.#faults.decide(general) ??
      this.#faults.decide("placement")
    );
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
const errorOf = (status: number): HttpResponse => ({
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
});

/** During a partition no connection is possible, and those that are open break. */
const faultySockets = (sockets: Sockets, faults: ChangingFaults): Sockets => {
  const open = new Set<Socket>();
  const isCut = () => faults.peek(CONDUCTOR_POINT)?.kind === "partition";
  const cut = () => {
    if (isCut()) for (const socket of [...open]) socket.terminate();
  };
  faults.onChange(cut);
  return {
    connect: async (url, options) => {
      if (isCut()) throw new HttpConnectFailure(url, "ECONNREFUSED");
      const socket = await sockets.connect(url, options);
      open.add(socket);
      socket.onClose(() => open.delete(socket));
      cut();
      return socket;
    },
  };
};
