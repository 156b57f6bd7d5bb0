import { isConductorError } from "../../../conductor-client/errors.js";
import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import {
  addressKey,
  eui64Address,
  formatAddress,
  type IpAddress,
  isEui64Address,
  parseAddress,
} from "../ip/addresses.js";
import { PORTS } from "../resources/ports.js";
import type { SubnetRecord } from "../resources/subnets.js";
import { rangesOf } from "./allocation-pools.js";
import {
  type AddressedPort,
  eligibleSubnets,
  findCandidates,
  findSubnets,
  isAutoAddressSubnet,
  networkOfSubnet,
  type RequestedIp,
  ROUTER_INTERFACE_OWNERS,
  ROUTER_OWNERS_WITH_SNAT,
  subnetOf,
} from "./candidate-subnets.js";

export type { AddressedPort, RequestedIp };

/** An address of a port. */
export interface FixedIp {
  readonly [key: string]: string;
  readonly subnet_id: string;
  readonly ip_address: string;
}

/** An address to allocate: this one, or any of the first of these subnets that has a free one. */
interface Choice {
  readonly subnets: readonly SubnetRecord[];
  readonly address?: IpAddress;
}

/**
 * Allocates the addresses of a new port in the current transaction: explicit ones, those of named subnets, or one IPv4 and
 * one IPv6 address of the network's subnets; and one EUI-64 address of each SLAAC subnet. The port must exist.
 *
 * @param requested undefined: the service chooses; empty: only the EUI-64 addresses
 * @returns the addresses in the order in which Neutron lists them; none if the allocation is deferred
 * @throws {HttpError} Neutron's errors
 */
export function allocateAddresses(
  context: NetworkContext,
  port: AddressedPort,
  requested: readonly RequestedIp[] | undefined,
): readonly FixedIp[] {
  const candidates = findCandidates(context, port, requested);
  if (candidates === "deferred") {
    return [];
  }
  const choices = requested
    ? requested.flatMap((ip) => toChoices(context, port, ip, candidates))
    : chooseForEachVersion(candidates);
  return allocate(context, port, [...choices, ...chooseAutoAddresses(port, candidates)]);
}

/** Whether the addresses of a port wait for its host (`ip_allocation: deferred`), because the network is routed. */
export function isAllocationDeferred(
  context: NetworkContext,
  port: AddressedPort,
  requested: readonly RequestedIp[] | undefined,
): boolean {
  return requested === undefined && findCandidates(context, port, requested) === "deferred";
}

/**
 * Changes the addresses of a port in the current transaction. Addresses that are requested again stay, and so do EUI-64
 * addresses of SLAAC subnets; these follow the MAC address.
 *
 * @param port the port after the change
 * @param requested the new `fixed_ips`; undefined: only the MAC address has changed
 * @throws {HttpError} Neutron's errors
 */
export function changeAddresses(
  context: NetworkContext,
  port: AddressedPort,
  requested: readonly RequestedIp[] | undefined,
): readonly FixedIp[] {
  const subnets = new Map(findSubnets(context, port.network_id).map((subnet) => [subnet.id, subnet]));
  const current = fixedIpsOf(context, [port.id]).get(port.id) ?? [];
  const stale = current.filter((ip) => isStaleAutoAddress(port, ip, subnets.get(ip.subnet_id)));
  if (requested === undefined && stale.length === 0) {
    return current;
  }
  const isAuto = (ip: FixedIp): boolean => isAutomatic(port, subnets.get(ip.subnet_id));
  const remaining = current.filter((ip) => !stale.includes(ip));
  const changes = compare(remaining, requested ?? remaining, isAuto);
  const removed = [...stale, ...changes.removed];
  assertChangeable(port, [...changes.removed, ...changes.added], subnets);
  const found = findCandidates(context, port, [...changes.added, ...changes.remaining]);
  const candidates = found === "deferred" ? [] : found;
  const choices = changes.added
    .filter((ip) => !stale.some(({ ip_address: address }) => address === ip.ip_address))
    .flatMap((ip) => toChoices(context, port, ip, candidates));
  release(context, removed);
  const handled = new Set(
    [...changes.remaining, ...changes.removed].map(({ subnet_id: id }) => id).concat(idsOf(choices)),
  );
  const automatic = chooseAutoAddresses(port, candidates).filter(
    ({ subnets: [subnet] }) => !handled.has(subnet?.id ?? ""),
  );
  return sorted([...changes.remaining, ...allocate(context, port, [...choices, ...automatic])]);
}

