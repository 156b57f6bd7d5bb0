import type { Mutation } from "./mutant.js";

/** A mutant that no test can kill, or that is not worth a test. */
export interface Accepted {
  readonly path: string;
  readonly operator: string;
  readonly change: string;
  readonly reason: string;
}

/** Files in which all that is raised by 1 is the tracker's epoch. */
const EPOCHS = ["claims", "instance-writes", "move-writes", "resize-claim"];

export const ACCEPTED: readonly Accepted[] = EPOCHS.map((name) => ({
  path: `src/agent/tracker/${name}.ts`,
  operator: "number",
  change: "1 → 2",
  reason: "an epoch is only asked whether it is another than before: by how much it was raised says nothing",
}));

export function acceptedAs(mutation: Mutation): Accepted | undefined {
  return ACCEPTED.find(
    ({ path, operator, change }) =>
      path === mutation.path && operator === mutation.operator && change === mutation.change,
  );
}
