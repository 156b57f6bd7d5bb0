import { formatAddress, parseAddress } from "../ip/addresses.js";
import { invalidOperation, networkError } from "./network-errors.js";
import { isTruthy, parseInteger, str, strip, unexpectedType } from "./python-values.js";
import { formatWithAddress, parseNetaddrNetwork } from "./validators-of-addresses.js";
import { isPort, parseBoolean } from "./validators-of-values.js";

/**
 * Converts a value as the attribute map says. Neutron converts before it validates, so `value` can be any JSON value.
 * @throws {HttpError} 400 with Neutron's message, or for a value of a type that Neutron's code does not expect
 */
export type Converter = (value: unknown) => unknown;

/** The protocols that an iptables rule can name. */
const IPTABLES_PROTOCOLS: ReadonlySet<string> = new Set(["dccp", "icmp", "ipv6-icmp", "sctp", "tcp", "udp"]);

/** Names of protocols that a rule of a security group can have. */
const RULE_PROTOCOLS: readonly (string | null)[] = [
  null,
  "ah",
  "dccp",
  "egp",
  "esp",
  "gre",
  "hopopt",
  "icmp",
  "igmp",
  "ip",
  "ipip",
  "ipv6-encap",
  "ipv6-frag",
  "ipv6-icmp",
  "icmpv6",
  "ipv6-nonxt",
  "ipv6-opts",
  "ipv6-route",
  "ospf",
  "pgm",
  "rsvp",
  "sctp",
  "tcp",
  "udp",
  "udplite",
  "vrrp",
];

const ETHERTYPES = ["IPv4", "IPv6"] as const;

/** The types of objects that an RBAC policy can share. */
const SHARED_TYPES: ReadonlySet<string> = new Set([
  "address_group",
  "address_scope",
  "network",
  "qos_policy",
  "security_group",
  "subnetpool",
]);

const MAX_PROTOCOL = 255n;
const MAX_IPV4 = 2 ** 32 - 1;
const MAX_IPV6 = 2n ** 128n - 1n;

function convertToBoolean(value: unknown): boolean {
  const flag = parseBoolean(value);
  if (flag === undefined) {
    throw invalidOperation(`'${str(value)}' cannot be converted to boolean`);
  }
  return flag;
}

/** Integers beyond 2^53 lose precision. */
function convertToInteger(value: unknown): number {
  const integer = parseInteger(value);
  if (integer === undefined) {
    throw invalidOperation(`'${str(value)}' is not an integer`);
  }
  return Number(integer);
}

/** Returns a converter that keeps null. */
function orNull(convert: Converter): Converter {
  return (value) => (value === null ? null : convert(value));
}

/** Converts `["key=value", ...]`, the form in which a filter has a dictionary. */
function convertPairsToDict(value: unknown): Readonly<Record<string, readonly string[]>> {
  if (!Array.isArray(value)) {
    throw unexpectedType();
  }
  if (value.length === 1 && value[0] === "True") {
    return {};
  }
  const dict = new Map<string, Set<string>>();
  for (const pair of value) {
    const [name, text] = parsePair(pair);
    dict.set(name, (dict.get(name) ?? new Set()).add(text));
  }
  return Object.fromEntries([...dict].map(([name, values]) => [name, [...values]]));
}

function parsePair(pair: unknown): readonly [name: string, value: string] {
  if (typeof pair !== "string") {
    throw unexpectedType();
  }
  const end = pair.indexOf("=");
  const name = strip(pair.slice(0, Math.max(end, 0)));
  if (name === "") {
    throw invalidOperation(`'${pair}' is not of the form <key>=[value]`);
  }
  return [name, strip(pair.slice(end + 1))];
}

/** Returns an IPv6 address in its canonical form, and any other value unchanged. A large integer is an address, too. */
function convertToCanonicalIp(value: unknown): unknown {
  if (typeof value === "number" && Number.isInteger(value) && value > MAX_IPV4 && BigInt(value) <= MAX_IPV6) {
    return formatAddress({ version: 6, value: BigInt(value) });
  }
  const address = typeof value === "string" ? parseAddress(value) : undefined;
  return address?.version === 6 ? formatAddress(address) : value;
}

