import { isConductorError } from "../../conductor-client/errors.js";
import { errorMessage } from "../../runtime/error-messages.js";
import { TookTooLong } from "../../runtime/time.js";
import { toStartupRejection } from "../rejections.js";

/**
 * The effect of a part on a start. `ok`: none. `note`: the start continues; users may want to know. `degraded`: the
 * start continues, and the agent logs errors until an operator acts. `waits`: the start waits for the part. `fails`:
 * the start fails. `unknown`: the part could not be checked.
 */
export type PartState = "ok" | "note" | "degraded" | "waits" | "fails" | "unknown";

/** The result of checking one part that a start needs; plain data, for `--check` and its `--json`. */
export interface CheckPart {
  readonly name:
    | "broker"
    | "conductor"
    | "keystone"
    | "placement"
    | "service"
    | "hypervisor"
    | "identity"
    | "provider"
    | "lease";
  readonly state: PartState;
  /** The observed state, or the check that failed. */
  readonly found: string;
  /** A hint how to fix it; empty: none. */
  readonly hint: string;
}

export function part(name: CheckPart["name"], state: PartState, found: string, hint = ""): CheckPart {
  return { name, state, found, hint: hint };
}

/** Converts an error into a part: a start-up rejection, something that a start would wait for, or another failure. */
export function failedPart(name: CheckPart["name"], error: unknown, hint = ""): CheckPart {
  const rejection = toStartupRejection(error);
  if (rejection !== null) {
    return part(name, "fails", rejection.found, rejection.hint === "" ? hint : rejection.hint);
  }
  const message = errorMessage(error);
  const waits = error instanceof TookTooLong || isConductorError(error, "MessagingTimeout");
  return part(name, waits ? "waits" : "fails", message, hint);
}
