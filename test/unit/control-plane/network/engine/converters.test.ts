import { describe, expect, test } from "vitest";
import { CONVERTERS } from "../../../../../src/control-plane/network/engine/converters.js";
import { errorOf, UNEXPECTED_TYPE } from "./error-of.js";

describe("a converter returns the value that Neutron stores", () => {
  test.each<readonly [name: string, value: unknown, converted: unknown]>([
    ["convert_to_boolean", "Off", false],
    ["convert_to_int", "١٠", 10],
    ["convert_to_int", 7.9, 7],
    ["convert_to_string", true, "True"],
    ["convert_to_mac_if_none", null, null],
    ["convert_none_to_empty_list", null, []],
    ["convert_string_to_case_insensitive", "ABC", "abc"],
    ["convert_kvp_list_to_dict", ["a=1", "a = 2", "b="], { a: ["1", "2"], b: [""] }],
    ["convert_kvp_list_to_dict", ["True"], {}],
    ["convert_ip_to_canonical_format", "FD00:0::1", "fd00::1"],
    ["convert_ip_to_canonical_format", "010.0.0.1", "010.0.0.1"],
    ["convert_ip_to_canonical_format", 2 ** 40, "::100:0:0"],
    ["convert_cidr_to_canonical_format", "FD00::5/64", "fd00::5/64"],
    ["convert_cidr_to_canonical_format", "10/8", "10.0.0.0/8"],
    ["convert_ip_prefix_to_cidr", "10.1.2.3", "10.1.2.3/32"],
    ["convert_protocol", 6, "6"],
    ["convert_protocol", "TCP", "tcp"],
    ["convert_to_protocol", "255", "255"],
    ["convert_ethertype_to_case_insensitive", "ipv6", "IPv6"],
    ["convert_validate_port_value", "80", 80],
    ["convert_valid_object_type", " QoS_policy ", "qos_policy"],
  ])("%s: %j", (name, value, converted) => {
    expect(CONVERTERS[name]?.(value)).toEqual(converted);
  });
});

const INVALID = "InvalidInput Invalid input for operation:";
const PROTOCOLS = "Only protocol names and their integer representation (0 to 255) are supported";
/** As in the recording 143-rule-create-400-protocol. */
const RULE_PROTOCOLS =
  "Only protocol values [None, 'ah', 'dccp', 'egp', 'esp', 'gre', 'hopopt', 'icmp', 'igmp', 'ip', 'ipip', 'ipv6-encap', 'ipv6-frag', 'ipv6-icmp', 'icmpv6', 'ipv6-nonxt', 'ipv6-opts', 'ipv6-route', 'ospf', 'pgm', 'rsvp', 'sctp', 'tcp', 'udp', 'udplite', 'vrrp'] and integer representations [0 to 255] are supported.";
const BAD_PROTOCOL = "SecurityGroupRuleInvalidProtocol Security group rule protocol bogus not supported.";
const BAD_ETHERTYPE =
  "SecurityGroupRuleInvalidEtherType Security group rule for ethertype 'None' not supported. Allowed values are ['IPv4', 'IPv6'].";

describe("a converter rejects a value as Neutron does", () => {
  test.each<readonly [name: string, value: unknown, error: string]>([
    ["convert_to_boolean", null, `${INVALID} 'None' cannot be converted to boolean.`],
    ["convert_to_int", [], `${INVALID} '[]' is not an integer.`],
    ["convert_kvp_list_to_dict", ["x"], `${INVALID} 'x' is not of the form <key>=[value].`],
    ["convert_string_to_case_insensitive", 5, `${INVALID} Input value 5 must be string type.`],
    ["convert_cidr_to_canonical_format", "10.20.0.0/40", `${INVALID} 10.20.0.0/40 is not in a CIDR format.`],
    ["convert_cidr_to_canonical_format", 5, UNEXPECTED_TYPE],
    ["convert_cidr_to_canonical_format", "10.0.0.0/8/9", UNEXPECTED_TYPE],
    ["convert_ip_prefix_to_cidr", "x", "InvalidCIDR Invalid CIDR x given as IP prefix."],
    ["convert_protocol", "bogus", `${BAD_PROTOCOL} ${RULE_PROTOCOLS}`],
    ["convert_protocol", {}, UNEXPECTED_TYPE],
    ["convert_to_protocol", "256", `${INVALID} IP protocol '256' is not supported. ${PROTOCOLS}.`],
    ["convert_ethertype_to_case_insensitive", null, BAD_ETHERTYPE],
    ["convert_validate_port_value", 65536, "SecurityGroupInvalidPortValue Invalid value for port 65536"],
    ["convert_valid_object_type", "router", `${INVALID} 'router' is not a valid RBAC object type.`],
    ["convert_valid_object_type", null, UNEXPECTED_TYPE],
  ])("%s: %j", (name, value, error) => {
    expect(errorOf(() => CONVERTERS[name]?.(value))).toBe(error);
  });
});
