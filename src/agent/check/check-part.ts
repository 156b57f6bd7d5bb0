import { MessagingTimeout } from "../../conductor-client/errors.js";
import { TookTooLong } from "../../runtime/time.js";
import { toStartupRejection } from "../rejections.js";

/**
 * What a start would make of a part: `ok`; `note`: it goes on, and somebody may want to know; `degraded`: it goes on, and the agent
 * logs errors until an operator acts; `waits` until it is there; `fails`; `unknown`: it could not be looked at.
 */
export type PartState = "ok" | "note" | "degraded" | "waits" | "fails" | "unknown";

/** What was found of one part that a start needs; plain data, for `--check` and its `--json`. */
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
  /** What was found, or tried. */
  readonly found: string;
  /** What to do about it; empty: nothing. */
  readonly hint: string;
}

export function part(name: CheckPart["name"], state: PartState, found: string, hint = ""): CheckPart {
  return { name, state, found, hint: hint };
}

/** What an error says of a part: a refusal, something that a start would wait for, or another failure. */
export function failedPart(name: CheckPart["name"], error: unknown, hint = ""): CheckPart {
  const rejection = toStartupRejection(error);
  if (rejection !== null) {
    return part(name, "fails", rejection.found, rejection.hint === "" ? hint : rejection.hint);
  }
  const message = error instanceof Error ? error.message : String(error);
  const waits = error instanceof TookTooLong || error instanceof MessagingTimeout;
  return part(name, waits ? "waits" : "fails", message, hint);
}