/**
 * Allocates the deferred addresses of a port whose host is known now.
 * @throws {HttpError} 409 if the port has addresses that the new host cannot reach
 */
export function adaptAddressesToHost(
  context: NetworkContext,
  port: AddressedPort & { readonly ip_allocation: string | null },
): readonly FixedIp[] {
  const current = fixedIpsOf(context, [port.id]).get(port.id) ?? [];
  if (port.ip_allocation === "deferred" && current.length === 0) {
    return allocateAddresses(context, port, undefined);
  }
  if (current.length > 0) {
    const candidates = findCandidates(context, port, undefined);
    const reachable = new Set(candidates === "deferred" ? [] : candidates.map(({ id }) => id));
    if (current.some(({ subnet_id: id }) => !reachable.has(id))) {
      throw networkError(
        409,
        "HostNotCompatibleWithFixedIps",
        `Host ${port["binding:host_id"] ?? ""} is not connected to a segment where the existing fixed_ips on port ${port.id} will function given the routed network topology.`,
      );
    }
  }
  return current;
}

/** Releases all addresses of a port, before it is deleted. */
export function releaseAddresses(context: NetworkContext, portId: string): void {
  release(context, fixedIpsOf(context, [portId]).get(portId) ?? []);
}

/** Returns the addresses of ports by their ids, in the order in which Neutron lists them. */
export function fixedIpsOf(
  { sql }: NetworkContext,
  portIds: readonly string[],
): ReadonlyMap<string, readonly FixedIp[]> {
  const rows = sql.all(
    `SELECT port_id, subnet_id, address FROM network_ip_allocations
      WHERE port_id IN (SELECT value FROM json_each(?)) ORDER BY address, subnet_id`,
    JSON.stringify(portIds),
  );
  const addresses = new Map<string, FixedIp[]>();
  for (const [portId, subnetId, address] of rows) {
    const list = addresses.get(String(portId)) ?? [];
    list.push({ subnet_id: String(subnetId), ip_address: String(address) });
    addresses.set(String(portId), list);
  }
  return addresses;
}

/**
 * Adds the EUI-64 address of a new SLAAC subnet to the ports of its network.
 * @returns the ids of the changed ports
 */
export function addAutoAddresses(context: NetworkContext, subnet: SubnetRecord): readonly string[] {
  const subnets = findSubnets(context, subnet.network_id);
  const ports: readonly AddressedPort[] = context.table(PORTS).find(where`network_id = ${subnet.network_id}`);
  const addresses = fixedIpsOf(
    context,
    ports.map(({ id }) => id),
  );
  return ports
    .filter((port) => {
      const [choice] = chooseAutoAddresses(port, [subnet]);
      const isEligible = () =>
        eligibleSubnets(context, port, addresses.get(port.id) ?? [], subnets).some(({ id }) => id === subnet.id);
      return choice?.address !== undefined && isEligible() && store(context, port, subnet, choice.address);
    })
    .map(({ id }) => id);
}

