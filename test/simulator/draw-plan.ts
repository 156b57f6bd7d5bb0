import type { QuirkName } from "../../src/config/quirks.js";
import { Dice } from "../chaos/dice.js";
import { BARE_METAL, type Deployment, type Plan, STEP_KINDS, type Step, type StepKind } from "./plan.js";

/** Drawn separately, so that the other steps of a seed do not depend on them. */
const BESIDES = ["label", "network"] as const;

/** The relative frequency of each kind of step that a seed does not leave out. */
const WEIGHTS: Readonly<Record<Exclude<StepKind, (typeof BESIDES)[number]>, number>> = {
  create: 14,
  act: 40,
  delete: 4,
  fence: 5,
  evacuate: 4,
  "force-up": 2,
  disable: 1,
  enable: 2,
  "delete-service": 0.5,
  aggregate: 1,
  retire: 4,
  audit: 1,
  heal: 1,
  "kill-agent": 6,
  "stop-agent": 3,
  "twin-agent": 1,
  impostor: 1,
  machine: 1.5,
  disk: 2,
  "kill-control-plane": 2,
  partition: 3,
  message: 3,
  fault: 12,
  trouble: 12,
  clock: 1,
  "create-bare-metal": 6,
  "act-bare-metal": 8,
  "kill-ironic-agent": 3,
  node: 3,
  "ironic-fault": 3,
  "control-move": 5,
  "save-image": 3,
  restore: 3,
  "reset-state": 1,
  "ironic-network": 3,
  "ironic-listing": 3,
};

/** Upstream defects with which a cloud must still reach a consistent state. */
const QUIRKS: readonly QuirkName[] = [
  "late-node-collision-check",
  "forget-failed-strip",
  "broken-running-deleted-shutdown",
  "audit-races-builds",
];

/** Never left out, since other steps need servers. */
const ALWAYS: readonly StepKind[] = ["create", "act"];

/** Drawn only if a profile favours them. */
const OPT_IN_STEPS: readonly StepKind[] = ["ironic-network", "ironic-listing"];

/** Steps that must not leak allocations even if no agent repairs them. */
const GENTLE: readonly StepKind[] = [
  ...ALWAYS,
  "delete",
  "disable",
  "enable",
  "audit",
  "trouble",
  "create-bare-metal",
  "act-bare-metal",
  "control-move",
  "save-image",
  "restore",
];

/**
 * Determines which steps a seed leaves out or favours: rare combinations are more likely when common steps are absent.
 */
export interface Profile {
  readonly hosts?: number;
  /** The average time between two steps, in milliseconds. */
  readonly pace: number;
  /** The share of kinds that each seed leaves out. */
  readonly leftOut: number;
  /** The share of seeds with an Ironic. */
  readonly metal?: number;
  /** The number of hosts that share Ironic's nodes; default: one or two. */
  readonly ironicHosts?: number;
  /** The longest delay of a host, in seconds. */
  readonly slow?: number;
  /** The share of seeds whose agents remove leaked allocations; default 0.75. */
  readonly repairs?: number;
  /** The share of seeds with server groups; default 0.3. */
  readonly groups?: number;
  /** Kinds that are never left out, with a factor for their frequency. */
  readonly favours?: Partial<Readonly<Record<StepKind, number>>>;
}

export const PROFILES: Readonly<Record<string, Profile>> = {
  swarm: { pace: 4_000, leftOut: 0.4 },
  storm: { pace: 800, leftOut: 0.2 },
  calm: { pace: 15_000, leftOut: 0.6 },
  large: { hosts: 30, pace: 2_000, leftOut: 0.4 },
  metal: { hosts: 2, pace: 3_000, leftOut: 0.3, metal: 1, favours: { "ironic-network": 1 } },
  evacuations: {
    hosts: 4,
    pace: 2_000,
    leftOut: 0.5,
    groups: 0.7,
    favours: { fence: 2, "force-up": 8, evacuate: 2, "kill-agent": 2, create: 1.5 },
  },
  groups: {
    hosts: 5,
    pace: 2_000,
    leftOut: 0.8,
    groups: 1,
    favours: { create: 2, fence: 1.5, evacuate: 2, "force-up": 10 },
  },
  services: {
    pace: 2_500,
    leftOut: 0.5,
    favours: { retire: 4, "delete-service": 12, "stop-agent": 3, act: 1 },
  },
  nodes: {
    hosts: 2,
    pace: 2_000,
    leftOut: 0.5,
    metal: 1,
    favours: { "create-bare-metal": 3, node: 3, "kill-ironic-agent": 2, "act-bare-metal": 1, "ironic-network": 1 },
  },
  ring: {
    hosts: 2,
    pace: 3_000,
    leftOut: 0.9,
    metal: 1,
    ironicHosts: 2,
    repairs: 1,
    favours: { create: 0.2, act: 0.1, "kill-ironic-agent": 6, "ironic-network": 4, "create-bare-metal": 1.5 },
  },
  listings: {
    hosts: 2,
    pace: 3_000,
    leftOut: 0.9,
    metal: 1,
    favours: { act: 0.1, "create-bare-metal": 3, "act-bare-metal": 1, "ironic-listing": 4 },
  },
  returns: {
    hosts: 4,
    pace: 1_500,
    leftOut: 0.9,
    slow: 20,
    favours: { fence: 4, evacuate: 3, "force-up": 12, create: 3, delete: 5, act: 0.6 },
  },
  gentle: { pace: 2_000, leftOut: 0.2, repairs: 0, favours: { trouble: 3 } },
};

