import { readFileSync } from "node:fs";
import type { Mutant } from "./mutant.js";

/** What one session of tests has to do: a file in JSON, read by the session and by its worker. */
export interface Plan {
  readonly root: string;
  readonly mutants: readonly Mutant[];
  /** Test files in the order in which they run, from the root. */
  readonly tests: readonly string[];
  /** By source: the tests nearest to it, which alone, or not, try its mutants. */
  readonly near: Readonly<Record<string, readonly string[]>>;
  readonly tries: "near" | "others";
  /** Milliseconds of tests that one mutant is given. */
  readonly timeoutMs: number;
  readonly journal: string;
  /** Mutants that act while modules load, each with its own run of some of the tests; absent: a session of the others. */
  readonly whileLoading?: readonly { readonly id: number; readonly tests: readonly string[] }[];
}

export function readPlan(path: string): Plan {
  return JSON.parse(readFileSync(path, "utf8")) as Plan;
}

/** Environment variables of a session and its worker. */
export const PLAN_FILE = "MUTANTS_PLAN";
export const LOADING_MUTANT = "MUTANTS_LOADING";

/** The error of a file of tests that is left out, since the mutant of this run needs no more of them. */
export const NOT_LOADED = "not loaded";