function toChoices(
  context: NetworkContext,
  port: AddressedPort,
  ip: RequestedIp,
  candidates: readonly SubnetRecord[],
): readonly Choice[] {
  const subnet = subnetOf(context, port, ip, candidates);
  const isAuto = isAutoAddressSubnet(subnet);
  const address = ip.ip_address === undefined ? undefined : parseAddress(ip.ip_address);
  if (address === undefined) {
    // All SLAAC subnets give an address anyway, whether named or not.
    return isAuto && !ROUTER_OWNERS_WITH_SNAT.includes(port.device_owner) ? [] : [{ subnets: [subnet] }];
  }
  if (isAuto && !ROUTER_INTERFACE_OWNERS.includes(port.device_owner)) {
    throw networkError(
      400,
      "AllocationOnAutoAddressSubnet",
      `IPv6 address ${ip.ip_address} cannot be directly assigned to a port on subnet ${subnet.id} as the subnet is configured for automatic addresses`,
    );
  }
  return [{ subnets: [subnet], address }];
}

function chooseForEachVersion(candidates: readonly SubnetRecord[]): readonly Choice[] {
  return [4, 6].flatMap((version) => {
    const subnets = candidates.filter((subnet) => subnet.ip_version === version && !isAutoAddressSubnet(subnet));
    return subnets.length > 0 ? [{ subnets }] : [];
  });
}

function chooseAutoAddresses(port: AddressedPort, candidates: readonly SubnetRecord[]): readonly Choice[] {
  if (ROUTER_OWNERS_WITH_SNAT.includes(port.device_owner)) {
    return [];
  }
  return candidates
    .filter(isAutoAddressSubnet)
    .map((subnet) => ({ subnets: [subnet], address: autoAddress(port, subnet) }));
}

/** Allocates explicit addresses first: one of them may be the next of those that are chosen freely. */
function allocate(context: NetworkContext, port: AddressedPort, choices: readonly Choice[]): readonly FixedIp[] {
  const explicit = choices.filter(({ address }) => address !== undefined);
  const free = choices.filter(({ address }) => address === undefined);
  return sorted([...explicit, ...free].map((choice) => allocateOne(context, port, choice)));
}

function allocateOne(context: NetworkContext, port: AddressedPort, { subnets, address }: Choice): FixedIp {
  const [first] = subnets;
  if (address !== undefined && first !== undefined) {
    if (!store(context, port, first, address)) {
      throw networkError(
        409,
        "IpAddressAlreadyAllocated",
        `IP address ${formatAddress(address)} already allocated in subnet ${first.id}`,
      );
    }
    return { subnet_id: first.id, ip_address: formatAddress(address) };
  }
  for (const subnet of subnets) {
    const chosen = allocateFrom(context, port, subnet);
    if (chosen !== undefined) {
      return { subnet_id: subnet.id, ip_address: formatAddress(chosen) };
    }
  }
  throw networkError(
    409,
    "IpAddressGenerationFailure",
    `No more IP addresses available on network ${port.network_id}.`,
  );
}

function allocateFrom(context: NetworkContext, port: AddressedPort, subnet: SubnetRecord): IpAddress | undefined {
  const { freeAddresses } = context.services;
  const version = subnet.ip_version === 4 ? 4 : 6;
  for (;;) {
    const value = freeAddresses.next(subnet.id, () => rangesOf(subnet.allocation_pools ?? []));
    if (value === undefined) {
      return undefined;
    }
    const address: IpAddress = { version, value };
    if (store(context, port, subnet, address)) {
      return address;
    }
    // The table is right, the index in memory is not.
    freeAddresses.take(subnet.id, address);
  }
}

/** Stores an allocation. Returns false if another port has the address. */
function store(context: NetworkContext, port: AddressedPort, subnet: SubnetRecord, address: IpAddress): boolean {
  try {
    context.sql.execute(
      "INSERT INTO network_ip_allocations (port_id, subnet_id, network_id, address, address_key) VALUES (?, ?, ?, ?, ?)",
      port.id,
      subnet.id,
      port.network_id,
      formatAddress(address),
      addressKey(address),
    );
  } catch (error) {
    if (isConductorError(error, "DuplicateRecord")) {
      return false;
    }
    throw error;
  }
  context.services.freeAddresses.take(subnet.id, address);
  return true;
}

