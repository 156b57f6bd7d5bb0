import type { Random } from "../../runtime/random.js";
import type { HostState } from "./host-state.js";

/** Multipliers as of Nova's `[filter_scheduler] *_weight_multiplier`. */
const WEIGHERS: readonly { readonly multiplier: number; readonly weigh: (host: HostState) => number }[] = [
  { multiplier: 1, weigh: ({ free }) => free.MEMORY_MB ?? 0 },
  { multiplier: 1, weigh: ({ free }) => free.VCPU ?? 0 },
  { multiplier: -1_000_000, weigh: ({ node }) => Number(node.stats.failed_builds ?? 0) },
];

/** Best first; among equals by lot. Each weigher's values are scaled to 0..1 over these hosts. */
export function weighHosts(hosts: readonly HostState[], random: Random): HostState[] {
  const weights = new Map(hosts.map((host) => [host, 0]));
  for (const { multiplier, weigh } of WEIGHERS) {
    const values = hosts.map(weigh);
    const least = Math.min(...values);
    const span = Math.max(...values) - least;
    if (span <= 0) {
      continue;
    }
    hosts.forEach((host, index) => {
      weights.set(host, (weights.get(host) ?? 0) + (multiplier * ((values[index] ?? 0) - least)) / span);
    });
  }
  // Sorts by id first, so that the same lot gives the same host whatever order Placement answered in.
  return hosts
    .toSorted((left, right) => left.node.id - right.node.id)
    .map((host) => ({ host, weight: weights.get(host) ?? 0, lot: random.next() }))
    .sort((left, right) => right.weight - left.weight || left.lot - right.lot)
    .map(({ host }) => host);
}
