import type { Breach } from "./oracle.js";
import type { Deployment, Plan, Step } from "./plan.js";
import { type Outcome, simulate } from "./simulate.js";

export interface Shrunk {
  readonly plan: Plan;
  readonly outcome: Outcome;
  /** The number of runs. */
  readonly runs: number;
}

/** Simplifications of a deployment, each of one property. */
const SIMPLER: readonly ((deployment: Deployment) => Partial<Deployment>)[] = [
  () => ({ interleave: 0 }),
  () => ({ latency: 0 }),
  () => ({ sharing: 0 }),
  () => ({ doubled: false }),
  () => ({ oldest: "master" }),
  () => ({ quirks: [] }),
  () => ({ resumeGuests: false }),
  () => ({ reclaimInterval: 0 }),
  () => ({ leanTracking: true }),
  () => ({ slow: 0 }),
  () => ({ shelvedOffloadTime: 0 }),
  ({ hosts }) => ({ hosts: Math.max(2, hosts - 1) }),
  ({ hosts }) => ({ hosts: Math.max(2, hosts - 1) }),
];

/** Removes steps, faults and choices from a plan as long as the same rule is violated. */
export async function shrink(
  plan: Plan,
  outcome: Outcome,
  { most = 200, onRun = () => undefined }: { readonly most?: number; readonly onRun?: (steps: number) => void } = {},
): Promise<Shrunk> {
  const rule = ruleOf(outcome.breaches);
  let best = { plan, outcome };
  let runs = 0;
  const tries = async (smaller: Plan): Promise<boolean> => {
    if (runs >= most) {
      return false;
    }
    runs += 1;
    const found = await simulate(smaller);
    const same = found.breaches.some((breach) => breach.rule === rule);
    if (same) {
      best = { plan: smaller, outcome: found };
    }
    onRun(best.plan.steps.length);
    return same;
  };
  for (let before = Number.POSITIVE_INFINITY; best.plan.steps.length < before && runs < most; ) {
    before = best.plan.steps.length;
    await dropSteps(() => best.plan, tries);
    for (const simpler of SIMPLER) {
      const deployment = { ...best.plan.deployment, ...simpler(best.plan.deployment) };
      if (JSON.stringify(deployment) !== JSON.stringify(best.plan.deployment)) {
        await tries({ ...best.plan, deployment });
      }
    }
  }
  return { ...best, runs };
}

/** Drops half of the steps first, single steps last. */
async function dropSteps(best: () => Plan, tries: (plan: Plan) => Promise<boolean>): Promise<void> {
  for (let size = Math.ceil(best().steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best().steps.length; ) {
      const steps = without(best().steps, from, size);
      if (!(await tries({ ...best(), steps }))) {
        from += size;
      }
    }
  }
}

function without(steps: readonly Step[], from: number, size: number): readonly Step[] {
  return [...steps.slice(0, from), ...steps.slice(from + size)];
}

function ruleOf(breaches: readonly Breach[]): string {
  const [first] = breaches;
  if (first === undefined) {
    throw new Error("a plan that breaks nothing cannot be shrunk");
  }
  return first.rule;
}
