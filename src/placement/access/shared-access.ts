import type { Clock } from "../../runtime/clock.js";
import { EXPIRES_SOON } from "./cached-access.js";

/** What the conductor says of how to get at a service; `expiresAt` in milliseconds since the epoch. */
export interface ToldAccess {
  readonly endpoint: string;
  readonly token: string;
  readonly expiresAt: number;
}

/**
 * What one host of a process was told is as good for the others. Hosts that ask at a time each ask themselves: who asked for all
 * could be killed before it is answered.
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

  /** The service takes this token no more. */
  refused(token: string | undefined): void {
    if (this.#told?.token === token) {
      this.#told = undefined;
    }
  }
}
