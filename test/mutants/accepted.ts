import { ACCEPTED_IN_AGENT } from "./accepted-agent.js";
import { ACCEPTED_IN_CONTROL_PLANE } from "./accepted-control-plane.js";
import type { Accepted, Mutation } from "./mutant.js";

/** Files in which only the tracker's epoch is incremented by 1. */
const EPOCHS = ["claims", "resource-tracker"];

export const ACCEPTED: readonly Accepted[] = [
  ...EPOCHS.map((name) => ({
    path: `src/agent/tracker/${name}.ts`,
    operator: "number",
    change: "1 → 2",
    reason: "an epoch is only asked whether it is another than before: by how much it was raised says nothing",
  })),
  ...ACCEPTED_IN_AGENT,
  ...ACCEPTED_IN_CONTROL_PLANE,
];

export function acceptedAs(mutation: Mutation): Accepted | undefined {
  return ACCEPTED.find(
    ({ path, operator, change }) =>
      path === mutation.path && operator === mutation.operator && change === mutation.change,
  );
}