/** Keeps the bits behind the prefix. */
function convertToCanonicalCidr(value: unknown): string {
  if (typeof value !== "string") {
    throw unexpectedType();
  }
  const network = parseNetaddrNetwork(value);
  if (network !== undefined) {
    return formatWithAddress(network);
  }
  // netaddr raises a ValueError, which Neutron does not handle, for a second slash behind a valid address.
  const [address = "", mask, ...rest] = value.split("/", 3);
  throw rest.length > 0 && mask !== undefined && parseNetaddrNetwork(address) !== undefined
    ? unexpectedType()
    : invalidOperation(`${value} is not in a CIDR format`);
}

/** Keeps the bits behind the prefix, as `remote_ip_prefix` does. */
function convertPrefixToCidr(value: unknown): string | null {
  if (!isTruthy(value)) {
    return null;
  }
  const network = typeof value === "string" ? parseNetaddrNetwork(value) : undefined;
  if (network === undefined) {
    throw networkError(400, "InvalidCIDR", `Invalid CIDR ${str(value)} given as IP prefix.`);
  }
  return formatWithAddress(network);
}

function convertToLowerCase(value: unknown): string {
  if (typeof value !== "string") {
    throw invalidOperation(`Input value ${str(value)} must be string type`);
  }
  return value.toLowerCase();
}

/** Returns the protocol of a port forwarding or conntrack helper unchanged. */
function convertToProtocol(value: unknown): unknown {
  if (IPTABLES_PROTOCOLS.has(convertToLowerCase(value)) || isProtocolNumber(parseInteger(value))) {
    return value;
  }
  throw invalidOperation(
    `IP protocol '${str(value)}' is not supported. Only protocol names and their integer representation (0 to 255) are supported`,
  );
}

function isProtocolNumber(value: bigint | undefined): boolean {
  return value !== undefined && value >= 0n && value <= MAX_PROTOCOL;
}

/** Returns the protocol of a security group rule as a string. */
function convertRuleProtocol(value: unknown): string {
  const number = parseInteger(value);
  if (isProtocolNumber(number)) {
    return str(value);
  }
  if (number === undefined && typeof value !== "string") {
    throw unexpectedType();
  }
  const name = str(value).toLowerCase();
  if (number !== undefined || !RULE_PROTOCOLS.includes(name)) {
    throw networkError(
      400,
      "SecurityGroupRuleInvalidProtocol",
      `Security group rule protocol ${str(value)} not supported. Only protocol values ${str(RULE_PROTOCOLS)} and integer representations [0 to 255] are supported.`,
    );
  }
  return name;
}

function convertRuleEthertype(value: unknown): string {
  const text = typeof value === "string" ? value.toLowerCase() : undefined;
  const ethertype = ETHERTYPES.find((name) => name.toLowerCase() === text);
  if (ethertype === undefined) {
    throw networkError(
      400,
      "SecurityGroupRuleInvalidEtherType",
      `Security group rule for ethertype '${str(value)}' not supported. Allowed values are ${str(ETHERTYPES)}.`,
    );
  }
  return ethertype;
}

function convertRulePort(value: unknown): number {
  if (!isPort(value)) {
    throw networkError(400, "SecurityGroupInvalidPortValue", `Invalid value for port ${str(value)}`);
  }
  return Number(parseInteger(value));
}

function convertSharedType(value: unknown): string {
  if (typeof value !== "string") {
    throw unexpectedType();
  }
  const type = strip(value).toLowerCase();
  if (!SHARED_TYPES.has(type)) {
    throw invalidOperation(`'${value}' is not a valid RBAC object type`);
  }
  return type;
}

export const CONVERTERS: Readonly<Record<string, Converter>> = {
  convert_cidr_to_canonical_format: convertToCanonicalCidr,
  convert_ethertype_to_case_insensitive: convertRuleEthertype,
  convert_ip_prefix_to_cidr: convertPrefixToCidr,
  convert_ip_to_canonical_format: convertToCanonicalIp,
  convert_kvp_list_to_dict: convertPairsToDict,
  convert_none_to_empty_list: (value) => value ?? [],
  convert_protocol: orNull(convertRuleProtocol),
  convert_string_to_case_insensitive: convertToLowerCase,
  convert_to_boolean: convertToBoolean,
  convert_to_boolean_if_not_none: orNull(convertToBoolean),
  convert_to_int: convertToInteger,
  // The port's own code generates the address.
  convert_to_mac_if_none: (value) => value,
  convert_to_protocol: orNull(convertToProtocol),
  convert_to_string: orNull(str),
  convert_valid_object_type: convertSharedType,
  convert_validate_port_value: orNull(convertRulePort),
};