function release({ sql, services }: NetworkContext, fixedIps: readonly FixedIp[]): void {
  for (const { subnet_id: subnetId, ip_address: text } of fixedIps) {
    const address = parseAddress(text);
    if (address !== undefined) {
      sql.execute(
        "DELETE FROM network_ip_allocations WHERE subnet_id = ? AND address_key = ?",
        subnetId,
        addressKey(address),
      );
      services.freeAddresses.release(subnetId, address);
    }
  }
}

interface Changes {
  readonly added: readonly RequestedIp[];
  readonly remaining: readonly FixedIp[];
  readonly removed: readonly FixedIp[];
}

/** Compares addresses with the requested ones. A request for a subnet keeps an address of it. */
function compare(
  current: readonly FixedIp[],
  requested: readonly RequestedIp[],
  isAuto: (ip: FixedIp) => boolean,
): Changes {
  const unclaimed = new Set(current);
  const remaining: FixedIp[] = [];
  const added: RequestedIp[] = [];
  const claim = (ip: RequestedIp, candidate: FixedIp | undefined): void => {
    if (candidate === undefined) {
      added.push(ip);
    } else {
      unclaimed.delete(candidate);
      remaining.push(candidate);
    }
  };
  for (const ip of requested.filter(({ ip_address: address }) => address !== undefined)) {
    claim(
      ip,
      [...unclaimed].find(({ ip_address: address }) => address === ip.ip_address),
    );
  }
  for (const ip of requested.filter(({ ip_address: address }) => address === undefined)) {
    claim(
      ip,
      [...unclaimed].findLast(({ subnet_id: id }) => id === ip.subnet_id),
    );
  }
  remaining.push(...[...unclaimed].filter(isAuto));
  return { added, remaining, removed: [...unclaimed].filter((ip) => !isAuto(ip)) };
}

/** Whether the port has an address of this subnet without a request for one. */
function isAutomatic({ device_owner: owner }: AddressedPort, subnet: SubnetRecord | undefined): boolean {
  return subnet !== undefined && isAutoAddressSubnet(subnet) && !ROUTER_OWNERS_WITH_SNAT.includes(owner);
}

/** Whether the address was derived from another MAC address than the port's. */
function isStaleAutoAddress(port: AddressedPort, ip: FixedIp, subnet: SubnetRecord | undefined): boolean {
  const address = parseAddress(ip.ip_address);
  return (
    subnet !== undefined &&
    address !== undefined &&
    isAutomatic(port, subnet) &&
    isEui64Address(address) &&
    autoAddress(port, subnet).value !== address.value
  );
}

function autoAddress({ mac_address: mac }: AddressedPort, subnet: SubnetRecord): IpAddress {
  return eui64Address(networkOfSubnet(subnet), mac ?? "");
}

/** Interfaces of routers, whose IPv4 addresses do not change. */
const FIXED_IPV4_OWNERS: readonly string[] = [...ROUTER_OWNERS_WITH_SNAT, "network:router_ha_interface"];

/** @throws {HttpError} 400 */
function assertChangeable(
  { id, device_owner: owner }: AddressedPort,
  changed: readonly RequestedIp[],
  subnets: ReadonlyMap<string, SubnetRecord>,
): void {
  const isIpv4 = ({ subnet_id: subnetId, ip_address: address }: RequestedIp): boolean =>
    address === undefined ? subnets.get(subnetId ?? "")?.ip_version === 4 : parseAddress(address)?.version === 4;
  if (FIXED_IPV4_OWNERS.includes(owner) && changed.some(isIpv4)) {
    throw networkError(400, "IPAddressChangeNotAllowed", `IP updates for port ${id} are not allowed`);
  }
}

function idsOf(choices: readonly Choice[]): readonly string[] {
  return choices.flatMap(({ subnets }) => subnets.map(({ id }) => id));
}

function sorted(fixedIps: readonly FixedIp[]): readonly FixedIp[] {
  return [...fixedIps].sort((a, b) =>
    a.ip_address === b.ip_address ? compareText(a.subnet_id, b.subnet_id) : compareText(a.ip_address, b.ip_address),
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
