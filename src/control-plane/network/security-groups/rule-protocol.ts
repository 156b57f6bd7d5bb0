import { pythonRepr } from "../../python/plain-repr.js";
import { NetworkFault } from "../api/fault.js";

/** Neutron's names, with their numbers. */
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

/** A name in lower case, or a number as text; null: any. @throws {NetworkFault} 400 */
export function protocolOf(value: unknown, ethertype: "IPv4" | "IPv6"): string | null {
  if (value === undefined || value === null || value === "" || value === "any") {
    return null;
  }
  const text = String(value).toLowerCase();
  const number = numberOf(text);
  if (number === undefined) {
    throw new NetworkFault(
      400,
      "SecurityGroupRuleInvalidProtocol",
      `Security group rule protocol ${pythonRepr(value)} not supported. Only protocol values ${pythonRepr(Object.keys(PROTOCOLS))} ` +
        "and integer representations [0 to 255] are supported.",
    );
  }
  // The old word `icmp` is ICMPv6 where the rule is for IPv6.
  if (ethertype === "IPv4" && IPV6_ONLY.includes(number)) {
    const message = `Invalid ethertype ${ethertype} for protocol ${text}.`;
    throw new NetworkFault(400, "SecurityGroupEthertypeConflictWithProtocol", message);
  }
  return text;
}

function numberOf(text: string): number | undefined {
  if (Object.hasOwn(PROTOCOLS, text)) {
    return PROTOCOLS[text];
  }
  return /^\d{1,3}$/.test(text) && Number(text) < 256 ? Number(text) : undefined;
}

/** @throws {NetworkFault} 400 */
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
  throw new NetworkFault(400, type, message);
}
