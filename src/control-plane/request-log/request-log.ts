import type { Counter, Histogram } from "prom-client";
import type { RejectRequest, ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/http-server.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { LiveToken } from "../identity/tokens/live-tokens.js";
import { withoutSecrets } from "./redaction.js";

type ServiceName = (typeof SERVICE_NAMES)[keyof typeof SERVICE_NAMES];

/** The names of services in logs and metrics, by mount point. */
const SERVICE_NAMES = {
  "/identity": "identity",
  "/compute": "compute-api",
  "/image": "image",
  "/network": "network",
  "/volume": "block-storage",
  "/placement": "placement",
  "/baremetal": "ironic",
} as const;

export interface HandledRequest {
  /** The mount point of the service, such as `/compute`; "": no service handled it. */
  readonly mount: string;
  readonly request: Pick<ServiceRequest, "method" | "path" | "query" | "headers" | "body">;
  readonly response: ServiceResponse;
  /** The owner of the request's token, or of a token that the response issues; undefined: none or unknown. */
  readonly caller: LiveToken | undefined;
  /** From the request's arrival at the service to the response; null: no service handled it, or the service failed. */
  readonly milliseconds: number | null;
}

export type RequestListener = (handled: HandledRequest) => void;

/** Notifies listeners of each request to a service. Without listeners there is no overhead. */
export class RequestWatch {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #whose: (token: string) => LiveToken | undefined;
  readonly #listeners: Set<RequestListener>;

  /** @param whose returns the owner of a token */
  constructor(
    clock: Pick<Clock, "monotonic">,
    whose: (token: string) => LiveToken | undefined,
    listeners: readonly RequestListener[],
  ) {
    this.#clock = clock;
    this.#whose = whose;
    this.#listeners = new Set(listeners);
  }

  /** Adds a listener; returns an unsubscribe function. */
  readonly add = (listener: RequestListener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Wraps a service so that its requests are reported. If it throws, {@link rejections} reports the request. */
  readonly service = (mount: string, handler: ServiceHandler): ServiceHandler => {
    return (request) => {
      if (this.#listeners.size === 0) {
        return handler(request);
      }
      const began = this.#clock.monotonic();
      // Read before the request is handled, since it may revoke the token.
      const asking = this.#callerOf(request.headers["x-auth-token"]);
      const report = (response: ServiceResponse): ServiceResponse => {
        const caller = asking ?? this.#callerOf(response.headers["x-subject-token"]);
        this.#notify({ mount, request, response, caller, milliseconds: this.#clock.monotonic() - began });
        return response;
      };
      const response = handler(request);
      // A synchronous response must not be delayed by an event-loop tick.
      return response instanceof Promise ? response.then(report) : report(response);
    };
  };

  /** Wraps all services, by mount point. */
  all(services: Readonly<Record<string, ServiceHandler>>): Readonly<Record<string, ServiceHandler>> {
    return Object.fromEntries(
      Object.entries(services).map(([mount, handler]) => [mount, this.service(mount, handler)]),
    );
  }

  /** Wraps the responses to requests that no service handles, or for which a service fails. */
  rejections(reject: RejectRequest): RejectRequest {
    return (rejection) => {
      const response = reject(rejection);
      const { method = "-", target = "-" } = rejection;
      const at = target.indexOf("?");
      const [path, query] = at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
      this.#notify({
        mount: "",
        request: { method, path, query, headers: {}, body: "" },
        response,
        caller: undefined,
        milliseconds: null,
      });
      return response;
    };
  }

  #callerOf(token: string | undefined): LiveToken | undefined {
    return token === undefined ? undefined : this.#whose(token);
  }

  #notify(handled: HandledRequest): void {
    for (const listener of this.#listeners) {
      listener(handled);
    }
  }
}

/** A client's request id, which services pass on to the services that they call. */
const CALLERS_ID = /^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Logs one line for each request: method, path, status, milliseconds, request id, the client's request id, and caller.
 * Bodies, tokens and secret query parameters are not logged.
 */
export function requestLog(logger: Logger): RequestListener {
  return ({ mount, request, response, caller, milliseconds }) => {
    const { headers } = request;
    const service = serviceNameOf(mount);
    const tokens = [headers["x-auth-token"], response.headers["x-subject-token"]];
    const global = headers["x-openstack-request-id"] ?? "";
    logger.info("request", {
      ...(service === undefined ? {} : { service }),
      request_id: response.headers["x-openstack-request-id"] ?? "-",
      ...(CALLERS_ID.test(global) ? { global_request_id: global } : {}),
      method: request.method.slice(0, LONGEST_METHOD),
      path: withoutSecrets(mount + request.path, request.query, [...tokens, headers["x-subject-token"]]),
      status: response.status,
      ms: milliseconds === null ? null : Math.round(milliseconds * 10) / 10,
      user: caller?.credentials.userName ?? "-",
      project: caller?.credentials.projectName ?? "-",
    });
  };
}

const LONGEST_METHOD = 20;

/** Returns undefined if no service is mounted there. */
export function serviceNameOf(mount: string): ServiceName | undefined {
  return (SERVICE_NAMES as Readonly<Record<string, ServiceName>>)[mount];
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

const CODES = ["2xx", "3xx", "4xx", "5xx"];

/** Requests without a service, and unknown methods; this limits the number of series. */
const OTHER = "other";

/** Counts requests by service, method and class of status. All series exist from the start, with 0. */
export function requestMetrics(
  requests: Counter<"service" | "method" | "code">,
  durations: Histogram<"service">,
): RequestListener {
  for (const service of [...Object.values(SERVICE_NAMES), OTHER]) {
    durations.zero({ service });
    for (const method of [...METHODS, OTHER]) {
      for (const code of CODES) {
        requests.inc({ service, method, code }, 0);
      }
    }
  }
  return ({ mount, request, response, milliseconds }) => {
    const service = serviceNameOf(mount) ?? OTHER;
    const method = METHODS.includes(request.method) ? request.method : OTHER;
    requests.inc({ service, method, code: `${Math.floor(response.status / 100)}xx` });
    if (milliseconds !== null) {
      durations.observe({ service }, milliseconds / 1000);
    }
  };
}
