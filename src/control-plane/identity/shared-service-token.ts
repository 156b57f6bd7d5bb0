import type { Clock } from "../../runtime/clock.js";
import type { Identity } from "./identity.js";
import type { ServiceUser } from "./store/bootstrap.js";

/** Milliseconds for which all who ask get the same token: far less than it lives. */
const SHARED = 300_000;

type IssuedToken = ReturnType<Identity["issueServiceToken"]>;

/**
 * A user's tokens for the agents: thousands of hosts that start at a time get one, which is written once, and is found among
 * few when they show it.
 */
export function sharedServiceToken(identity: Identity, clock: Clock, user: ServiceUser): () => IssuedToken {
  let shared: IssuedToken | undefined;
  let until = 0;
  return () => {
    // One that was revoked brought somebody here who needs another.
    if (shared === undefined || clock.monotonic() >= until || identity.validate(shared.token) === undefined) {
      shared = identity.issueServiceToken(user);
      until = clock.monotonic() + SHARED;
    }
    return shared;
  };
}
