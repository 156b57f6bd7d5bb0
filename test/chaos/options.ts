import { parseArgs } from "node:util";

/** Kinds of the adversary's faults, besides kills, stops and partitions. */
const FAULT_MOODS = ["none", "slow", "all"] as const;
export type FaultMood = (typeof FAULT_MOODS)[number];

export interface ChaosOptions {
  /** Seed of all random draws. */
  readonly seed: string;
  readonly minutes: number;
  readonly hosts: number;
  readonly faults: FaultMood;
  /** Whether agents remove unneeded allocations (`reconcile_allocations = repair`). */
  readonly reconcile: boolean;
  /** Names of operations and disruptions to leave out, as in the summary. */
  readonly without: readonly string[];
  /** Keeps the state directory even without a violation. */
  readonly keep: boolean;
}

export const USAGE = `npm run test:chaos -- [--seed TEXT] [--minutes N] [--hosts N] [--faults none|slow|all] 
                      [--no-reconcile] [--without OPERATION]... [--keep]
The seed and the minutes may be given as CHAOS_SEED and CHAOS_MINUTES, too.`;

/** @throws {Error} for an unknown or invalid option */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string", default: environment.CHAOS_SEED ?? String(Date.now() % 1_000_000) },
      minutes: { type: "string", default: environment.CHAOS_MINUTES ?? "3" },
      hosts: { type: "string", default: "5" },
      faults: { type: "string", default: "all" },
      "no-reconcile": { type: "boolean", default: false },
      without: { type: "string", multiple: true, default: [] },
      keep: { type: "boolean", default: false },
    },
  });
  const faults = FAULT_MOODS.find((mood) => mood === values.faults);
  if (faults === undefined) {
    throw new Error(`--faults ${values.faults}: expected ${FAULT_MOODS.join(", ")}`);
  }
  return {
    seed: values.seed,
    minutes: number("--minutes", values.minutes, 0.1),
    hosts: number("--hosts", values.hosts, 3),
    faults,
    reconcile: !values["no-reconcile"],
    without: values.without,
    keep: values.keep,
  };
}

function number(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!(value >= least)) {
    throw new Error(`${name} ${text}: expected a number of at least ${least}`);
  }
  return value;
}
