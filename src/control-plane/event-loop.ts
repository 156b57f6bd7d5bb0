import type { ServiceRequest } from "../runtime/http-server.js";
import type { Clock, Timers } from "../runtime/time.js";

/** Milliseconds of work after which others get their turn. */
const TURN = 20;

/** Keeps long work from holding everybody else up: between its steps it asks whether others are due, and lets them go first. */
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

  /** Lets others go first. What was read before may be otherwise afterwards. */
  async give(): Promise<void> {
    await this.#timers.sleep(0);
    this.#since = this.#clock.monotonic();
  }
}

/**
 * Whether a request waits until what agents say is answered. They ask Placement themselves in the middle of their work, for one record
 * at a time, and change what is there and in Ironic; the rest is asked by people.
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

/** `/allocations/{consumer}`, `/resource_providers/{provider}/inventories` ..., not a list. */
const ONE_RECORD = /^\/[^/]+\/[^/]/;
