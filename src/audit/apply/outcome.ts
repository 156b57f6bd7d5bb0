/** How one line of a plan went. */
export type Outcome =
  | { readonly state: "done" }
  /** It was as wanted before. */
  | { readonly state: "already" }
  /** Somebody changed it since the audit, or Placement does not take it; nothing was changed. */
  | { readonly state: "refused"; readonly why: string };

export const DONE: Outcome = { state: "done" };
export const ALREADY: Outcome = { state: "already" };
export const refused = (why: string): Outcome => ({ state: "refused", why });
