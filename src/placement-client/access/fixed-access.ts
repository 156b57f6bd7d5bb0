import { type Credentials, type PlacementAccess, withoutTrailingSlash } from "./placement-access.js";

/** `auth_type = none`: no header at all. `admin_token`: always the same X-Auth-Token. */
export function createFixedAccess(options: { readonly endpoint: string; readonly token?: string }): PlacementAccess {
  const credentials: Credentials = Object.freeze({
    endpoint: withoutTrailingSlash(options.endpoint),
    headers: options.token === undefined ? {} : { "x-auth-token": options.token },
  });
  return {
    credentials: async () => credentials,
    // There is no other token to be had.
    expire: () => undefined,
  };
}
