import { badRequest } from "../http/http-error.js";
import { pythonRepr } from "../python/repr.js";
import { addressOf, addressText } from "../store/network-settings.js";
import { invalidInput } from "./api/call.js";

/** Neutron's protocol names with their numbers. */
const PROTOCOLS: Readonly<Record<string, number>> = {
  ah: 51,
  dccp: 33,
  egp: 8,
  esp: 50,
  gre: 47,
  icmp: 1,
  icmpv6: 58,
  igmp: 2,
  ipip: 4,
  "ipv6-encap": 41,
  "ipv6-frag": 44,
  "ipv6-icmp": 58,
  "ipv6-nonxt": 59,
  "ipv6-opts": 60,
  "ipv6-route": 43,
  ospf: 89,
  pgm: 113,
  rsvp: 46,
  sctp: 132,
  tcp: 6,
  udp: 17,
  udplite: 136,
  vrrp: 112,
};

const WITH_PORTS = ["dccp", "sctp", "tcp", "udp", "udplite"];

const ICMP = [1, 58];

const IPV6_ONLY = [41, 43, 44, 58, 59, 60];

/**
 * Returns a protocol's name in lower case or its number as a string; null for any protocol. @throws {HttpError} 400
 */
export function protocolOf(value: unknown, ethertype: "IPv4" | "IPv6"): string | null {
  if (value === undefined || value === null || value === "" || value === "any") {
    return null;
  }
  const text = String(value).toLowerCase();
  const number = numberOf(text);
  if (number === undefined) {
    throw badRequest(
      `Security group rule protocol ${pythonRepr(value)} not supported. Only protocol values ${pythonRepr(Object.keys(PROTOCOLS))} ` +
        "and integer representations [0 to 255] are supported.",
      "SecurityGroupRuleInvalidProtocol",
    );
  }
  // In a rule for IPv6 the legacy name `icmp` means ICMPv6.
  if (ethertype === "IPv4" && IPV6_ONLY.includes(number)) {
    const message = `Invalid ethertype ${ethertype} for protocol ${text}.`;
    throw badRequest(message, "SecurityGroupEthertypeConflictWithProtocol");
  }
  return text;
}

function numberOf(text: string): number | undefined {
  if (Object.hasOwn(PROTOCOLS, text)) {
    return PROTOCOLS[text];
  }
  return /^\d{1,3}$/.test(text) && Number(text) < 256 ? Number(text) : undefined;
}

/** @throws {HttpError} 400 */
export function checkPorts(protocol: string | null, min: number | null, max: number | null): void {
  if (min === null && max === null) {
    return;
  }
  const number = protocol === null ? undefined : numberOf(protocol);
  if (number === undefined) {
    reject("SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.");
  }
  if (ICMP.includes(number)) {
    checkIcmp(min, max);
    return;
  }
  if (!WITH_PORTS.some((name) => PROTOCOLS[name] === number)) {
    const text = `Invalid protocol ${protocol} for port range, only supported for ${WITH_PORTS.map((name) => name.toUpperCase()).join(", ")}.`;
    reject("SecurityGroupInvalidProtocolForPort", text);
  }
  if (min === 0 || max === 0) {
    reject("SecurityGroupInvalidPortValue", "Invalid value for port 0");
  }
  if (min === null || max === null || min > max) {
    reject("SecurityGroupInvalidPortRange", "For TCP/UDP protocols, port_range_min must be <= port_range_max");
  }
}

function checkIcmp(type: number | null, code: number | null): void {
  for (const [field, attribute, value] of [
    ["port_range_min", "type", type],
    ["port_range_max", "code", code],
  ] as const) {
    if (value !== null && value > 255) {
      const text = `Invalid value for ICMP ${attribute} (${field}) ${value}. It must be 0 to 255.`;
      reject("SecurityGroupInvalidIcmpValue", text);
    }
  }
  if (type === null && code !== null) {
    const text = `ICMP code (port-range-max) ${code} is provided but ICMP type (port-range-min) is missing.`;
    reject("SecurityGroupMissingIcmpType", text);
  }
}

function reject(type: string, message: string): never {
  throw badRequest(message, type);
}

/** Returns an address with its prefix length, including host bits; null for any source. @throws {HttpError} 400 */
export function remotePrefixOf(value: unknown, ethertype: "IPv4" | "IPv6"): string | null {
  if (value === undefined || value === null || value === "") {
    return null;
  }
  const [, address = "", length] = /^([0-9a-fA-F.:]{2,45})(?:\/(\d{1,3}))?$/.exec(String(value)) ?? [];
  const four = addressOf(address) !== undefined;
  const bits = four ? 32 : 128;
  const prefix = length === undefined ? bits : Number(length);
  if (!(four || isIpV6(address)) || prefix > bits) {
    throw invalidInput(
      "remote_ip_prefix",
      `${pythonRepr(value)} is neither a valid IP address, nor is it a valid IP subnet.`,
    );
  }
  if ((ethertype === "IPv4") !== four) {
    const text = `Conflicting value ethertype ${ethertype} for CIDR ${address}/${prefix}`;
    throw badRequest(text, "SecurityGroupRuleParameterConflict");
  }
  return `${four ? address : shortIpV6(address)}/${prefix}`;
}

/** Converts `10.2.3.124/24` to `10.2.3.0/24`. */
export function withoutHostBits(remotePrefix: string): string {
  const [address = "", length = ""] = remotePrefix.split("/");
  const four = addressOf(address);
  const network =
    four === undefined
      ? ipV6Text(masked(ipV6Bits(address), 128 - Number(length)))
      : addressText(Number(masked(BigInt(four), 32 - Number(length))));
  return `${network}/${length}`;
}

export function isIpV6(text: string): boolean {
  return text.includes(":") && URL.canParse(`http://[${text}]/`);
}

/** Shortens an address: URLs write the longest run of zeros as `::`, as Neutron does. */
function shortIpV6(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

function masked(address: bigint, hostBits: number): bigint {
  return (address >> BigInt(hostBits)) << BigInt(hostBits);
}

function ipV6Bits(address: string): bigint {
  const [head = [], tail = []] = shortIpV6(address)
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

function ipV6Text(bits: bigint): string {
  const digits = bits.toString(16).padStart(32, "0");
  return shortIpV6((digits.match(/.{4}/g) ?? []).join(":"));
}
