import { equalInConstantTime } from "../../constant-time.js";
import type { AuthOptions } from "../options.js";
import { noauth2 } from "./noauth2.js";

/**
 * One random token stands for the user `admin`. The headers of {@link noauth2} override what the token says of its
 * owner.
 */
export function ownToken(own: string): AuthOptions {
  return {
    ...noauth2,
    authenticate: (token, headers) =>
      token !== undefined && equalInConstantTime(token, own) ? noauth2.authenticate("admin", headers) : undefined,
  };
}
