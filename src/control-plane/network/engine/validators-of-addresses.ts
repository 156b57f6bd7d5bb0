import {
  ADDRESS_BITS,
  formatAddress,
  type IpAddress,
  isLoopback,
  normalizeMac,
  parseAddress,
} from "../ip/addresses.js";
import { formatNetwork, networkOf, type ParsedNetwork, parseNetwork } from "../ip/networks.js";
import {
  type Dict,
  equalityKey,
  hasWhitespace,
  isDict,
  parseInteger,
  str,
  strOfSet,
  type Validator,
} from "./python-values.js";
import { firstFailure, listOf, orNull, validateUuid } from "./validators-of-values.js";

/** Validators of IP addresses, networks and MAC addresses. */

const INVALID_MACS: readonly (string | undefined)[] = [undefined, "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"];

/** Parses an address as netaddr does with `ZEROFILL`: each part of an IPv4 address may be anything that `int()` reads. */
function parseLenientAddress(text: string): IpAddress | undefined {
  const address = parseAddress(text);
  return address !== undefined || text.includes(":")
    ? address
    : parseAddress(text.split(".", 5).map(toDecimal).join("."));
}

const toDecimal = (part: string): string => String(parseInteger(part) ?? "");

/**
 * Parses a network as netaddr's `IPNetwork` does, which completes a short IPv4 address: `10/8` is 10.0.0.0/8.
 * Returns undefined where it raises `AddrFormatError`.
 */
export function parseNetaddrNetwork(text: string): ParsedNetwork | undefined {
  const slash = text.indexOf("/");
  const addressText = slash === -1 ? text : text.slice(0, slash);
  const address = parseLenientAddress(addressText) ?? parseLenientAddress(completeIpv4(addressText));
  if (address === undefined) {
    return undefined;
  }
  const bits = ADDRESS_BITS[address.version];
  const mask = text.slice(slash + 1);
  const prefix = slash === -1 ? BigInt(bits) : parseInteger(mask);
  if (prefix === undefined) {
    return parseNetwork(`${formatAddress(address)}/${mask}`);
  }
  return prefix < 0n || prefix > bits ? undefined : { ...networkOf(address, Number(prefix)), address: address.value };
}

/** Appends zeros up to four parts. */
function completeIpv4(text: string): string {
  const parts = text.split(".", 4);
  return parts.length === 4 ? text : [...parts, "0", "0", "0"].slice(0, 4).join(".");
}

export function validateIpAddress(value: unknown): string | undefined {
  const address = typeof value === "string" && !hasWhitespace(value) ? parseLenientAddress(value) : undefined;
  if (address === undefined) {
    return `'${str(value)}' is not a valid IP address`;
  }
  if (address.version === 6 || formatAddress(address) === value) {
    return undefined;
  }
  return `'${str(value)}' is not an accepted IP address, '${formatAddress(address)}' is recommended`;
}

export function validateSubnet(value: unknown): string | undefined {
  const network = parseTextNetwork(value);
  if (network === undefined) {
    return `'${str(value)}' is not a valid IP subnet`;
  }
  return str(value).includes("/") && (network.version === 6 || formatWithAddress(network) === value)
    ? undefined
    : `'${str(value)}' isn't a recognized IP subnet cidr, '${formatNetwork(network)}' is recommended`;
}

function validateRouteCidr(value: unknown): string | undefined {
  const network = parseTextNetwork(value);
  if (network === undefined) {
    return `'${str(value)}' is not a valid CIDR`;
  }
  if (!str(value).includes("/") || network.first !== network.address) {
    return `'${str(value)}' is not a recognized CIDR, '${formatNetwork(network)}' is recommended`;
  }
  return isLoopbackNetwork(network) ? `'${str(value)}' is not a routable CIDR` : undefined;
}

function parseTextNetwork(value: unknown): ParsedNetwork | undefined {
  return typeof value === "string" && !hasWhitespace(value) ? parseNetaddrNetwork(value) : undefined;
}

/** Returns the address that the user wrote with the prefix length, `str(IPNetwork)`. */
export function formatWithAddress({ version, address, prefix }: ParsedNetwork): string {
  return `${formatAddress({ version, value: address })}/${prefix}`;
}

/** netaddr never finds an IPv6 network to be loopback. */
function isLoopbackNetwork({ version, first, prefix }: ParsedNetwork): boolean {
  return version === 4 && prefix >= 8 && isLoopback({ version, value: first });
}

function validateIpOrSubnet(value: unknown): string | undefined {
  return validateIpAddress(value) !== undefined && validateSubnet(value) !== undefined
    ? `'${str(value)}' is neither a valid IP address, nor is it a valid IP subnet`
    : undefined;
}

