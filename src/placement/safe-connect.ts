import type { Logger } from "../runtime/logger.js";
import { PlacementAPIConnectFailure } from "./errors.js";

const WARN_EVERY = 10;

/** For methods that must not fail because Placement is away: they answer null, and every 10th time there is a warning. */
export class SafeConnect {
  readonly #logger: Logger;
  #failures = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  async run<T>(action: () => Promise<T>): Promise<T | null> {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof PlacementAPIConnectFailure)) {
        throw error;
      }
      if (this.#failures % WARN_EVERY === 0) {
        this.#logger.warn(`Placement cannot be asked: ${error.message}`, { err: error });
      }
      this.#failures += 1;
      return null;
    }
  }
}
