import type { ServiceClient } from "../cloud/service-client.js";
import type { Action, Edit, Plan } from "../plan/plan.js";
import { changeAllocations } from "./change-allocations.js";
import { changeProvider } from "./change-provider.js";
import type { Outcome } from "./outcome.js";

export interface Line {
  readonly edit: Edit;
  /** What was to be done: the edit's action, or its inverse. */
  readonly action: Action;
  readonly outcome: Outcome;
}

/**
 * Carries a plan out, one line after the other; `undo` takes it back, from the last line to the first. A line that is
 * refused stops no other. Each is done or not when the process dies, so it may be run again.
 * @throws {CloudError} Placement does not answer any more, or refuses the token
 */
export async function applyPlan(
  placement: ServiceClient,
  { edits }: Plan,
  { undo, onLine = () => undefined }: { readonly undo: boolean; readonly onLine?: (line: Line) => void },
): Promise<Line[]> {
  const lines: Line[] = [];
  for (const edit of undo ? edits.toReversed() : edits) {
    const action = undo ? edit.inverse : edit.action;
    const outcome =
      action.kind === "allocations"
        ? await changeAllocations(placement, action)
        : await changeProvider(placement, action);
    const line = { edit, action, outcome };
    lines.push(line);
    onLine(line);
  }
  return lines;
}
