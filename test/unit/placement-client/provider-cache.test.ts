import { beforeEach, describe, expect, it, test } from "vitest";
import { ProviderCache } from "../../../src/placement-client/client-context.js";
import { PlacementPass, ProviderAllocationMemory } from "../../../src/placement-client/provider-requests.js";

let now: number;
let cache: ProviderCache;

beforeEach(() => {
  now = 1_000;
  cache = open(300);
});

function open(seconds: number): ProviderCache {
  const newCache = new ProviderCache({ now: () => now, monotonic: () => now }, seconds);
  newCache.tree.newRoot("one", "one", 1);
  newCache.tree.newChild("gpu", "one", "gpu", 1);
  newCache.tree.newRoot("two", "two", 1);
  newCache.tree.newRoot("nfs", "nfs", 1);
  return newCache;
}

const held = (uuid: string) => ({ consumers: new Map([[`of ${uuid}`, { VCPU: 1 }]]), generation: 5 });
function pass(uuid: string, generation = 5) {
  return new PlacementPass([uuid], [{ uuid, name: uuid, generation, parentUuid: null, rootUuid: uuid }]);
}
function recalled(memory: ProviderAllocationMemory, uuid: string, generation?: number) {
  return memory.recall(uuid, pass(uuid, generation)) !== undefined;
}

describe("cached associations are stale", () => {
  test.each([
    [300, 300_000, false],
    [300, 300_001, true],
    [0, 1e12, false],
  ])("with a refresh of %i s after %i ms: %s", (seconds, after, isStale) => {
    cache = open(seconds);
    expect(cache.isStale("one")).toBe(true);
    cache.markFresh("one");
    expect([cache.isStale("one"), cache.isStale("two")]).toEqual([false, true]);
    now += after;
    expect(cache.isStale("one")).toBe(isStale);
    cache.invalidateAssociations("one");
    expect(cache.isStale("one")).toBe(true);
  });
});

describe("a provider that shares with a node", () => {
  beforeEach(() => {
    cache.tree.updateAggregates("gpu", ["a"]);
    cache.tree.updateAggregates("nfs", ["x", "a"]);
    cache.tree.updateAggregates("two", ["a"]);
    cache.markSharing("nfs");
  });

  it("has an aggregate of any provider in the node's tree, and is included with the node", () => {
    expect(cache.sharingWith("one")).toEqual(["nfs"]);
    expect(cache.editable("one").roots).toEqual(["one", "nfs"]);
    cache.tree.updateAggregates("nfs", ["x"]);
    expect(cache.sharingWith("one")).toEqual([]);
  });

  it("is not the node itself, and must be cached", () => {
    cache.markSharing("gpu");
    expect(cache.sharingWith("one")).toEqual(["nfs"]);
    expect(cache.sharingWith("two")).toEqual(["nfs", "gpu"]);
    cache.tree.remove("nfs");
    expect(cache.sharingWith("one")).toEqual([]);
  });

  it("an edited copy does not change the cache", () => {
    cache.editable("one").remove("gpu");
    expect(cache.tree.exists("gpu")).toBe(true);
  });
});

describe("removal from the cache", () => {
  const ALL = ["one", "gpu", "two", "nfs"];
  const known = () => ({
    tree: ALL.filter((uuid) => cache.tree.exists(uuid)),
    fresh: ALL.filter((uuid) => !cache.isStale(uuid)),
    allocations: ALL.filter((uuid) => recalled(cache.allocations, uuid)),
  });
  const only = (...uuids: readonly string[]) => ({ tree: uuids, fresh: uuids, allocations: uuids });

  beforeEach(() => {
    for (const uuid of ALL) {
      cache.markFresh(uuid);
      cache.allocations.remember(uuid, held(uuid));
    }
  });

  test.each<[string, (cache: ProviderCache) => void, readonly string[]]>([
    ["a provider and what is below it", (each) => each.invalidateProvider("one"), ["two", "nfs"]],
    ["a child", (each) => each.invalidateProvider("gpu"), ["one", "two", "nfs"]],
    ["the whole tree of a child", (each) => each.invalidateTree("gpu"), ["two", "nfs"]],
    ["everything", (each) => each.clear(), []],
  ])("%s", (_what, forget, left) => {
    forget(cache);
    expect(known()).toEqual(only(...left));
  });

  it("removes the associations of a provider that is in no tree", () => {
    cache.tree.remove("two");
    cache.invalidateProvider("two");
    expect(known()).toEqual(only("one", "gpu", "nfs"));
    cache.invalidateTree("unknown");
  });

  it("removes that a provider is sharing", () => {
    for (const forget of [() => cache.invalidateProvider("nfs"), () => cache.clear()]) {
      cache = open(300);
      cache.markSharing("nfs");
      forget();
      for (const uuid of ["one", "nfs"]) {
        if (!cache.tree.exists(uuid)) {
          cache.tree.newRoot(uuid, uuid, 1);
        }
        cache.tree.updateAggregates(uuid, ["a"]);
      }
      expect(cache.sharingWith("one")).toEqual([]);
    }
  });
});

describe("the cached consumers of a provider", () => {
  let memory: ProviderAllocationMemory;

  beforeEach(() => {
    memory = new ProviderAllocationMemory();
    memory.remember("one", held("one"));
    memory.remember("two", held("two"));
  });

  const consumers = (uuid: string, generation?: number) => [
    ...(memory.recall(uuid, pass(uuid, generation))?.consumers.keys() ?? []),
  ];

  it("are valid while its generation is unchanged, or was only raised by our own write", () => {
    expect([recalled(memory, "one"), recalled(memory, "one", 6), recalled(memory, "other")]).toEqual([
      true,
      false,
      false,
    ]);
    memory.advance("one", 4, 6);
    expect(recalled(memory, "one", 6)).toBe(false);
    memory.advance("one", 5, 6);
    expect([recalled(memory, "one", 6), recalled(memory, "one", 5)]).toEqual([true, false]);
    memory.advance("other", 5, 6);
    expect(memory.recall("two", pass("one"))).toBeUndefined();
  });

  it("are passed and stored as copies", () => {
    const recalledCopy = memory.recall("one", pass("one")) ?? expect.fail("it is not known");
    (recalledCopy.consumers as Map<string, unknown>).clear();
    expect(consumers("one")).toEqual(["of one"]);
    const remembered = held("two");
    memory.remember("two", remembered);
    remembered.consumers.clear();
    expect(consumers("two")).toEqual(["of two"]);
  });

  it("lack a consumer that had no allocations there, or anywhere, when last read", () => {
    memory.remember("two", {
      consumers: new Map([
        ["c", {}],
        ["d", {}],
      ]),
      generation: 5,
    });
    memory.remember("one", {
      consumers: new Map([
        ["c", {}],
        ["d", {}],
      ]),
      generation: 5,
    });
    memory.forget("one", "c");
    memory.forget("other", "c");
    expect([consumers("one"), consumers("two")]).toEqual([["d"], ["c", "d"]]);
    memory.forgetConsumer("d");
    expect([consumers("one"), consumers("two")]).toEqual([[], ["c"]]);
  });

  it("are removed with their provider, or with the complete cache", () => {
    memory.forgetProvider("one");
    expect([recalled(memory, "one"), recalled(memory, "two")]).toEqual([false, true]);
    memory.clear();
    expect(recalled(memory, "two")).toBe(false);
  });
});
