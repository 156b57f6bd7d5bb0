import { equalInConstantTime } from "../../constant-time.js";
import type { AuthOptions } from "../options.js";
import { noauth2 } from "./noauth2.js";

/**
 * One token, which nobody can guess, stands for the user `admin`. The headers that override what a token says of its
 * owner are those of {@link noauth2}.
 */
export function ownToken(own: string): AuthOptions {
  return {
    ...noauth2,
    authenticate: (token, headers) =>
      token !== undefined && equalInConstantTime(token, own) ? noauth2.authenticate("admin", headers) : undefined,
  };
}
