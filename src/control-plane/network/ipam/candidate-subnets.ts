import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { invalidOperation, networkError } from "../engine/network-errors.js";
import { type IpAddress, parseAddress } from "../ip/addresses.js";
import { contains, type IpNetwork, isBroadcast, isNetworkAddress, parseNetwork } from "../ip/networks.js";
import { SUBNETS, type SubnetRecord } from "../resources/subnets.js";
import { segmentsOfHost } from "./host-segments.js";

/** Device owners of the interfaces of routers, without their gateways. */
export const ROUTER_INTERFACE_OWNERS: readonly string[] = [
  "network:router_interface",
  "network:ha_router_replicated_interface",
  "network:router_interface_distributed",
];

/** The same, with the interfaces for source NAT of distributed routers. They never get SLAAC addresses by themselves. */
export const ROUTER_OWNERS_WITH_SNAT: readonly string[] = [
  ...ROUTER_INTERFACE_OWNERS,
  "network:router_centralized_snat",
];

/** Owners that may have the network address of an IPv6 subnet, which is the anycast address of its routers. */
const ANYCAST_OWNERS: readonly string[] = [...ROUTER_OWNERS_WITH_SNAT, "network:router_gateway", ""];

const DHCP_OWNER = "network:dhcp";

/** A port, as far as its addresses depend on it. Records of ports fit. */
export interface AddressedPort {
  readonly id: string;
  readonly network_id: string;
  readonly mac_address: string | null;
  readonly device_owner: string;
  readonly device_id?: string;
  readonly "binding:host_id"?: string | null;
}

/** An address as a request names it: the address, the subnet, or both. */
export interface RequestedIp {
  readonly subnet_id?: string;
  readonly ip_address?: string;
}

export function findSubnets(context: NetworkContext, networkId: string): readonly SubnetRecord[] {
  return context.table(SUBNETS).find(where`network_id = ${networkId}`);
}

export function networkOfSubnet({ id, cidr }: Pick<SubnetRecord, "id" | "cidr">): IpNetwork {
  const network = parseNetwork(cidr ?? "");
  if (network === undefined) {
    throw new Error(`subnet ${id}: '${cidr}' is no CIDR`);
  }
  return network;
}

/** Whether hosts compute their addresses themselves: SLAAC and stateless DHCPv6. */
export function isAutoAddressSubnet({
  ipv6_address_mode: addressMode,
  ipv6_ra_mode: raMode,
}: Pick<SubnetRecord, "ipv6_address_mode" | "ipv6_ra_mode">): boolean {
  return [addressMode, raMode].some((mode) => mode === "slaac" || mode === "dhcpv6-stateless");
}

/** Whether a port of this owner may have the address in the subnet. */
function isValidAddress(network: IpNetwork, address: IpAddress, deviceOwner: string): boolean {
  if (!contains(network, address)) {
    return false;
  }
  return network.version === 6
    ? ANYCAST_OWNERS.includes(deviceOwner) || !isNetworkAddress(network, address)
    : !isNetworkAddress(network, address) && !isBroadcast(network, address);
}

/**
 * The subnets of a network from which a port may get addresses; `deferred` if they depend on a host that is not known yet.
 * Those for the port's kind of service come first.
 * @param requested undefined: the service chooses
 * @throws {HttpError} Neutron's errors if no subnet fits
 */
export function findCandidates(
  context: NetworkContext,
  port: AddressedPort,
  requested: readonly RequestedIp[] | undefined,
): readonly SubnetRecord[] | "deferred" {
  const all = findSubnets(context, port.network_id);
  const candidates = eligibleSubnets(context, port, requested, all);
  if (candidates.length > 0 || all.length === 0) {
    const isForService = ({ service_types: types }: SubnetRecord) => (types ?? []).length > 0;
    return candidates.length < 2
      ? candidates
      : [...candidates.filter(isForService), ...candidates.filter((subnet) => !isForService(subnet))];
  }
  const host = port["binding:host_id"] ?? "";
  if (host !== "" && isRouted(all)) {
    throw networkError(
      409,
      "HostNotConnectedToAnySegment",
      `Host ${host} is not connected to any segments on routed provider network '${port.network_id}'.  It should be connected to one.`,
    );
  }
  if (all.some((subnet) => servesOwner(subnet, port.device_owner))) {
    return "deferred";
  }
  throw networkError(
    409,
    "IpAddressGenerationFailureNoMatchingSubnet",
    `No valid service subnet for the given device owner, network ${port.network_id}, service type ${port.device_owner}.`,
  );
}