export function validateMacAddress(value: unknown): string | undefined {
  const mac = typeof value === "string" && !hasWhitespace(value) ? normalizeMac(value) : undefined;
  return INVALID_MACS.includes(mac) ? `'${str(value)}' is not a valid MAC address` : undefined;
}

/** Checks that the value is a `dict` with the keys; `isStrict` forbids further keys. */
export function verifyKeys(value: unknown, keys: readonly string[], isStrict: boolean): string | undefined {
  if (!isDict(value)) {
    return `Invalid input. '${str(value)}' must be a dictionary with keys: ${str(keys)}`;
  }
  const provided = Object.keys(value);
  const isComplete = keys.every((key) => Object.hasOwn(value, key));
  return isComplete && (!isStrict || provided.length === keys.length)
    ? undefined
    : `Validation of dictionary's keys failed. Expected keys: ${strOfSet(keys)} Provided keys: ${strOfSet(provided)}`;
}

function validateIpPools(value: unknown): string | undefined {
  if (!Array.isArray(value)) {
    return `Invalid data format for IP pool: '${str(value)}'`;
  }
  return firstFailure(
    value,
    (pool) =>
      verifyKeys(pool, ["start", "end"], true) ??
      validateIpAddress((pool as Dict).start) ??
      validateIpAddress((pool as Dict).end),
  );
}

function validateFixedIps(value: unknown): string | undefined {
  if (!Array.isArray(value)) {
    return `Invalid data format for fixed IP: '${str(value)}'`;
  }
  const addresses = new Set<unknown>();
  return firstFailure(value, (fixedIp) => validateFixedIp(fixedIp, addresses));
}

/** Adds the address to `addresses`. Several addresses may be in one subnet. */
function validateFixedIp(fixedIp: unknown, addresses: Set<unknown>): string | undefined {
  if (!isDict(fixedIp)) {
    return `Invalid data format for fixed IP: '${str(fixedIp)}'`;
  }
  if (Object.hasOwn(fixedIp, "ip_address")) {
    const address = fixedIp.ip_address;
    const message = addresses.has(address) ? `Duplicate IP address '${address}'` : validateIpAddress(address);
    if (message !== undefined) {
      return message;
    }
    addresses.add(address);
  }
  return Object.hasOwn(fixedIp, "subnet_id") ? validateUuid(fixedIp.subnet_id) : undefined;
}

/** Python iterates over the characters of a string and over the keys of a `dict`. */
function validateNameservers(value: unknown): string | undefined {
  const hosts = isDict(value) ? Object.keys(value) : value;
  if (!Array.isArray(hosts) && typeof hosts !== "string") {
    return `Invalid data format for nameserver: '${str(value)}'`;
  }
  const known = new Set<unknown>();
  return firstFailure(hosts, (host) => {
    const message = validateIpAddress(host);
    if (message !== undefined) {
      return `'${str(host)}' is not a valid nameserver. ${message}`;
    }
    const isDuplicate = known.has(host);
    known.add(host);
    return isDuplicate ? `Duplicate nameserver '${str(host)}'` : undefined;
  });
}

function validateHostRoutes(value: unknown): string | undefined {
  if (!Array.isArray(value)) {
    return `Invalid data format for hostroute: '${str(value)}'`;
  }
  const known = new Set<string>();
  return firstFailure(value, (route) => {
    const message =
      verifyKeys(route, ["destination", "nexthop"], true) ??
      validateRouteCidr((route as Dict).destination) ??
      validateIpAddress((route as Dict).nexthop);
    if (message !== undefined) {
      return message;
    }
    const key = equalityKey(route);
    const isDuplicate = known.has(key);
    known.add(key);
    return isDuplicate ? `Duplicate hostroute '${str(route)}'` : undefined;
  });
}

const validateSubnets = listOf(validateSubnet);

export const ADDRESS_VALIDATORS: Readonly<Record<string, Validator>> = {
  "type:fixed_ips": validateFixedIps,
  "type:hostroutes": validateHostRoutes,
  "type:ip_address": validateIpAddress,
  "type:ip_address_or_none": orNull(validateIpAddress),
  "type:ip_or_subnet_or_none": orNull(validateIpOrSubnet),
  "type:ip_pools": validateIpPools,
  "type:list_of_subnets_or_none": orNull(validateSubnets),
  "type:mac_address": validateMacAddress,
  "type:mac_address_or_none": orNull(validateMacAddress),
  "type:nameservers": validateNameservers,
  "type:subnet": validateSubnet,
  "type:subnet_list": validateSubnets,
  "type:subnet_or_none": orNull(validateSubnet),
};
