/** How one line of a plan went. */
export type Outcome =
  | { readonly state: "done" }
  /** It was as the plan wants it already. */
  | { readonly state: "already" }
  /** Another client changed it since the audit, or Placement refuses it; nothing was changed. */
  | { readonly state: "refused"; readonly why: string };

export const DONE: Outcome = { state: "done" };
export const ALREADY: Outcome = { state: "already" };
export const rejectedOutcome = (why: string): Outcome => ({ state: "refused", why });