/** Returns those of a network's subnets from which a port may get addresses. @throws {HttpError} 400, 409 */
export function eligibleSubnets(
  context: NetworkContext,
  port: AddressedPort,
  requested: readonly RequestedIp[] | undefined,
  all: readonly SubnetRecord[],
): readonly SubnetRecord[] {
  const forService = all.filter((subnet) => servesOwner(subnet, port.device_owner));
  return isRouted(all) ? restrictToSegments(context, port, forService, requested) : forService;
}

function isRouted(subnets: readonly SubnetRecord[]): boolean {
  return subnets.some(({ segment_id: segment }) => segment !== null);
}

function servesOwner({ service_types: types, enable_dhcp: dhcp }: SubnetRecord, owner: string): boolean {
  return (types ?? []).length === 0 || (types ?? []).includes(owner) || (dhcp === true && owner === DHCP_OWNER);
}

function restrictToSegments(
  context: NetworkContext,
  port: AddressedPort,
  subnets: readonly SubnetRecord[],
  requested: readonly RequestedIp[] | undefined,
): readonly SubnetRecord[] {
  const host = port["binding:host_id"] ?? "";
  if (host === "") {
    return requested === undefined
      ? subnets.filter(({ segment_id: segment }) => segment === null)
      : restrictToSegmentOf(subnets, requested);
  }
  const reachable = segmentsOfHost(context, port.network_id, host);
  const candidates = subnets.filter(({ segment_id: segment }) => segment === null || reachable.has(segment));
  const segments = new Set(candidates.flatMap(({ segment_id: segment }) => segment ?? []));
  if (segments.size > 1) {
    throw networkError(
      409,
      "HostConnectedToMultipleSegments",
      `Host ${host} is connected to multiple segments on routed provider network '${port.network_id}'.  It should be connected to one.`,
    );
  }
  return candidates;
}

/** Returns the subnets of the segment that has the requested addresses. */
function restrictToSegmentOf(
  subnets: readonly SubnetRecord[],
  requested: readonly RequestedIp[],
): readonly SubnetRecord[] {
  const chosen = requested.map(({ subnet_id: id, ip_address: address }) =>
    subnets.find((subnet) =>
      id === undefined ? isAddressIn(networkOfSubnet(subnet), address ?? "") : subnet.id === id,
    ),
  );
  // An unknown subnet or address is rejected when it is allocated.
  if (chosen.includes(undefined)) {
    return subnets;
  }
  const segments = new Set(chosen.map((subnet) => subnet?.segment_id ?? null));
  if (segments.size > 1) {
    throw networkError(400, "FixedIpsSubnetsNotOnSameSegment", "Cannot allocate addresses from different segments.");
  }
  const [segment = null] = segments;
  return subnets.filter(({ segment_id: own }) => own === segment);
}

function isAddressIn(network: IpNetwork, text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && contains(network, address);
}

/** Finds the subnet of a requested address among the candidates. @throws {HttpError} 400, 404 */
export function subnetOf(
  context: NetworkContext,
  port: AddressedPort,
  { subnet_id: subnetId, ip_address: text }: RequestedIp,
  candidates: readonly SubnetRecord[],
): SubnetRecord {
  if (candidates.length === 0) {
    throw invalidOperation("IP allocation requires subnets for network");
  }
  const address = text === undefined ? undefined : parseAddress(text);
  const isValidIn = (subnet: SubnetRecord): boolean =>
    address !== undefined && isValidAddress(networkOfSubnet(subnet), address, port.device_owner);
  if (subnetId !== undefined) {
    const subnet = candidates.find(({ id }) => id === subnetId);
    if (subnet === undefined) {
      throw rejectSubnet(context, port, subnetId);
    }
    if (text !== undefined && !isValidIn(subnet)) {
      throw networkError(400, "InvalidIpForSubnet", `IP address ${text} is not a valid IP for the specified subnet.`);
    }
    return subnet;
  }
  if (text === undefined) {
    throw invalidOperation("IP allocation requires subnet_id or ip_address");
  }
  const subnet = candidates.find(isValidIn);
  if (subnet === undefined) {
    throw networkError(
      400,
      "InvalidIpForNetwork",
      `IP address ${text} is not a valid IP for any of the subnets on the specified network.`,
    );
  }
  return subnet;
}

function rejectSubnet(context: NetworkContext, port: AddressedPort, subnetId: string): Error {
  return context.table(SUBNETS).has(where`id = ${subnetId}`)
    ? invalidOperation(
        `Failed to create port on network ${port.network_id}, because fixed_ips included invalid subnet ${subnetId}`,
      )
    : networkError(404, "SubnetNotFound", `Subnet ${subnetId} could not be found.`);
}
