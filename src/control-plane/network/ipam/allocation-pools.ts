import { pythonRepr } from "../../python/repr.js";
import { networkError } from "../engine/network-errors.js";
import { ADDRESS_BITS, formatAddress, type IpAddress, parseAddress } from "../ip/addresses.js";
import { formatNetwork, type IpNetwork, last } from "../ip/networks.js";
import { type IpRange, rangeOf, subtract } from "../ip/ranges.js";
import type { AllocationPool } from "../resources/subnets.js";

/** Converts validated pools to ranges. */
export function rangesOf(pools: readonly AllocationPool[]): readonly IpRange[] {
  return pools.map(({ start, end }) => ({
    first: parseAddress(start)?.value ?? 0n,
    last: parseAddress(end)?.value ?? -1n,
  }));
}

/** Returns the pools of a subnet that names none: all addresses that ports may have, but the gateway's. */
export function defaultPools(network: IpNetwork, gateway: IpAddress | undefined): readonly AllocationPool[] {
  const usable = usableRange(network);
  const holes = gateway?.version === network.version ? [{ first: gateway.value, last: gateway.value }] : [];
  return subtract([usable], network.prefix === ADDRESS_BITS[network.version] ? [] : holes).map((range) =>
    toPool(range, network.version),
  );
}

/** Returns the pools in the order of their addresses, in canonical form. */
export function sortPools(pools: readonly AllocationPool[]): readonly AllocationPool[] {
  const version = parseAddress(pools[0]?.start ?? "")?.version ?? 4;
  return [...rangesOf(pools)].sort((a, b) => (a.first < b.first ? -1 : 1)).map((range) => toPool(range, version));
}

/**
 * Checks the pools that a request names.
 * @throws {HttpError} 400 for one that leaves the subnet, 409 if two overlap
 */
export function validatePools(pools: readonly AllocationPool[], network: IpNetwork): void {
  const usable = usableRange(network);
  for (const pool of pools) {
    const [start, end] = [parseAddress(pool.start), parseAddress(pool.end)];
    if (start?.version === end?.version && start !== undefined && end !== undefined && start.value > end.value) {
      const text = pythonRepr({ start: pool.start, end: pool.end });
      throw networkError(400, "InvalidAllocationPool", `The allocation pool ${text} is not valid.`);
    }
    if (start?.version !== network.version || end?.version !== network.version) {
      throw networkError(400, "InvalidAllocationPool", `The allocation pool ${formatPool(pool)} is not valid.`);
    }
    if (start.value < usable.first || end.value > usable.last) {
      throw networkError(
        400,
        "OutOfBoundsAllocationPool",
        `The allocation pool ${formatPool(pool)} spans beyond the subnet cidr ${formatNetwork(network)}.`,
      );
    }
  }
  const ranges = rangesOf(pools);
  for (const [index, range] of ranges.entries()) {
    const other = ranges.findIndex(
      (second, position) => position > index && range.first <= second.last && second.first <= range.last,
    );
    const [pool, overlapping] = [pools[index], pools[other]];
    if (pool !== undefined && overlapping !== undefined) {
      throw networkError(
        409,
        "OverlappingAllocationPools",
        `Found overlapping allocation pools: ${formatPool(pool)} ${formatPool(overlapping)} for subnet ${formatNetwork(network)}.`,
      );
    }
  }
}

/** @throws {HttpError} 409 if a pool contains the gateway */
export function rejectGatewayInPools(gateway: string, pools: readonly AllocationPool[]): void {
  const address = parseAddress(gateway);
  const ranges = rangesOf(pools);
  const pool = pools.find((_, index) => {
    const range = ranges[index];
    return (
      address !== undefined &&
      range !== undefined &&
      parseAddress(pools[index]?.start ?? "")?.version === address.version &&
      range.first <= address.value &&
      address.value <= range.last
    );
  });
  if (pool !== undefined) {
    throw networkError(
      409,
      "GatewayConflictWithAllocationPools",
      `Gateway ip ${gateway} conflicts with allocation pool ${formatPool(pool)}.`,
    );
  }
}

/** Returns the addresses of a network that ports may have: IPv4 without network and broadcast address, IPv6 without the first. */
function usableRange(network: IpNetwork): IpRange {
  const { first } = network;
  const end = last(network);
  if (first === end || (network.version === 4 && network.prefix === 31)) {
    return rangeOf(network);
  }
  return { first: first + 1n, last: network.version === 4 ? end - 1n : end };
}

function toPool(range: IpRange, version: 4 | 6): AllocationPool {
  return {
    start: formatAddress({ version, value: range.first }),
    end: formatAddress({ version, value: range.last }),
  };
}

/** Formats as netaddr does. */
function formatPool({ start, end }: AllocationPool): string {
  return `${start}-${end}`;
}