/** Draws the plan of a seed. `duration` in milliseconds. */
export function drawPlan(seed: string, duration: number, profile: Profile): Plan {
  const dice = new Dice(`plan/${seed}`);
  const deployment = drawDeployment(dice.of("deployment"), profile);
  const kinds = (deployment.repairs ? STEP_KINDS : GENTLE).filter(
    (kind) => deployment.nodes > 0 || !BARE_METAL.includes(kind),
  );
  const steps = drawSteps(dice.of("steps"), kinds, duration, profile);
  const labels = drawBesides("label", dice.of("labels"), steps.length, { duration, between: 5 * profile.pace });
  const first = steps.length + labels.length;
  const networks = deployment.networks
    ? drawBesides("network", dice.of("networks"), first, { duration, between: 4 * profile.pace })
    : [];
  const all = [...steps, ...labels, ...networks].sort((a, b) => a.at - b.at);
  return { version: 1, seed, duration, deployment, steps: all };
}

function drawDeployment(
  dice: Dice,
  { hosts, metal: share = 0.25, ironicHosts, slow, repairs: usual = 0.75, groups = 0.3 }: Profile,
): Deployment {
  const repairs = dice.chance(usual);
  const metal = dice.of("bare metal");
  const nodes = metal.chance(share) ? metal.between(2, 6) : 0;
  return {
    hosts: hosts ?? dice.between(2, 5),
    latency: dice.pick([0, 0, 1, 5]) ?? 0,
    interleave: dice.pick([0, 2, 20, 200]) ?? 0,
    sharing: dice.pick([0, 0, 2]) ?? 0,
    doubled: dice.chance(0.15),
    oldest: dice.pick(["master", "master", "master", "queens", "train", "zed"] as const) ?? "master",
    quirks: repairs ? QUIRKS.filter(() => dice.chance(0.1)) : [],
    sameHostResize: dice.chance(0.5),
    shelvedOffloadTime: dice.pick([0, -1, 40]) ?? 0,
    reclaimInterval: dice.pick([0, 0, 60]) ?? 0,
    confirmWindow: dice.of("confirmations").pick([0, 0, 0, 1, 20]) ?? 0,
    leanTracking: dice.chance(0.7),
    resumeGuests: dice.chance(0.3),
    repairs,
    slow: slow ?? dice.pick([0, 1, 5, 20]) ?? 0,
    nodes,
    ironicHosts: nodes > 0 ? (ironicHosts ?? metal.between(1, 2)) : 0,
    groups: dice.of("groups").chance(groups),
    networks: dice.of("networks").chance(0.6),
  };
}

function isBesides(kind: StepKind): kind is (typeof BESIDES)[number] {
  return BESIDES.some((besides) => besides === kind);
}

function drawSteps(
  dice: Dice,
  from: readonly StepKind[],
  duration: number,
  { pace, leftOut, favours = {} }: Profile,
): readonly Step[] {
  const kinds = from
    .filter((kind) => !isBesides(kind))
    .filter((kind) => favours[kind] !== undefined || !OPT_IN_STEPS.includes(kind))
    .filter((kind) => ALWAYS.includes(kind) || favours[kind] !== undefined || !dice.chance(leftOut))
    .map((kind) => ({ kind, weight: WEIGHTS[kind] * (favours[kind] ?? 1) }));
  const steps: Step[] = [];
  for (let at = dice.between(0, pace); at < duration; at += dice.between(0, 2 * pace)) {
    const drawn = dice.weighted(kinds);
    if (drawn !== undefined) {
      steps.push({ number: steps.length, at, kind: drawn.kind });
    }
  }
  return steps;
}

/**
 * @param first the first free step number
 * @param between the average time between two steps, in milliseconds
 */
function drawBesides(
  kind: StepKind,
  dice: Dice,
  first: number,
  { duration, between }: { readonly duration: number; readonly between: number },
): readonly Step[] {
  const steps: Step[] = [];
  for (let at = dice.between(0, between); at < duration; at += dice.between(0, 2 * between)) {
    steps.push({ number: first + steps.length, at, kind });
  }
  return steps;
}
