import type { NetworkContext } from "../engine/network-context.js";
import { badResource, invalidOperation, networkError } from "../engine/network-errors.js";
import type { NetworkInput } from "../engine/network-resource.js";
import { isLoopback, isMulticast, parseAddress } from "../ip/addresses.js";
import { contains, formatNetwork, type IpNetwork, isNetworkAddress, last, parseNetwork } from "../ip/networks.js";
import type { SUBNETS, SubnetRecord } from "../resources/subnets.js";
import { isAutoAddressSubnet, networkOfSubnet, ROUTER_INTERFACE_OWNERS } from "./candidate-subnets.js";

export type SubnetInput = NetworkInput<typeof SUBNETS>;

/** Neutron's `max_dns_nameservers`. */
const MAX_NAMESERVERS = 5;

/** Neutron's `max_subnet_host_routes`. */
const MAX_HOST_ROUTES = 20;

/** The network of subnets whose prefix a router will get by delegation. */
export const PROVISIONAL_PREFIX = "::/64";

/** The longest prefixes of networks in which DHCP works. */
const MAX_DHCP_PREFIX = { 4: 30, 6: 126 } as const;

/** Checks the attributes of a new subnet that names its CIDR, in Neutron's order. @throws {HttpError} 400 */
export function validateNewSubnet(input: SubnetInput, network: IpNetwork): void {
  const version = versionOf(input);
  assertVersion(version, formatNetwork(network), "cidr");
  validateCommon(input, version, network, "new subnet", () => {});
  const modes = [input.ipv6_ra_mode, input.ipv6_address_mode];
  if (version === 4) {
    for (const name of ["ipv6_ra_mode", "ipv6_address_mode"] as const) {
      if (input[name]) {
        throw invalidOperation(`${name} is not valid when ip_version is 4`);
      }
    }
    return;
  }
  const [raMode, addressMode] = modes;
  if ((raMode || addressMode) && !input.enable_dhcp) {
    throw invalidOperation("ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False");
  }
  if (raMode && addressMode && raMode !== addressMode) {
    throw invalidOperation(
      `ipv6_ra_mode set to '${raMode}' with ipv6_address_mode set to '${addressMode}' is not valid. If both attributes are set, they must be the same value`,
    );
  }
  if (
    isAutoAddressSubnet({ ipv6_ra_mode: raMode ?? null, ipv6_address_mode: addressMode ?? null }) &&
    network.prefix !== 64
  ) {
    throw invalidOperation(
      `Invalid CIDR ${formatNetwork(network)} for IPv6 address mode. OpenStack uses the EUI-64 address format, which requires the prefix to be /64`,
    );
  }
}

/** Checks a subnet whose prefix will be delegated. @throws {HttpError} 400 */
export function validateDelegatedSubnet({
  ip_version,
  ipv6_ra_mode: raMode,
  ipv6_address_mode: addressMode,
}: SubnetInput): void {
  const isAuto = (mode: string | null | undefined) => mode === "slaac" || mode === "dhcpv6-stateless";
  if (ip_version !== 6) {
    throw badSubnet("Prefix Delegation can only be used with IPv6 subnets.");
  }
  if (!isAuto(raMode)) {
    throw badSubnet("IPv6 RA Mode must be SLAAC or Stateless for Prefix Delegation.");
  }
  if (!isAuto(addressMode)) {
    throw badSubnet("IPv6 Address Mode must be SLAAC or Stateless for Prefix Delegation.");
  }
}

/** Checks an update. @throws {HttpError} 400, 409 */
export function validateSubnetUpdate(context: NetworkContext, subnet: SubnetRecord, changes: SubnetInput): void {
  const version = versionOf(subnet);
  const network = networkOfSubnet(subnet);
  const enables = changes.enable_dhcp === true && subnet.enable_dhcp === false;
  validateCommon({ ...changes, enable_dhcp: enables }, version, network, subnet.id, (gateway) =>
    assertGatewayUnused(context, subnet, gateway),
  );
  if (version === 6 && changes.enable_dhcp === false && (subnet.ipv6_ra_mode || subnet.ipv6_address_mode)) {
    throw invalidOperation("Cannot disable enable_dhcp with ipv6 attributes set");
  }
}

