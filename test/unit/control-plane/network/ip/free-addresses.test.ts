import { describe, expect, it } from "vitest";
import { FreeAddresses } from "../../../../../src/control-plane/network/ip/free-addresses.js";
import { VirtualRandom } from "../../../../../src/simulation/virtual-random.js";

const SUBNET = "subnet-1";
const V6 = 0xfd00n << 112n;

function createLoaded(first: bigint, last: bigint, allocated: Iterable<bigint> = []): FreeAddresses {
  const free = new FreeAddresses();
  free.load(SUBNET, [{ first, last }], allocated);
  return free;
}

function allocate(free: FreeAddresses): bigint | undefined {
  const value = free.next(SUBNET);
  if (value !== undefined) {
    free.take(SUBNET, value);
  }
  return value;
}

describe("free addresses", () => {
  it.each<[name: string, first: readonly [bigint, bigint], second: readonly [bigint, bigint]]>([
    ["two pools of a small subnet", [3n, 9n], [12n, 50n]],
    ["pools that begin in the middle of a word", [33n, 63n], [64n, 130n]],
    ["a large IPv6 pool behind a small one", [V6 + 2n, V6 + 9n], [V6 + 11n, V6 + 2n ** 64n]],
  ])("are those of a list that is searched from the cursor, in %s", (name, ...bounds) => {
    const random = new VirtualRandom(name);
    const pools = bounds.map(([first, last]) => ({ first, last }));
    // The list has more addresses of the large pool than the test allocates.
    const list = pools.flatMap(({ first, last }) =>
      Array.from({ length: Math.min(2000, Number(last - first) + 1) }, (_, index) => first + BigInt(index)),
    );
    const allocated = new Set(list.filter(() => random.next() < 0.3));
    const free = new FreeAddresses();
    free.load(SUBNET, pools.toReversed(), allocated);
    let cursor = 0n;
    for (let step = 0; step < 3000; step += 1) {
      const any = list[random.integer(0, list.length - 1)] ?? 0n;
      const action = random.next();
      if (action < 0.45 && allocated.size < list.length - 5) {
        const isFree = (value: bigint) => !allocated.has(value);
        const expected = list.find((value) => value >= cursor && isFree(value)) ?? list.find(isFree) ?? -1n;
        expect(allocate(free)).toBe(expected);
        allocated.add(expected);
        cursor = expected + 1n;
      } else if (action < 0.5) {
        cursor += any === cursor ? 1n : 0n;
        free.take(SUBNET, any);
        allocated.add(any);
      } else if (action < 0.97) {
        free.release(SUBNET, any);
        allocated.delete(any);
      } else {
        free.clear();
        free.load(SUBNET, pools, allocated);
      }
    }
  });

  it("stay the same until they are taken", () => {
    const free = createLoaded(1n, 9n);
    expect([free.next(SUBNET), free.next(SUBNET)]).toEqual([1n, 1n]);
    expect([allocate(free), allocate(free)]).toEqual([1n, 2n]);
  });

  it("end when all are allocated, a million in 128 kB, and a released one is found behind the end", () => {
    const free = createLoaded(1n, 2n ** 20n, [2n ** 20n + 1n, 0n]);
    const before = process.memoryUsage().arrayBuffers;
    for (let value = 1n; value <= 2n ** 20n; value += 1n) {
      if (allocate(free) !== value) {
        expect.unreachable(`${value} was not the next address`);
      }
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200_000);
    expect(allocate(free)).toBeUndefined();
    free.release(SUBNET, 40_000n);
    expect([allocate(free), allocate(free)]).toEqual([40_000n, undefined]);
  });

  it("do not repeat a released address while others are free, even after a rollback", () => {
    const free = createLoaded(1n, 4n);
    expect(allocate(free)).toBe(1n);
    free.release(SUBNET, 1n);
    free.forget(SUBNET);
    expect(free.has(SUBNET)).toBe(false);
    free.load(SUBNET, [{ first: 1n, last: 4n }], []);
    expect(Array.from({ length: 5 }, () => allocate(free))).toEqual([2n, 3n, 4n, 1n, undefined]);
    free.delete(SUBNET);
    free.load(SUBNET, [{ first: 1n, last: 4n }], []);
    expect(allocate(free)).toBe(1n);
  });

  it("need the allocations of the subnet; changes of others are ignored", () => {
    const free = new FreeAddresses();
    free.take(SUBNET, 1n);
    free.release(SUBNET, 1n);
    expect(() => free.next(SUBNET)).toThrow("call load() first");
  });
});
