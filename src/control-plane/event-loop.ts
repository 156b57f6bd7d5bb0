import type { ServiceRequest } from "../runtime/http-server.js";
import type { Clock, Timers } from "../runtime/time.js";

/** Milliseconds of work after which other work gets the event loop. */
const TURN = 20;

/**
 * Prevents long work from blocking the event loop: between its steps, the work checks {@link EventLoopTicks.due} and
 * yields.
 */
export class EventLoopTicks {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #timers: Pick<Timers, "sleep">;
  #since: number;

  constructor({ clock, timers }: { readonly clock: Pick<Clock, "monotonic">; readonly timers: Pick<Timers, "sleep"> }) {
    this.#clock = clock;
    this.#timers = timers;
    this.#since = clock.monotonic();
  }

  get due(): boolean {
    return this.#clock.monotonic() - this.#since > TURN;
  }

  /** Yields to other work. Data that was read before may have changed afterwards. */
  async give(): Promise<void> {
    await this.#timers.sleep(0);
    this.#since = this.#clock.monotonic();
  }
}

/**
 * Returns true if a request must wait for messages and requests of agents. Agents read single records of Placement, and
 * write to Placement and Ironic. All other requests come from users.
 */
export function isLowPriority({ method, path }: Pick<ServiceRequest, "method" | "path">, mount: string): boolean {
  switch (mount) {
    case "/placement":
      return method === "GET" && !ONE_RECORD.test(path);
    case "/baremetal":
      return method === "GET";
    default:
      return true;
  }
}

/** Matches `/allocations/{consumer}`, `/resource_providers/{provider}/inventories` and so on, but no list. */
const ONE_RECORD = /^\/[^/]+\/[^/]/;
