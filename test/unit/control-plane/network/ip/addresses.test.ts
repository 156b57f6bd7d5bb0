import { describe, expect, it } from "vitest";
import * as ip from "../../../../../src/control-plane/network/ip/addresses.js";
import { VirtualRandom } from "../../../../../src/simulation/virtual-random.js";

const address = (text: string) => ip.parseAddress(text) ?? expect.unreachable(`'${text}' is an address`);

describe("IP addresses", () => {
  // The canonical forms are netaddr's.
  it.each([
    ["10.0.0.1", "10.0.0.1"],
    ["255.0.255.255", "255.0.255.255"],
    ["::", "::"],
    ["::1", "::1"],
    ["FD00::00AB", "fd00::ab"],
    ["0:0:1::", "0:0:1::"],
    ["1:0:0:2:0:0:3:4", "1::2:0:0:3:4"],
    ["1:0:0:2:0:0:0:4", "1:0:0:2::4"],
    ["1::2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::ffff:1.2.3.4", "::ffff:1.2.3.4"],
    ["::1:2", "::0.1.0.2"],
    ["::ffff:0:1.2.3.4", "::ffff:0:102:304"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
  ])("%s has the canonical text %s", (text, canonical) => {
    expect(ip.formatAddress(address(text))).toBe(canonical);
  });

  it.each([
    ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.00", " 1.2.3.4", "1.2.3.4\n", "1.2.3.4/32", "0x1.2.3.4"],
    [":", ":::", "1::2::3", ":1::", "1:::", "12345::", "::g", "fe80::1%eth0", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9"],
    ["1:2:3:4::5:6:7:8", "::1.2.3", "::01.2.3.4", "1.2.3.4::", "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3.4:5", "[::1]"],
  ])("rejects %j and the like", (...invalid) => {
    expect(invalid.filter((text) => ip.parseAddress(text) !== undefined)).toEqual([]);
  });

  it("survive formatting and their key, and keys sort as addresses", () => {
    const random = new VirtualRandom("addresses");
    const addresses = Array.from({ length: 2000 }, (): ip.IpAddress => {
      const version = random.next() < 0.3 ? 4 : 6;
      const groups = Array.from({ length: version === 4 ? 2 : 8 }, () =>
        random.next() < 0.5 ? "0000" : random.hex(2),
      );
      return { version, value: BigInt(`0x${groups.join("")}`) };
    });
    for (const each of addresses) {
      expect(ip.parseAddress(ip.formatAddress(each))).toEqual(each);
      expect(ip.fromKey(ip.addressKey(each))).toEqual(each);
    }
    const byValue = addresses
      .toSorted((a, b) => a.version - b.version || (a.value < b.value ? -1 : 1))
      .map(ip.addressKey);
    expect(addresses.map(ip.addressKey).toSorted()).toEqual(byValue);
  });

  it("know multicast, loopback and link-local addresses of both versions", () => {
    const isAny = [ip.isMulticast, ip.isLoopback];
    const found = (text: string) => isAny.map((is) => is(address(text))).indexOf(true);
    expect(["224.0.0.1", "239.255.255.255", "ff02::1"].map(found)).toEqual([0, 0, 0]);
    expect(["127.9.9.9", "::1"].map(found)).toEqual([1, 1]);
    expect(["10.0.0.1", "240.0.0.0", "128.0.0.1", "::2", "fe80::1", "0.0.0.1"].map(found)).toEqual(Array(6).fill(-1));
  });
});

describe("MAC addresses", () => {
  it.each([
    ["FA:16:3E:00:01:0F", "fa:16:3e:00:01:0f"],
    ["fa-16-3e-0-1-f", "fa:16:3e:00:01:0f"],
    ["fa16.3e00.010f", "fa:16:3e:00:01:0f"],
    ["fa16:3e00:10f", "fa:16:3e:00:01:0f"],
    ["fa163e-00010f", "fa:16:3e:00:01:0f"],
    ["fa163e00010f", "fa:16:3e:00:01:0f"],
    ["a163e00010f", "0a:16:3e:00:01:0f"],
  ])("%s is %s", (text, normalized) => {
    expect(ip.normalizeMac(text)).toBe(normalized);
  });

  it("have no other forms", () => {
    const invalid = ["", "fa:16:3e:00:01", "fa:16-3e:00:01:0f", "fa16.3e00-010f", "fa163e0001", " fa163e00010f"];
    expect(invalid.filter((text) => ip.normalizeMac(text) !== undefined)).toEqual([]);
  });

  it("make the SLAAC address of an interface", () => {
    const slaac = ip.eui64Address({ first: address("2001:db8::").value }, "fa-16-3e-33-44-55");
    expect(ip.formatAddress(slaac)).toBe("2001:db8::f816:3eff:fe33:4455");
    expect(ip.isEui64Address(slaac)).toBe(true);
    expect(["2001:db8::1", "0.255.254.0"].map((text) => ip.isEui64Address(address(text)))).toEqual([false, false]);
    expect(() => ip.eui64Address({ first: 0n }, "none")).toThrow("'none' is not a MAC address");
  });
});
