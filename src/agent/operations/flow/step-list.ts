import type { OperationServices } from "../contract.js";

/** Returned by a step: nothing is left to do, and nothing went wrong. */
export const STOP = Symbol("stop");

/** One step of an operation. What it learns, it writes into the progress. */
export type Step<P> = (progress: P) => Promise<typeof STOP | undefined> | Promise<void>;

/** An operation, as its steps in order. Their names are data: faults are put before each of them by name. */
export interface StepList<P> {
  /** Mostly as the agent's method: `start_instance`. */
  readonly operation: string;
  readonly names: readonly string[];
  readonly steps: Readonly<Record<string, Step<P>>>;
}

export function stepList<P>(operation: string, steps: Readonly<Record<string, Step<P>>>): StepList<P> {
  return Object.freeze({ operation, names: Object.freeze(Object.keys(steps)), steps });
}

/** The fault point before a step. */
export const faultPoint = (operation: string, step: string): string => `agent.${operation}.${step}`;

/**
 * Runs the steps in order; each begins when the one before has ended. False: a step said {@link STOP}.
 * @throws what a step, or the fault before it, throws; the steps after it do not run.
 */
export async function runSteps<P>(
  { faults }: Pick<OperationServices, "faults">,
  list: StepList<P>,
  progress: P,
): Promise<boolean> {
  for (const [name, step] of Object.entries(list.steps)) {
    await faults?.hit(faultPoint(list.operation, name));
    if ((await step(progress)) === STOP) {
      return false;
    }
  }
  return true;
}
