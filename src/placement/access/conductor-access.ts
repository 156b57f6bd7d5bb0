import type { Clock } from "../../runtime/clock.js";
import { ConnectFailure } from "../errors.js";
import { CachedAccess } from "./cached-access.js";
import { type PlacementAccess, withoutTrailingSlash } from "./placement-access.js";

/**
 * The access of agents without a `[placement]` section of their own: the conductor's `placement_access` gives endpoint
 * and token.
 */
export function createConductorAccess(options: {
  readonly clock: Clock;
  /** `expiresAt` in milliseconds since the epoch. */
  readonly ask: () => Promise<{ readonly endpoint: string; readonly token: string; readonly expiresAt: number }>;
}): PlacementAccess {
  return new CachedAccess(options.clock, async () => {
    try {
      const { endpoint, token, expiresAt } = await options.ask();
      return { endpoint: withoutTrailingSlash(endpoint), headers: { "x-auth-token": token }, expiresAt };
    } catch (error) {
      throw new ConnectFailure(
        "the conductor did not say how to reach Placement; start it, or give a [placement] section with auth_type",
        undefined,
        { cause: error },
      );
    }
  });
}
