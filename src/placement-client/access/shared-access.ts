import type { Clock } from "../../runtime/clock.js";
import { EXPIRES_SOON } from "./cached-access.js";

/** What the conductor says of how to get at a service; `expiresAt` in milliseconds since the epoch. */
export interface ToldAccess {
  readonly endpoint: string;
  readonly token: string;
  readonly expiresAt: number;
}

/**
 * Keeps what one host of a process was told of a service, for the others. Hosts that need it at the same time each ask: one that
 * asked for all could be killed before it has its answer.
 */
export class SharedAccess {
  #told: ToldAccess | undefined;

  async get(clock: Pick<Clock, "now">, ask: () => Promise<ToldAccess>): Promise<ToldAccess> {
    const known = this.#told;
    if (known !== undefined && clock.now() < known.expiresAt - EXPIRES_SOON) {
      return known;
    }
    const told = await ask();
    this.#told = told;
    return told;
  }

  /** The service has refused this token: the next host asks again. */
  refused(token: string | undefined): void {
    if (this.#told?.token === token) {
      this.#told = undefined;
    }
  }
}
