import type { Mutation } from "./mutant.js";

/** A mutant that no test can kill, or that is not worth a test. */
export interface Accepted {
  readonly path: string;
  readonly operator: string;
  readonly change: string;
  readonly reason: string;
}

export const ACCEPTED: readonly Accepted[] = [];

export function acceptedAs(mutation: Mutation): Accepted | undefined {
  return ACCEPTED.find(
    ({ path, operator, change }) =>
      path === mutation.path && operator === mutation.operator && change === mutation.change,
  );
}
