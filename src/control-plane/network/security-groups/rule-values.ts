import { networkError } from "../engine/network-errors.js";
import { formatNetwork, parseNetwork } from "../ip/networks.js";

/** Neutron's protocols with their numbers, in its order. Of several names of a number, the last is the usual one. */
const PROTOCOLS: Readonly<Record<string, number>> = {
  ah: 51,
  dccp: 33,
  egp: 8,
  esp: 50,
  gre: 47,
  hopopt: 0,
  icmp: 1,
  igmp: 2,
  ip: 0,
  ipip: 4,
  "ipv6-encap": 41,
  "ipv6-frag": 44,
  icmpv6: 58,
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

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(PROTOCOLS).map(([name, number]) => [number, name]));

const WITH_PORTS = ["dccp", "sctp", "tcp", "udp", "udplite"];
const ICMP = [1, 58];
const IPV6_ONLY = [41, 43, 44, 58, 59, 60];
const MAX_PORT = 65_535;
const MAX_ICMP = 255;

/** The attributes of a rule that decide which packets match. */
export interface RuleMatch {
  readonly direction: "ingress" | "egress";
  readonly ethertype: "IPv4" | "IPv6";
  readonly protocol: string | null;
  /** For ICMP, the type. */
  readonly port_range_min: number | null;
  /** For ICMP, the code. */
  readonly port_range_max: number | null;
  readonly remote_ip_prefix: string | null;
  readonly remote_group_id: string | null;
  readonly remote_address_group_id: string | null;
}

/** Returns those attributes of a request; absent ones have their defaults. */
export function matchOf(input: { readonly [K in keyof RuleMatch]?: RuleMatch[K] }): RuleMatch {
  return {
    direction: input.direction ?? "ingress",
    ethertype: input.ethertype ?? "IPv4",
    protocol: input.protocol ?? null,
    port_range_min: input.port_range_min ?? null,
    port_range_max: input.port_range_max ?? null,
    remote_ip_prefix: input.remote_ip_prefix ?? null,
    remote_group_id: input.remote_group_id ?? null,
    remote_address_group_id: input.remote_address_group_id ?? null,
  };
}

/** Returns a rule as Neutron stores it, after all checks that need no other record. @throws {HttpError} 400 */
export function checkRule(requested: RuleMatch): RuleMatch {
  const rule = { ...requested, protocol: canonicalProtocol(requested), ...canonicalPorts(requested) };
  checkPorts(rule);
  checkPrefix(rule);
  const { protocol, ethertype } = rule;
  const number = protocol === null ? undefined : numberOf(protocol);
  if (ethertype === "IPv4" && number !== undefined && IPV6_ONLY.includes(number)) {
    const message = `Invalid ethertype ${ethertype} for protocol ${protocol}.`;
    throw invalid("SecurityGroupEthertypeConflictWithProtocol", message);
  }
  const remotes = [rule.remote_ip_prefix, rule.remote_group_id, rule.remote_address_group_id];
  if (remotes.filter((remote) => remote !== null && remote !== "").length > 1) {
    throw invalid(
      "SecurityGroupMultipleRemoteEntites",
      "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.",
    );
  }
  return rule;
}

/** Returns a string that is equal for rules that Neutron takes for duplicates. */
export function ruleKey(rule: RuleMatch): string {
  const { direction, ethertype, port_range_min: min, port_range_max: max } = rule;
  const prefix = ["0.0.0.0/0", "::/0"].includes(rule.remote_ip_prefix ?? "") ? null : rule.remote_ip_prefix;
  const protocol = canonicalProtocol(rule);
  const { remote_group_id: group, remote_address_group_id: addressGroup } = rule;
  return JSON.stringify([direction, ethertype, min, max, protocol && nameOf(protocol), group, addressGroup, prefix]);
}

/** Returns the network of a prefix, without host bits. */
export function normalizeCidr(prefix: string): string | null {
  const network = parseNetwork(prefix);
  return network === undefined ? null : formatNetwork(network);
}

/** In a rule for IPv6, the names and the number of ICMP mean ICMPv6. */
function canonicalProtocol({ ethertype, protocol }: RuleMatch): string | null {
  if (ethertype !== "IPv6" || protocol === null) {
    return protocol;
  }
  return ["icmp", "icmpv6"].includes(protocol) ? "ipv6-icmp" : protocol === "1" ? "58" : protocol;
}

/** The range of all ports is none. */
function canonicalPorts({ port_range_min: min, port_range_max: max }: RuleMatch) {
  return min === 1 && max === MAX_PORT
    ? { port_range_min: null, port_range_max: null }
    : { port_range_min: min, port_range_max: max };
}

function checkPorts({ protocol, port_range_min: min, port_range_max: max }: RuleMatch): void {
  if (min === null && max === null) {
    return;
  }
  if (protocol === null) {
    const message = "Must also specify protocol if port range is given.";
    throw invalid("SecurityGroupProtocolRequiredWithPorts", message);
  }
  const number = numberOf(protocol);
  if (ICMP.includes(number)) {
    checkIcmp(min, max);
  } else if (!WITH_PORTS.some((name) => PROTOCOLS[name] === number)) {
    const names = WITH_PORTS.map((name) => name.toUpperCase()).join(", ");
    const message = `Ports cannot be specified for protocol ${number}. Ports are only supported for ${names}.`;
    throw invalid("SecurityGroupInvalidProtocolForPort", message);
  } else if (min === 0 || max === 0) {
    throw invalid("SecurityGroupInvalidPortValue", "Invalid value for port 0");
  } else if (min === null || max === null || min > max) {
    const message = "For TCP/UDP protocols, port_range_min must be <= port_range_max";
    throw invalid("SecurityGroupInvalidPortRange", message);
  }
}

function checkIcmp(type: number | null, code: number | null): void {
  for (const [field, attribute, value] of [
    ["type", "port_range_min", type],
    ["code", "port_range_max", code],
  ] as const) {
    if (value !== null && value > MAX_ICMP) {
      const message = `Invalid value for ICMP ${field} (${attribute}) ${value}. It must be 0 to 255.`;
      throw invalid("SecurityGroupInvalidIcmpValue", message);
    }
  }
  if (type === null) {
    const message = `ICMP code (port-range-max) ${code} is provided but ICMP type (port-range-min) is missing.`;
    throw invalid("SecurityGroupMissingIcmpType", message);
  }
}

function checkPrefix({ ethertype, remote_ip_prefix: prefix }: RuleMatch): void {
  if (prefix !== null && ethertype !== (prefix.includes(":") ? "IPv6" : "IPv4")) {
    const message = `Conflicting value ethertype ${ethertype} for CIDR ${prefix}`;
    throw invalid("SecurityGroupRuleParameterConflict", message);
  }
}

const numberOf = (protocol: string): number => PROTOCOLS[protocol] ?? Number(protocol);

function nameOf(protocol: string): string {
  return Object.hasOwn(PROTOCOLS, protocol) ? protocol : (NAMES.get(Number(protocol)) ?? protocol);
}

const invalid = (type: string, message: string): Error => networkError(400, type, message);
