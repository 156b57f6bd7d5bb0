import { describe, expect, it } from "vitest";
import { formatAddress, parseAddress } from "../../../../../src/control-plane/network/ip/addresses.js";
import * as networks from "../../../../../src/control-plane/network/ip/networks.js";

const network = (text: string) => networks.parseNetwork(text) ?? expect.unreachable(`'${text}' is a network`);

describe("IP networks", () => {
  it.each([
    ["10.0.0.5/24", "10.0.0.0/24", "10.0.0.255"],
    ["10.0.0.5", "10.0.0.5/32", undefined],
    ["10.0.0.0/255.255.0.0", "10.0.0.0/16", "10.0.255.255"],
    ["10.0.0.0/0.0.0.255", "10.0.0.0/24", "10.0.0.255"],
    ["1.2.3.4/0.0.0.0", "0.0.0.0/0", "255.255.255.255"],
    ["10.0.0.1/31", "10.0.0.0/31", undefined],
    ["2001:DB8::5/64", "2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff"],
    ["fe80::1/ffc0::", "fe80::/10", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["::1", "::1/128", undefined],
  ])("%s is the network %s with broadcast address %s", (text, cidr, broadcast) => {
    const parsed = network(text);
    expect(networks.formatNetwork(parsed)).toBe(cidr);
    const end = { version: parsed.version, value: networks.last(parsed) };
    expect(networks.isBroadcast(parsed, end)).toBe(broadcast !== undefined);
    expect(formatAddress(end)).toBe(broadcast ?? formatAddress(end));
    expect(parsed.address).toBe(parseAddress(text.replace(/\/.*/, ""))?.value);
  });

  it.each([
    ["", "/24", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/24/1", "10.0.0.0/255.0.255.0", "10.0.0/24"],
    ["::/129", "::/255.0.0.0", "10.0.0.0/ffff::", "10.0.0.0/ 24", "10.0.0.0/2x"],
  ])("rejects %j and the like", (...invalid) => {
    expect(invalid.filter((text) => networks.parseNetwork(text) !== undefined)).toEqual([]);
  });

  it("contain the addresses from the first to the last, of their version only", () => {
    const { version, first } = network("10.0.1.0/24");
    const results = [-1n, 0n, 255n, 256n].map((offset) =>
      networks.contains({ version, first, prefix: 24 }, { version, value: first + offset }),
    );
    expect(results).toEqual([false, true, true, false]);
    expect(networks.contains(network("::/0"), { version: 4, value: first })).toBe(false);
    expect(networks.isNetworkAddress(network("10.0.1.0/24"), { version, value: first })).toBe(true);
    expect(networks.isNetworkAddress(network("10.0.1.0/24"), { version, value: first + 1n })).toBe(false);
    expect(networks.isBroadcast(network("10.0.1.0/24"), { version, value: first + 255n })).toBe(true);
    expect(networks.isBroadcast(network("10.0.1.0/31"), { version, value: first + 1n })).toBe(false);
  });

  it.each([
    ["10.0.0.0/23", "10.0.1.0/24", true, true],
    ["10.0.1.0/24", "10.0.0.0/23", true, false],
    ["10.0.0.0/24", "10.0.1.0/24", false, false],
    ["10.0.0.0/24", "10.0.0.0/24", true, true],
    ["::/0", "0.0.0.0/0", false, false],
  ])("%s and %s: overlap %s, the first spans the second %s", (a, b, overlap, span) => {
    expect(networks.overlaps(network(a), network(b))).toBe(overlap);
    expect(networks.spans(network(a), network(b))).toBe(span);
  });
});
