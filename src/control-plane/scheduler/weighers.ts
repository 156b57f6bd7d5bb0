import type { Random } from "../../runtime/cryptography.js";
import type { GroupState } from "./group-placements.js";
import { failedBuilds, freeDiskGb, ioOperations } from "./host-requirements.js";
import type { HostState, Multipliers } from "./host-state.js";

/** Options `[filter_scheduler] *_weight_multiplier`. An aggregate's metadata overrides them for its hosts. */
export interface WeightMultipliers {
  readonly ram: number;
  readonly cpu: number;
  readonly disk: number;
  readonly ioOps: number;
  readonly softAffinity: number;
  readonly softAntiAffinity: number;
  readonly buildFailure: number;
}

interface Weigher {
  readonly option: keyof WeightMultipliers;
  /** Metadata key of an aggregate that overrides the multiplier. */
  readonly key: string;
  /** -1 where Nova negates the multiplier. */
  readonly sign?: -1;
  readonly weigh: (host: HostState) => number;
  /** Values are scaled from zero to the maximum; otherwise from the minimum. */
  readonly fromZero?: true;
}

const WEIGHERS: readonly Weigher[] = [
  { option: "ram", key: "ram_weight_multiplier", weigh: ({ resources }) => free(resources.MEMORY_MB), fromZero: true },
  { option: "cpu", key: "cpu_weight_multiplier", weigh: ({ resources }) => free(resources.VCPU), fromZero: true },
  {
    option: "disk",
    key: "disk_weight_multiplier",
    // Disk of a sharing provider is not in the root's inventory.
    weigh: ({ node, resources }) => (resources.DISK_GB === undefined ? freeDiskGb(node) : free(resources.DISK_GB)),
    fromZero: true,
  },
  { option: "ioOps", key: "io_ops_weight_multiplier", weigh: ({ node }) => ioOperations(node), fromZero: true },
  { option: "buildFailure", key: "build_failure_weight_multiplier", sign: -1, weigh: ({ node }) => failedBuilds(node) },
];

interface Preference {
  /** Null if the server is in no group. */
  readonly group: GroupState | null;
  readonly multipliers: WeightMultipliers;
  readonly ofAggregates: ReadonlyMap<string, Multipliers>;
}

/** Returns weighers for soft policies; the other policies are filters. */
function groupWeighers(group: GroupState | null): readonly Weigher[] {
  if (group?.policy !== "soft-affinity" && group?.policy !== "soft-anti-affinity") {
    return [];
  }
  const weigh: Weigher["weigh"] = ({ node }) => group.others.get(node.host) ?? 0;
  return group.policy === "soft-affinity"
    ? [{ option: "softAffinity", key: "soft_affinity_weight_multiplier", weigh }]
    : [{ option: "softAntiAffinity", key: "soft_anti_affinity_weight_multiplier", sign: -1, weigh }];
}

interface Weighed {
  readonly host: HostState;
  readonly lot: number;
  weight: number;
}

/**
 * Returns the hosts, best first; hosts with equal weights are in random order. Each weigher's values are scaled to 0..1
 * over these hosts.
 */
export function weighHosts(hosts: readonly HostState[], preference: Preference, random: Random): readonly HostState[] {
  // Sorted by id, so that equal random numbers select the same host regardless of Placement's order.
  const weighed = hosts
    .toSorted((left, right) => left.node.id - right.node.id)
    .map((host): Weighed => ({ host, weight: 0, lot: random.next() }));
  const { group, multipliers, ofAggregates } = preference;
  for (const weigher of [...WEIGHERS, ...groupWeighers(group)]) {
    const values = new Float64Array(weighed.length);
    let [least, most] = weigher.fromZero ? [0, 0] : [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const [index, { host }] of weighed.entries()) {
      const value = weigher.fromZero ? Math.max(0, weigher.weigh(host)) : weigher.weigh(host);
      values[index] = value;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    if (most <= least) {
      continue;
    }
    const configured = multipliers[weigher.option];
    for (const [index, each] of weighed.entries()) {
      const own = ofAggregates.get(each.host.node.host)?.[weigher.key] ?? configured;
      const multiplier = (weigher.sign ?? 1) * (Number.isNaN(own) ? configured : own);
      each.weight += (multiplier * ((values[index] ?? 0) - least)) / (most - least);
    }
  }
  return weighed.sort(comesBefore).map(({ host }) => host);
}

function comesBefore(one: Weighed, other: Weighed): number {
  return other.weight - one.weight || one.lot - other.lot;
}

function free(amount: HostState["resources"][string] | undefined): number {
  return amount === undefined ? 0 : amount.capacity - amount.used;
}