export const badSubnet = (message: string): Error => badResource("subnets", `${message}.`);

export function versionOf({ ip_version: version }: Pick<SubnetInput, "ip_version">): 4 | 6 {
  return version === 6 ? 6 : 4;
}

function validateCommon(
  input: SubnetInput,
  version: 4 | 6,
  network: IpNetwork,
  label: string,
  checkGateway: (gateway: string) => void,
): void {
  if (input.enable_dhcp) {
    assertSuitsDhcp(version, network);
  }
  const { gateway_ip: gateway, dns_nameservers: nameservers = [], host_routes: routes = [] } = input;
  if (gateway) {
    assertVersion(version, gateway, "gateway_ip");
    if (isForbiddenGateway(network, gateway)) {
      throw invalidOperation("Gateway is not valid on subnet");
    }
    checkGateway(gateway);
  }
  if (nameservers.length > MAX_NAMESERVERS) {
    throw exhausted("DNSNameServersExhausted", label, "DNS nameservers", MAX_NAMESERVERS);
  }
  for (const nameserver of nameservers) {
    assertVersion(version, nameserver, "dns_nameserver");
  }
  if (routes.length > MAX_HOST_ROUTES) {
    throw exhausted("HostRoutesExhausted", label, "host routes", MAX_HOST_ROUTES);
  }
  for (const { destination, nexthop } of routes) {
    assertVersion(version, nexthop, "nexthop");
    assertVersion(version, destination, "destination");
  }
}

function assertSuitsDhcp(version: 4 | 6, network: IpNetwork): void {
  const first = { version: network.version, value: network.first };
  if (network.prefix > MAX_DHCP_PREFIX[version]) {
    throw invalidOperation("Subnet has a prefix length that is incompatible with DHCP service enabled");
  }
  if (isMulticast(first)) {
    throw invalidOperation("Multicast IP subnet is not supported if enable_dhcp is True");
  }
  if (isLoopback(first)) {
    throw invalidOperation("Loopback IP subnet is not supported if enable_dhcp is True");
  }
  if (version === 4 && network.first === 0n) {
    throw invalidOperation("First IP '0.0.0.0' of network is not supported if enable_dhcp is True.");
  }
}

/** Whether a gateway in the subnet has an address that no IPv4 host may have. One outside the subnet is never rejected. */
export function isForbiddenGateway(network: IpNetwork, gateway: string): boolean {
  const address = parseAddress(gateway);
  return (
    address !== undefined &&
    network.version === 4 &&
    contains(network, address) &&
    (isNetworkAddress(network, address) || address.value === last(network))
  );
}

/** The gateway cannot change while the interface of a router has its address. */
function assertGatewayUnused(context: NetworkContext, subnet: SubnetRecord, gateway: string): void {
  const current = subnet.gateway_ip;
  if (current === null || current === gateway || subnet.subnetpool_id === "prefix_delegation") {
    return;
  }
  const [port] = context.sql.strings(
    `SELECT port.id FROM network_ip_allocations AS allocation JOIN network_ports AS port ON port.id = allocation.port_id
      WHERE allocation.subnet_id = ? AND allocation.address = ?
        AND port.device_owner IN (SELECT value FROM json_each(?)) LIMIT 1`,
    subnet.id,
    current,
    JSON.stringify(ROUTER_INTERFACE_OWNERS),
  );
  if (port !== undefined) {
    throw networkError(
      409,
      "GatewayIpInUse",
      `Current gateway ip ${current} already in use by port ${port}. Unable to update.`,
    );
  }
}

function assertVersion(version: 4 | 6, text: string, name: string): void {
  const found = text.includes("/") ? parseNetwork(text)?.version : parseAddress(text)?.version;
  if (found !== version) {
    throw invalidOperation(`${name} '${text}' does not match the ip_version '${version}'`);
  }
}

function exhausted(type: string, label: string, items: string, limit: number): Error {
  return networkError(
    400,
    type,
    `Unable to complete operation for ${label}. The number of ${items} exceeds the limit ${limit}.`,
  );
}
