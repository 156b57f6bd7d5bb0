import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CONVERTERS } from "../../../../../src/control-plane/network/engine/converters.js";
import { VALIDATORS } from "../../../../../src/control-plane/network/engine/validators.js";
import { errorOf, UNEXPECTED_TYPE } from "./error-of.js";

const ID = "5f5e3a9e-1f3f-4a3a-9c41-8c6f6b0b3f11";
const LONG = `${`${"x".repeat(63)}.`.repeat(3)}${"x".repeat(61)}`;
const TOO_LONG = "will cause it to exceed the maximum length of a FQDN of '255'";
const FQDN = "not a valid PQDN or FQDN. Reason:";
const LABEL = "1-63 characters long, each of which can only be alphanumeric or a hyphen";
const SERVICE_TYPE = "InvalidSubnetServiceType Subnet service type x:y does not correspond to a valid device owner.";

type Row = readonly [type: string, parameter: unknown, value: unknown];

describe("attribute maps", () => {
  const golden = new URL("../../../../fixtures/golden/neutron/resources.json", import.meta.url);
  const names = new Set<string>();
  JSON.parse(readFileSync(golden, "utf8"), function (this: Readonly<Record<string, unknown>>, name, value) {
    if (name.startsWith("type:")) {
      names.add(name);
    } else if (name === "convert_to" || name === "convert_list_to") {
      names.add(value);
    }
    return value;
  });

  test.each([...names].sort())("%s exists", (name) => {
    expect(VALIDATORS[name] ?? CONVERTERS[name]).toBeTypeOf("function");
  });
});

describe("a valid value has no message", () => {
  test.each<readonly [type: string, parameter: unknown, ...values: unknown[]]>([
    ["string", 3, "", "😀😀😀"],
    ["string_or_none", null, null, "x".repeat(1000)],
    ["not_empty_string_or_none", 5, null, " a "],
    ["oneline_not_empty_string_or_none", 5, null, "ab\r\n"],
    ["name_not_default", 255, "defaults"],
    ["boolean", null, " YES\t", 0, "f"],
    ["values", [4, "a", 1], 4, "a", true],
    ["integer", null, 5, "1_0"],
    ["range_or_none", [0, 255], null, " +5 ", "９", true, 5.9],
    ["non_negative", null, "0"],
    ["port_range", [1, 65535], null, 80, "80:90"],
    ["uuid_or_none", null, null, ID, `urn:uuid:{${ID.toUpperCase().replaceAll("-", "")}}`],
    ["uuid_list", null, [], [ID]],
    ["uuid_list_non_empty", null, [ID]],
    ["subnetpool_id_or_none", null, null, ID, "prefix_delegation"],
    ["regex_or_none", "[a-f]+", null, "abz"],
    ["list_of_regex_or_none", "a", null, ["a", "ab"]],
    ["list_of_unique_strings", 255, [], ["a", "b"]],
    ["ethertype", null, "IPv6"],
    ["service_plugin_type", null, "L3_ROUTER_NAT"],
    ["list_of_subnet_service_types", null, null, ["network:dhcp", "compute:nova"]],
    ["dns_host_name", 255, "", "host.example.org."],
    ["dns_domain_name", 255, "", "<project_id>.example."],
    ["fip_dns_host_name", 255, "", "host"],
  ])("%s %j: %j", (type, parameter, ...values) => {
    expect(values.filter((value) => VALIDATORS[`type:${type}`]?.(value, parameter) !== undefined)).toEqual([]);
  });
});

