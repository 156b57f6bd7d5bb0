import { describe, expect, it } from "vitest";
import { formatNetwork, parseNetwork } from "../../../../../src/control-plane/network/ip/networks.js";
import * as ranges from "../../../../../src/control-plane/network/ip/ranges.js";
import { VirtualRandom } from "../../../../../src/simulation/virtual-random.js";

const UNIVERSE = Array.from({ length: 64 }, (_, value) => BigInt(value));

const networks = (text: string) => text.split(" ").flatMap((cidr) => parseNetwork(cidr) ?? []);

function membersOf(set: ranges.IpRangeSet): readonly bigint[] {
  return UNIVERSE.filter((value) => set.some(({ first, last }) => first <= value && value <= last));
}

function randomRanges(random: VirtualRandom): readonly ranges.IpRange[] {
  return Array.from({ length: random.integer(0, 6) }, () => {
    const first = random.integer(0, 63);
    return { first: BigInt(first), last: BigInt(Math.min(63, first + random.integer(0, 15))) };
  });
}

describe("sets of address ranges", () => {
  it("behave as sets of single addresses", () => {
    const random = new VirtualRandom("ranges");
    for (let round = 0; round < 1000; round += 1) {
      const [x, y] = [randomRanges(random), randomRanges(random)];
      const [a, b] = [ranges.union(x), ranges.union(y)];
      expect(membersOf(a)).toEqual(membersOf(x));
      expect(a.every((range, index) => range.first > (a[index - 1]?.last ?? -2n) + 1n)).toBe(true);
      const inB = new Set(membersOf(b));
      expect(membersOf(ranges.subtract(a, b))).toEqual(membersOf(a).filter((value) => !inB.has(value)));
      expect(membersOf(ranges.intersect(a, b))).toEqual(membersOf(a).filter((value) => inB.has(value)));
      expect(ranges.size(a)).toBe(BigInt(membersOf(a).length));
    }
  });

  it("are summarized by the fewest networks", () => {
    const random = new VirtualRandom("summaries");
    for (let round = 0; round < 300; round += 1) {
      const first = BigInt(random.integer(0, 63));
      const range = { first, last: first + BigInt(random.integer(0, 63)) };
      const summary = ranges.summarize(range, 4);
      expect(ranges.union(summary.map(ranges.rangeOf))).toEqual([range]);
      // No two of the networks could be one.
      const parents = summary.map(({ first: start, prefix }) => `${start >> BigInt(33 - prefix)}/${prefix - 1}`);
      expect(new Set(parents).size).toBe(parents.length);
    }
    const all = { first: 0n, last: 2n ** 128n - 1n };
    expect(ranges.summarize(all, 6).map(formatNetwork)).toEqual(["::/0"]);
  });
});

describe("the first free network of a subnet pool", () => {
  it.each([
    ["10.0.0.0/22", "", 26, "10.0.0.0/26"],
    ["10.0.0.0/22", "10.0.0.0/26", 26, "10.0.0.64/26"],
    // The smallest remainder that fits is after the larger ones.
    ["10.0.0.0/22", "10.0.3.0/25 10.0.3.128/26", 26, "10.0.3.192/26"],
    ["10.0.0.0/22", "10.0.3.0/25 10.0.3.128/26", 24, "10.0.2.0/24"],
    ["10.0.1.0/24 10.0.0.0/24", "", 23, "10.0.0.0/23"],
    ["10.0.0.0/24 10.9.0.0/28", "", 28, "10.9.0.0/28"],
    ["10.0.0.0/24", "10.0.0.64/26", 24, undefined],
    ["fd00::/56", "fd00::/64", 64, "fd00:0:0:1::/64"],
    ["", "", 24, undefined],
  ])("of %s without %s with prefix %d is %s", (pool, allocated, prefix, expected) => {
    const found = ranges.firstFreeNetwork(networks(pool), networks(allocated), prefix);
    expect(found && formatNetwork(found)).toBe(expected);
  });

  it("fills a pool without overlaps", () => {
    const allocated = networks("fd00::/60");
    const choose = () => ranges.firstFreeNetwork(networks("fd00::/56"), allocated, 64);
    for (let next = choose(); next !== undefined; next = choose()) {
      allocated.push({ ...next, address: next.first });
    }
    expect(ranges.union(allocated.map(ranges.rangeOf))).toEqual(networks("fd00::/56").map(ranges.rangeOf));
    expect(allocated).toHaveLength(241);
  });
});
