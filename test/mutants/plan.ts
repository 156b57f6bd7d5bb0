import { readFileSync } from "node:fs";
import type { Mutant } from "./mutant.js";

/** The work of one session of tests, stored as a JSON file for the session and its worker. */
export interface Plan {
  readonly root: string;
  readonly mutants: readonly Mutant[];
  /** Test files in the order of execution, relative to the root. */
  readonly tests: readonly string[];
  /** The nearest tests of each source. `tries` decides whether they or the other tests try its mutants. */
  readonly near: Readonly<Record<string, readonly string[]>>;
  readonly tries: "near" | "others";
  /** The processor time in milliseconds for the tests of one mutant. */
  readonly timeoutMs: number;
  readonly journal: string;
  /**
   * Mutants that are reached while modules load; each needs separate runs of tests. Absent: a session of other mutants.
   */
  readonly whileLoading?: readonly { readonly id: number; readonly tests: readonly string[] }[];
}

export function readPlan(path: string): Plan {
  return JSON.parse(readFileSync(path, "utf8")) as Plan;
}

/** Environment variables of a session and its worker. */
export const PLAN_FILE = "MUTANTS_PLAN";
export const LOADING_MUTANT = "MUTANTS_LOADING";

/** The error of a skipped test file: the mutant of this run needs no more tests. */
export const NOT_LOADED = "not loaded";
