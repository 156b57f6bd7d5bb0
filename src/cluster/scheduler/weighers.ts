import type { Random } from "../../runtime/random.js";
import type { GroupState } from "./group-placements.js";
import type { HostState } from "./host-state.js";

interface Weigher {
  readonly multiplier: number;
  readonly weigh: (host: HostState) => number;
}

/** Multipliers as of Nova's `[filter_scheduler] *_weight_multiplier`. */
const WEIGHERS: readonly Weigher[] = [
  { multiplier: 1, weigh: ({ resources }) => free(resources.MEMORY_MB) },
  { multiplier: 1, weigh: ({ resources }) => free(resources.VCPU) },
  { multiplier: -1_000_000, weigh: ({ node }) => Number(node.stats.failed_builds ?? 0) },
];

/** `[filter_scheduler] soft_affinity_weight_multiplier`, `soft_anti_affinity_weight_multiplier`. Nova's default for both: 1. */
export interface SoftWeights {
  readonly affinity: number;
  readonly antiAffinity: number;
}

interface Preference {
  /** Null: the server is in no group. */
  readonly group: GroupState | null;
  readonly softWeights: SoftWeights;
}

/** Soft policies prefer hosts; the others have been asked as filters. */
function groupWeighers({ group, softWeights }: Preference): readonly Weigher[] {
  if (group?.policy !== "soft-affinity" && group?.policy !== "soft-anti-affinity") {
    return [];
  }
  const multiplier = group.policy === "soft-affinity" ? softWeights.affinity : -softWeights.antiAffinity;
  return [{ multiplier, weigh: ({ node }) => group.others.get(node.host) ?? 0 }];
}

interface Weighed {
  readonly host: HostState;
  readonly lot: number;
  weight: number;
}

/** Best first; among equals by lot. Each weigher's values are scaled to 0..1 over these hosts. */
export function weighHosts(
  hosts: readonly HostState[],
  preference: Preference,
  random: Random,
): Generator<HostState, void, void> {
  // Sorted by id, so that the same lot gives the same host whatever order Placement answered in.
  const weighed = hosts
    .toSorted((left, right) => left.node.id - right.node.id)
    .map((host): Weighed => ({ host, weight: 0, lot: random.next() }));
  for (const { multiplier, weigh } of [...WEIGHERS, ...groupWeighers(preference)]) {
    const values = new Float64Array(weighed.length);
    let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const [index, { host }] of weighed.entries()) {
      const value = weigh(host);
      values[index] = value;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    if (most <= least) {
      continue;
    }
    for (const [index, each] of weighed.entries()) {
      each.weight += (multiplier * ((values[index] ?? 0) - least)) / (most - least);
    }
  }
  return bestFirst(weighed);
}

/** More than a schedule has use for, unless many claims are lost at once. */
const FEW = 8;

/** In their order. The few that are asked for in general are found in one pass; only who asks for more has all of them sorted. */
function* bestFirst(weighed: Weighed[]): Generator<HostState, void, void> {
  const few: Weighed[] = [];
  for (const each of weighed) {
    const last = few[FEW - 1];
    if (last === undefined || comesBefore(each, last) < 0) {
      const at = few.findIndex((other) => comesBefore(each, other) < 0);
      few.splice(at < 0 ? few.length : at, 0, each);
      few.length = Math.min(few.length, FEW);
    }
  }
  for (const { host } of few) {
    yield host;
  }
  for (const { host } of weighed.sort(comesBefore).slice(few.length)) {
    yield host;
  }
}

function comesBefore(one: Weighed, other: Weighed): number {
  return other.weight - one.weight || one.lot - other.lot;
}

function free(amount: HostState["resources"][string] | undefined): number {
  return amount === undefined ? 0 : amount.capacity - amount.used;
}
