import { ADDRESS_BITS } from "./addresses.js";
import { type IpNetwork, last, networkOf, size as sizeOfNetwork } from "./networks.js";

/** The addresses from `first` to `last`, both included. */
export interface IpRange {
  readonly first: bigint;
  readonly last: bigint;
}

/** A set of addresses of one IP version: sorted ranges that neither overlap nor touch. */
export type IpRangeSet = readonly IpRange[];

/** Returns the set of all addresses of the ranges, which may be in any order and overlap. */
export function union(ranges: Iterable<IpRange>): IpRangeSet {
  const sorted = [...ranges].sort((a, b) => (a.first < b.first ? -1 : Number(a.first > b.first)));
  const merged: IpRange[] = [];
  for (const range of sorted) {
    const previous = merged.at(-1);
    if (previous === undefined || range.first > previous.last + 1n) {
      merged.push({ first: range.first, last: range.last });
    } else if (range.last > previous.last) {
      merged[merged.length - 1] = { first: previous.first, last: range.last };
    }
  }
  return merged;
}

/** Returns the addresses of `set` that are not in `removed`. */
export function subtract(set: IpRangeSet, removed: IpRangeSet): IpRangeSet {
  const remaining: IpRange[] = [];
  let index = 0;
  for (const range of set) {
    let first = range.first;
    for (let hole = removed[index]; hole !== undefined && hole.first <= range.last; hole = removed[index]) {
      if (hole.first > first) {
        remaining.push({ first, last: hole.first - 1n });
      }
      if (hole.last >= first) {
        first = hole.last + 1n;
      }
      if (hole.last > range.last) {
        break;
      }
      index += 1;
    }
    if (first <= range.last) {
      remaining.push({ first, last: range.last });
    }
  }
  return remaining;
}

/** Returns the addresses that are in both sets. */
export function intersect(a: IpRangeSet, b: IpRangeSet): IpRangeSet {
  return subtract(a, subtract(a, b));
}

/** Returns the number of addresses. */
export function size(set: IpRangeSet): bigint {
  return set.reduce((sum, range) => sum + range.last - range.first + 1n, 0n);
}

/** Returns the addresses of a network as a range. */
export function rangeOf(network: IpNetwork): IpRange {
  return { first: network.first, last: last(network) };
}

/** Returns the fewest networks that have exactly the addresses of the range, in ascending order. */
export function summarize(range: IpRange, version: 4 | 6): readonly IpNetwork[] {
  const networks: IpNetwork[] = [];
  let value = range.first;
  while (value <= range.last) {
    const network = findLargestNetwork(value, range.last, version);
    networks.push(network);
    value += sizeOfNetwork(network);
  }
  return networks;
}

/**
 * Chooses a network of `prefix` from a subnet pool as Neutron does: from the smallest free network that is large
 * enough, the lowest of them if there are several. Returns undefined if none is large enough.
 */
export function firstFreeNetwork(
  poolPrefixes: readonly IpNetwork[],
  allocated: Iterable<IpNetwork>,
  prefix: number,
): IpNetwork | undefined {
  const version = poolPrefixes[0]?.version;
  if (version === undefined) {
    return undefined;
  }
  const used = [...allocated].filter((network) => network.version === version);
  const free = subtract(union(poolPrefixes.map(rangeOf)), union(used.map(rangeOf)));
  const [smallest] = free
    .flatMap((range) => summarize(range, version))
    .filter((network) => network.prefix <= prefix)
    .sort((a, b) => b.prefix - a.prefix);
  return smallest && { version, first: smallest.first, prefix };
}

/** Finds the largest network that begins at `first` and ends at `end` or before. */
function findLargestNetwork(first: bigint, end: bigint, version: 4 | 6): IpNetwork {
  const bits = ADDRESS_BITS[version];
  const fittingBits = (end - first + 1n).toString(2).length - 1;
  const network = { version, first, prefix: bits - fittingBits };
  return first === networkOf({ version, value: first }, network.prefix).first
    ? network
    : { ...network, prefix: bits - countTrailingZeros(first) };
}

function countTrailingZeros(value: bigint): number {
  return (value & -value).toString(2).length - 1;
}
