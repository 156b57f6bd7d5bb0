import { join } from "node:path";
import { drawPlan, PROFILES } from "./draw-plan.js";
import type { SeedOptions } from "./options.js";
import type { Plan } from "./plan.js";
import { writePlanFile } from "./plan-file.js";
import type { SeedResult } from "./seed-result.js";
import { shrink } from "./shrink.js";
import { type Outcome, simulate } from "./simulate.js";

/** The max number of history lines in a report. */
const MAX_HISTORY_LINES = 25;

/** @param now milliseconds of real time */
export async function runSeed(seed: number, options: SeedOptions, now: () => number): Promise<SeedResult> {
  const profile = PROFILES[options.profile];
  if (profile === undefined) {
    throw new Error(`no profile ${options.profile}`);
  }
  const plan = drawPlan(String(seed), options.duration, profile);
  const deployment = { ...plan.deployment, quirks: [...plan.deployment.quirks, ...(options.quirks ?? [])] };
  return runPlan(seed, { ...plan, deployment }, options, now);
}

export async function runPlan(
  seed: number,
  drawn: Plan,
  { shrink: shrinks, out }: Pick<SeedOptions, "shrink" | "out">,
  now: () => number,
): Promise<SeedResult> {
  const began = now();
  const { user, system } = process.cpuUsage();
  let plan = drawn;
  let outcome = await simulate(plan);
  const realTime = now() - began;
  const spent = process.cpuUsage({ user, system });
  if (outcome.breaches.length > 0 && shrinks) {
    ({ plan, outcome } = await shrink(plan, outcome));
  }
  return {
    seed,
    hash: outcome.hash,
    virtualTime: outcome.virtualTime,
    realTime,
    processorTime: (spent.user + spent.system) / 1000,
    steps: plan.steps.length,
    acknowledged: [...outcome.acknowledged.values()].reduce((sum, count) => sum + count, 0),
    breaches: outcome.breaches,
    history: historyOf(outcome),
    file: keep(join(out, `simulation-${seed}.json`), plan, outcome),
  };
}

function keep(path: string, plan: Plan, { breaches, hash }: Outcome): string | null {
  const [first] = breaches;
  if (first === undefined) {
    return null;
  }
  writePlanFile(path, { rule: first.rule, hash, plan });
  return path;
}

function historyOf({ breaches, historyOf: of, lines }: Outcome): readonly string[] {
  const [first] = breaches;
  if (first === undefined) {
    return [];
  }
  const own = of(first.subject);
  return (own.length > 0 ? own : lines).slice(-MAX_HISTORY_LINES);
}
