import { EndpointNotFound } from "../errors.js";
import type { Credentials, PlacementAccess } from "./placement-access.js";

/** Tells when the catalogue has no Placement: what comes back under that name later may be another one (spec 5.1). */
export class WatchedAccess implements PlacementAccess {
  readonly #access: PlacementAccess;
  readonly #onEndpointLost: () => void;

  constructor(access: PlacementAccess, onEndpointLost: () => void) {
    this.#access = access;
    this.#onEndpointLost = onEndpointLost;
  }

  async credentials(signal?: AbortSignal): Promise<Credentials> {
    try {
      return await this.#access.credentials(signal);
    } catch (error) {
      if (error instanceof EndpointNotFound) {
        this.#onEndpointLost();
      }
      throw error;
    }
  }

  expire(): void {
    this.#access.expire();
  }
}