describe("an invalid value has Neutron's message", () => {
  test.each<readonly [...Row, message: string]>([
    ["string", 255, 5, "'5' is not a valid string"],
    ["string", 255, 1e-7, "'1e-07' is not a valid string"],
    ["string", 2, "😀😀😀", "'😀😀😀' exceeds maximum length of 2"],
    ["not_empty_string", 255, "\u001c\u3000", "'\u001c\u3000' Blank strings are not permitted"],
    ["oneline_not_empty_string", 255, "a\u2028b", "Multi-line string is not allowed: 'a\u2028b'"],
    ["boolean", null, null, "'None' is not a valid boolean value"],
    ["values", [0, 8], 3, "3 is not in valid_values"],
    ["integer", null, true, "'True' is not an integer:boolean"],
    ["integer", null, "9007199254740993", "'9007199254740993' is not an integer"],
    ["range", [0, 255], "0x10", "'0x10' is not an integer"],
    ["range", [5, 255], " 4 ", "'4' is too small - must be at least '5'"],
    ["range", [0, 255], "9".repeat(30), `'${"9".repeat(30)}' is too large - must be no larger than '255'`],
    ["range", [0, 255], "0".repeat(4301), `'${"0".repeat(4301)}' is not an integer`],
    ["non_negative", null, -1, "'-1' should be non-negative"],
    ["port_range", null, "1:2:3", "Port range must be two integers separated by a colon"],
    ["port_range", null, "80:x", "Invalid port: x"],
    ["port_range", [1, 65535], 0, "Invalid port: 0, the port must be in the range [1, 65535]"],
    ["port_range", null, "90:80", "First port in a port range must be lower than the second port"],
    ["uuid", null, 5, "'5' is not a valid UUID"],
    ["uuid", null, `${ID}\n`, `'${ID}\n' is not a valid UUID`],
    ["uuid_list", null, "x", "'x' is not a list"],
    ["uuid_list", null, [1, true, {}, {}], "Duplicate items in the list: 'True, {}'"],
    ["uuid_list_non_empty", null, [], "List should not be empty"],
    ["subnetpool_id", null, "x", "'x' is not a valid UUID"],
    ["regex", "[a-f]+", "xa", "'xa' is not a valid input"],
    ["ethertype", null, "IPX", "Ethertype IPX is not a valid ethertype, must be one of IPv4,IPv6."],
    ["dns_host_name", 255, "a..b", `'a..b' ${FQDN} Encountered an empty component`],
    ["dns_host_name", 255, "-a", `'-a' ${FQDN} Name '-a' must not start or end with a hyphen`],
    ["dns_host_name", 255, "A", `'A' ${FQDN} Name 'A' must be ${LABEL}`],
    ["dns_host_name", 255, "a.1", `'a.1' ${FQDN} TLD '1' must not be all numeric`],
    ["dns_host_name", 2, "abc", `'abc' ${FQDN} 'abc' exceeds the 2 character FQDN limit`],
    ["dns_domain_name", 255, "a", "'a' is not a FQDN"],
    ["dns_domain_name", 255, `${LONG}.`, `'${LONG}.' contains 254 characters. Adding a sub-domain ${TOO_LONG}`],
    ["fip_dns_host_name", 255, "a.", "'a.' is a FQDN. It should be a relative domain name"],
    ["fip_dns_host_name", 255, LONG, `'${LONG}' contains 253 characters. Adding a domain name ${TOO_LONG}`],
  ])("%s %j: %j", (type, parameter, value, message) => {
    expect(VALIDATORS[`type:${type}`]?.(value, parameter)).toBe(message);
  });
});

describe("a value that Neutron rejects with an exception is an error", () => {
  test.each<readonly [...Row, error: string]>([
    ["name_not_default", 255, "Default", "SecurityGroupDefaultAlreadyExists Default security group already exists."],
    ["service_plugin_type", null, "x", "InvalidServiceType Invalid service type: x."],
    ["list_of_subnet_service_types", null, "x", "400 Subnet service types must be a list."],
    ["list_of_subnet_service_types", null, [5], "InvalidInputSubnetServiceType Subnet service type 5 is not a string."],
    ["list_of_subnet_service_types", null, ["x:y"], SERVICE_TYPE],
    ["dns_host_name", 255, 5, UNEXPECTED_TYPE],
    ["range", [0, 1], Number.POSITIVE_INFINITY, UNEXPECTED_TYPE],
  ])("%s %j: %j", (type, parameter, value, error) => {
    expect(errorOf(() => VALIDATORS[`type:${type}`]?.(value, parameter))).toBe(error);
  });
});
