import type { Clock } from "../../runtime/clock.js";
import { EXPIRES_SOON } from "./cached-access.js";

/** What the conductor says of how to get at a service; `expiresAt` in milliseconds since the epoch. */
export interface ServiceAccess {
  readonly endpoint: string;
  readonly token: string;
  readonly expiresAt: number;
}

/**
 * Keeps what one host of a process was told of a service, for the others. Hosts that need it at the same time each ask: one that
 * asked for all could be killed before it has its answer.
 */
export class SharedAccess {
  #cached: ServiceAccess | undefined;

  async get(clock: Pick<Clock, "now">, ask: () => Promise<ServiceAccess>): Promise<ServiceAccess> {
    const known = this.#cached;
    if (known !== undefined && clock.now() < known.expiresAt - EXPIRES_SOON) {
      return known;
    }
    const access = await ask();
    this.#cached = access;
    return access;
  }

  /** The service has refused this token: the next host asks again. */
  invalidate(token: string | undefined): void {
    if (this.#cached?.token === token) {
      this.#cached = undefined;
    }
  }
}
