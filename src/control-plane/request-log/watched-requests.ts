import type { Clock } from "../../runtime/clock.js";
import type { RejectRequest } from "../../runtime/rejection.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../runtime/service.js";
import type { LiveToken } from "../identity/tokens/live-tokens.js";

/** A request that was answered. */
export interface HandledRequest {
  /** Where its service is mounted: `/compute`; "": no service took it. */
  readonly mount: string;
  readonly request: Pick<ServiceRequest, "method" | "path" | "query" | "headers" | "body">;
  readonly response: ServiceResponse;
  /** The user who asked, or was given a token; undefined: nobody who is known. */
  readonly caller: LiveToken | undefined;
  /** From its arrival at the service until the answer was there; null: it came to no service, or the service failed. */
  readonly milliseconds: number | null;
}

export type RequestListener = (handled: HandledRequest) => void;

/** Tells listeners of each request to services; while there are none, it costs nothing. */
export class RequestWatch {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #whose: (token: string) => LiveToken | undefined;
  readonly #listeners: Set<RequestListener>;

  /** @param whose says who has a token */
  constructor(
    clock: Pick<Clock, "monotonic">,
    whose: (token: string) => LiveToken | undefined,
    listeners: readonly RequestListener[],
  ) {
    this.#clock = clock;
    this.#whose = whose;
    this.#listeners = new Set(listeners);
  }

  /** From now on this one hears of each request, too, until what is returned is called. */
  readonly add = (listener: RequestListener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The same service. What it throws is told of by {@link rejections}, which answer in its place. */
  readonly service = (mount: string, handler: ServiceHandler): ServiceHandler => {
    return (request) => {
      if (this.#listeners.size === 0) {
        return handler(request);
      }
      const began = this.#clock.monotonic();
      // Before it is answered: the request may end the token.
      const asking = this.#callerOf(request.headers["x-auth-token"]);
      const report = (response: ServiceResponse): ServiceResponse => {
        const caller = asking ?? this.#callerOf(response.headers["x-subject-token"]);
        this.#notify({ mount, request, response, caller, milliseconds: this.#clock.monotonic() - began });
        return response;
      };
      const response = handler(request);
      // A service that answers at once must not take a turn of the event loop for it.
      return response instanceof Promise ? response.then(report) : report(response);
    };
  };

  /** The same services, by their mount points. */
  all(services: Readonly<Record<string, ServiceHandler>>): Readonly<Record<string, ServiceHandler>> {
    return Object.fromEntries(
      Object.entries(services).map(([mount, handler]) => [mount, this.service(mount, handler)]),
    );
  }

  /** The same answers to what no service takes or a service fails at. */
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
