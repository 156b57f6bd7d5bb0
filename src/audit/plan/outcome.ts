import type { HttpResponse } from "../../runtime/http.js";
import { detail } from "../cloud/service-client.js";

/** The result of one line of a plan. */
export type Outcome =
  | { readonly state: "done" }
  /** The objects already had the planned state. */
  | { readonly state: "already" }
  /** Another client changed an object since the audit, or the service rejected the change. Nothing was changed. */
  | { readonly state: "refused"; readonly why: string };

export const DONE: Outcome = { state: "done" };

export const ALREADY: Outcome = { state: "already" };

export const rejectedOutcome = (why: string): Outcome => ({ state: "refused", why });

/** @param service its name for the message of a rejection */
export function outcomeOf(service: string, { status, body }: HttpResponse): Outcome {
  return status < 300 ? DONE : rejectedOutcome(`${service} responded ${status}${detail(body)}`);
}
