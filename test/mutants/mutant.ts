/** How a mutant is woven into its source: an expression or statement replaced, or a function left at its first line. */
export type Shape = "expression" | "statement" | "entry";

/** One change of a source that a test should notice. */
export interface Mutation {
  readonly path: string;
  readonly line: number;
  readonly operator: string;
  /** What the change is, on one line: the same as long as the code is, wherever it moves in its file. */
  readonly change: string;
  readonly shape: Shape;
  /** The characters of the source that it replaces. */
  readonly start: number;
  readonly end: number;
  /** Source text; empty where a statement is dropped. */
  readonly replacement: string;
}

/** A mutation under the number by which it is switched on. */
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
