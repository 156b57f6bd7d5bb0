import type { Clock } from "../../runtime/clock.js";
import { ConnectFailure } from "../errors.js";
import { CachedAccess } from "./cached-access.js";
import { type PlacementAccess, withoutTrailingSlash } from "./placement-access.js";
import { type ServiceAccess, SharedAccess } from "./shared-access.js";

/**
 * The access of agents without a `[placement]` section of their own: the conductor's `placement_access` gives endpoint
 * and token.
 */
export function createConductorAccess(options: {
  readonly clock: Clock;
  readonly ask: () => Promise<ServiceAccess>;
  /** What the hosts of the process that ask the same know together; default: nobody else asks. */
  readonly shared?: SharedAccess;
}): PlacementAccess {
  const { clock, ask, shared = new SharedAccess() } = options;
  const obtain = async () => {
    try {
      const { endpoint, token, expiresAt } = await shared.get(clock, ask);
      return { endpoint: withoutTrailingSlash(endpoint), headers: { "x-auth-token": token }, expiresAt };
    } catch (error) {
      throw new ConnectFailure(
        "the conductor did not say how to reach Placement; start it, or give a [placement] section with auth_type",
        undefined,
        { cause: error },
      );
    }
  };
  return new CachedAccess(clock, obtain, (token) => shared.invalidate(token));
}
