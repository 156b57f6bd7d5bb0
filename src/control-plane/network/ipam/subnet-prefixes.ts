import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import type { NetworkRecord } from "../engine/network-resource.js";
import { findRecord } from "../engine/records.js";
import { formatAddress, type IpAddress, parseAddress } from "../ip/addresses.js";
import { formatNetwork, type IpNetwork, networkOf, parseNetwork, spans } from "../ip/networks.js";
import { firstFreeNetwork, rangeOf, subtract, summarize, union } from "../ip/ranges.js";
import { SUBNETPOOLS } from "../resources/subnet-pools.js";
import { type AllocationPool, SUBNETS } from "../resources/subnets.js";
import { defaultPools, rejectGatewayInPools, sortPools, validatePools } from "./allocation-pools.js";
import { badSubnet, isForbiddenGateway, type SubnetInput, versionOf } from "./subnet-rules.js";

type SubnetPool = NetworkRecord<typeof SUBNETPOOLS>;

/** The addresses of a new subnet. */
export interface SubnetAddresses {
  readonly network: IpNetwork;
  readonly gateway: IpAddress | undefined;
  readonly pools: readonly AllocationPool[];
}

/** Chooses gateway and pools of a subnet with a known network. @throws {HttpError} 400, 409 */
export function chooseAddresses(input: SubnetInput, network: IpNetwork): SubnetAddresses {
  const gateway = input.gateway_ip === undefined ? defaultGateway(network) : parseAddress(input.gateway_ip ?? "");
  const requested = input.allocation_pools ?? [];
  validatePools(requested, network);
  const text = gateway && formatAddress(gateway);
  if (text !== undefined) {
    rejectGatewayInPools(text, requested);
  }
  assertGatewayAllocatable(network, text);
  const pools = requested.length > 0 ? sortPools(requested) : defaultPools(network, gateway);
  return { network, gateway, pools };
}

/** Allocates the network of a subnet from a pool. @param network the requested one @throws {HttpError} 400, 404, 409, 500 */
export function allocateFromPool(
  context: NetworkContext,
  poolId: string,
  input: SubnetInput,
  network: IpNetwork | undefined,
): SubnetAddresses {
  const pool = findRecord(context, SUBNETPOOLS, poolId);
  const version = versionOf(input);
  if (pool.ip_version !== version) {
    throw badSubnet(`Cannot allocate IPv${version} subnet from IPv${pool.ip_version} subnet pool`);
  }
  const prefix = network?.prefix ?? input.prefixlen ?? pool.default_prefixlen;
  const gateway = network === undefined ? parseAddress(input.gateway_ip ?? "") : undefined;
  const specific = network ?? (gateway && networkOf(gateway, prefix));
  const requested = network && chooseAddresses(input, network);
  if (specific !== undefined && gateway !== undefined) {
    assertGatewayAllocatable(specific, formatAddress(gateway));
  }
  assertPrefixAllowed(pool, prefix);
  assertWithinPoolQuota(context, pool, prefix);
  if (specific === undefined) {
    const chosen = chooseNetwork(context, pool, prefix);
    const first: IpAddress = { version: chosen.version, value: chosen.first + 1n };
    return { network: chosen, gateway: first, pools: defaultPools(chosen, first) };
  }
  assertFree(context, pool, specific);
  return requested ?? { network: specific, gateway, pools: defaultPools(specific, gateway) };
}

/** Returns the networks of the subnets that were allocated from a pool. */
function allocatedNetworks(context: NetworkContext, poolId: string): readonly IpNetwork[] {
  return cidrsOf(context.table(SUBNETS).find(where`subnetpool_id = ${poolId}`));
}

export function cidrsOf(subnets: readonly Pick<NetworkRecord<typeof SUBNETS>, "cidr">[]): readonly IpNetwork[] {
  return subnets.flatMap(({ cidr }) => parseNetwork(cidr ?? "") ?? []);
}

export function prefixesOf({ prefixes }: Pick<SubnetPool, "prefixes">): readonly IpNetwork[] {
  return prefixes.flatMap((prefix) => parseNetwork(prefix) ?? []);
}

/** IPv4 routers have the first address that hosts may have, IPv6 routers the anycast address of the subnet. */
function defaultGateway({ version, first }: IpNetwork): IpAddress {
  return { version, value: version === 4 ? first + 1n : first };
}

function assertGatewayAllocatable(network: IpNetwork, gateway: string | undefined): void {
  if (gateway !== undefined && isForbiddenGateway(network, gateway)) {
    throw networkError(
      409,
      "IpamValueInvalid",
      `Gateway IP ${gateway} cannot be allocated in CIDR ${formatNetwork(network)}`,
    );
  }
}

function assertPrefixAllowed({ min_prefixlen: min, max_prefixlen: max }: SubnetPool, prefix: number): void {
  if (prefix > max) {
    throw networkError(
      400,
      "MaxPrefixSubnetAllocationError",
      `Unable to allocate subnet with prefix length ${prefix}, maximum allowed prefix is ${max}.`,
    );
  }
  if (prefix < min) {
    throw networkError(
      400,
      "MinPrefixSubnetAllocationError",
      `Unable to allocate subnet with prefix length ${prefix}, minimum allowed prefix is ${min}.`,
    );
  }
}

/** The quota counts IPv4 addresses, or IPv6 networks of /64, of the subnets that the pool's own project has in it. */
function assertWithinPoolQuota(context: NetworkContext, pool: SubnetPool, prefix: number): void {
  const quota = pool.default_quota;
  if (!quota) {
    return;
  }
  const unit = pool.ip_version === 4 ? 32 : 64;
  const own = context.table(SUBNETS).find(where`subnetpool_id = ${pool.id} AND project_id = ${pool.project_id}`);
  const used = cidrsOf(own).reduce((sum, network) => sum + 2 ** (unit - network.prefix), 0);
  if (used + 2 ** (unit - prefix) > quota) {
    throw networkError(409, "SubnetPoolQuotaExceeded", "Per-tenant subnet pool prefix quota exceeded.");
  }
}

function chooseNetwork(context: NetworkContext, pool: SubnetPool, prefix: number): IpNetwork {
  const chosen = firstFreeNetwork(prefixesOf(pool), allocatedNetworks(context, pool.id), prefix);
  if (chosen === undefined) {
    throw allocationError(`Insufficient prefix space to allocate subnet size /${prefix}`);
  }
  return chosen;
}

function assertFree(context: NetworkContext, pool: SubnetPool, network: IpNetwork): void {
  const free = subtract(union(prefixesOf(pool).map(rangeOf)), union(allocatedNetworks(context, pool.id).map(rangeOf)));
  const isFree = free
    .flatMap((range) => summarize(range, network.version))
    .some((candidate) => spans(candidate, network));
  if (!isFree) {
    throw allocationError("Cannot allocate requested subnet from the available set of prefixes");
  }
}

function allocationError(reason: string): Error {
  return networkError(500, "SubnetAllocationError", `Failed to allocate subnet: ${reason}.`);
}
