import { describe, expect, test } from "vitest";
import { VALIDATORS } from "../../../../../src/control-plane/network/engine/validators.js";

const ID = "5f5e3a9e-1f3f-4a3a-9c41-8c6f6b0b3f11";
const ROUTE = { destination: "10.0.0.0/8", nexthop: "192.0.2.1" };
const CIDR_EXPECTED = "isn't a recognized IP subnet cidr";
const KEYS_FAILED = "Validation of dictionary's keys failed.";

describe("a valid address has no message", () => {
  test.each<readonly [type: string, ...values: unknown[]]>([
    ["ip_address_or_none", null, "192.0.2.1", "FE80:0::1", "::ffff:192.0.2.1"],
    ["ip_or_subnet_or_none", null, "fd00::/64", "::"],
    ["subnet_or_none", null, "10.0.0.5/24", "fd00::/ffff::"],
    ["list_of_subnets_or_none", null, ["10.0.0.0/8", "fd00::/8"]],
    ["mac_address_or_none", null, "fa:16:3e:0:0:1", "FA16.3E00.0001"],
    ["ip_pools", [{ start: "10.0.0.1", end: "10.0.0.2" }]],
    ["fixed_ips", [{ subnet_id: ID }, { subnet_id: ID, ip_address: "10.0.0.1" }, {}]],
    ["nameservers", "", ["8.8.8.8", "::1"]],
    ["hostroutes", [ROUTE, { destination: "::1/128", nexthop: "fe80::1" }]],
  ])("%s: %j", (type, ...values) => {
    expect(values.filter((value) => VALIDATORS[`type:${type}`]?.(value, null) !== undefined)).toEqual([]);
  });
});

describe("an invalid address has Neutron's message", () => {
  test.each<readonly [type: string, value: unknown, message: string]>([
    ["ip_address", 5, "'5' is not a valid IP address"],
    ["ip_address", "10.0.0.1\n", "'10.0.0.1\n' is not a valid IP address"],
    ["ip_address", "fe80::1%eth0", "'fe80::1%eth0' is not a valid IP address"],
    ["ip_address", "010.0.0.1", "'010.0.0.1' is not an accepted IP address, '10.0.0.1' is recommended"],
    ["ip_address", "1_0.0.0.1", "'1_0.0.0.1' is not an accepted IP address, '10.0.0.1' is recommended"],
    ["ip_or_subnet_or_none", "x", "'x' is neither a valid IP address, nor is it a valid IP subnet"],
    ["subnet", "10.0.0.0/8/9", "'10.0.0.0/8/9' is not a valid IP subnet"],
    ["subnet", "10.0.0.1", "'10.0.0.1' isn't a recognized IP subnet cidr, '10.0.0.1/32' is recommended"],
    ["subnet", "10.1/16", "'10.1/16' isn't a recognized IP subnet cidr, '10.1.0.0/16' is recommended"],
    ["subnet", "10.0.0.0/255.0.0.0", `'10.0.0.0/255.0.0.0' ${CIDR_EXPECTED}, '10.0.0.0/8' is recommended`],
    ["subnet_list", ["10.0.0.0/8", "10.0.0.0/8"], "Duplicate items in the list: '10.0.0.0/8'"],
    ["mac_address", null, "'None' is not a valid MAC address"],
    ["mac_address", "FFFFFFFFFFFF", "'FFFFFFFFFFFF' is not a valid MAC address"],
    ["ip_pools", "x", "Invalid data format for IP pool: 'x'"],
    ["ip_pools", ["x"], "Invalid input. 'x' must be a dictionary with keys: ['start', 'end']"],
    ["ip_pools", [{}], `${KEYS_FAILED} Expected keys: {'start', 'end'} Provided keys: set()`],
    ["fixed_ips", null, "Invalid data format for fixed IP: 'None'"],
    ["fixed_ips", [{ ip_address: "::1" }, { ip_address: "::1" }], "Duplicate IP address '::1'"],
    ["fixed_ips", [{ subnet_id: "x" }], "'x' is not a valid UUID"],
    ["nameservers", 5, "Invalid data format for nameserver: '5'"],
    ["nameservers", "8.8", "'8' is not a valid nameserver. '8' is not a valid IP address"],
    ["nameservers", { x: 1 }, "'x' is not a valid nameserver. 'x' is not a valid IP address"],
    ["nameservers", ["8.8.8.8", "8.8.8.8"], "Duplicate nameserver '8.8.8.8'"],
    ["hostroutes", 5, "Invalid data format for hostroute: '5'"],
    ["hostroutes", [{ ...ROUTE, destination: "::1/8" }], "'::1/8' is not a recognized CIDR, '::/8' is recommended"],
    ["hostroutes", [{ ...ROUTE, destination: "127.1.0.0/16" }], "'127.1.0.0/16' is not a routable CIDR"],
    ["hostroutes", [{ ...ROUTE, destination: "x" }], "'x' is not a valid CIDR"],
    ["hostroutes", [ROUTE, ROUTE], `Duplicate hostroute '{'destination': '10.0.0.0/8', 'nexthop': '192.0.2.1'}'`],
  ])("%s: %j", (type, value, message) => {
    expect(VALIDATORS[`type:${type}`]?.(value, null)).toBe(message);
  });
});
