/**
 * The syntax that a mutant changes: it replaces an expression or a statement, or returns at the entry of a function.
 */
export type Shape = "expression" | "statement" | "entry";

/** A change of the source that a test should detect. */
export interface Mutation {
  readonly path: string;
  readonly line: number;
  readonly operator: string;
  /** A one-line description of the change. It does not depend on the position in the file. */
  readonly change: string;
  readonly shape: Shape;
  /** The range of the source that is replaced. */
  readonly start: number;
  readonly end: number;
  /** Source text; empty if a statement is dropped. */
  readonly replacement: string;
}

/** A mutation with the number that activates it. */
export interface Mutant extends Mutation {
  readonly id: number;
}

/** A mutant that no test can kill, or that is not worth a test. */
export interface Accepted {
  readonly path: string;
  readonly operator: string;
  readonly change: string;
  readonly reason: string;
}
