import fc from "fast-check";
import { expect, it } from "vitest";
import type { GroupState } from "../../../../src/control-plane/scheduler/group-placements.js";
import type { HostState, Multipliers } from "../../../../src/control-plane/scheduler/host-state.js";
import { weighHosts } from "../../../../src/control-plane/scheduler/weighers.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { aComputeNode } from "../../../fixtures/records.js";
import { MULTIPLIERS } from "../../../fixtures/scheduler-rules.js";

const NONE: ReadonlyMap<string, Multipliers> = new Map();

/** @param free free amounts by class; the same amounts are in use */
function host(id: number, free: Readonly<Record<string, number>>, stats = {}): HostState {
  const resources = Object.fromEntries(
    Object.entries(free).map(([name, amount]) => [name, { capacity: 2 * amount, used: amount }]),
  );
  return { node: aComputeNode({ id, stats }), service: null, allocationRequest: { allocations: {} }, resources };
}

/** Returns the ids, best first. */
function order(
  hosts: readonly HostState[],
  seed = "lots",
  group: GroupState | null = null,
  ofAggregates: ReadonlyMap<string, Multipliers> = NONE,
) {
  const { random } = new VirtualWorld({ seed }).spawn();
  return [...weighHosts(hosts, { group, multipliers: MULTIPLIERS, ofAggregates }, random)].map(({ node }) => node.id);
}

it("the same random numbers give the same order, whatever the order of Placement's response", () => {
  const hosts = [1, 2, 3, 4, 5].map((id) => host(id, { VCPU: 1 }));
  expect(order(hosts.toReversed())).toEqual(order(hosts));
});

/** Sorts all hosts in one step by the sum of their weights. */
function plainOrder(hosts: readonly HostState[], seed: string): readonly number[] {
  const { random } = new VirtualWorld({ seed }).spawn();
  const byId = hosts.toSorted((left, right) => left.node.id - right.node.id);
  const lots = new Map(byId.map(({ node }) => [node.id, random.next()]));
  const scaled = (value: (host: HostState) => number) => {
    const all = hosts.map(value);
    const most = Math.max(0, ...all);
    return (each: HostState) => (most > 0 ? value(each) / most : 0);
  };
  const of = (name: string) => (each: HostState) =>
    (each.resources[name]?.capacity ?? 0) - (each.resources[name]?.used ?? 0);
  const failed = scaled((each) => Number(each.node.stats.failed_builds ?? 0));
  const [memory, cpus, disk] = [scaled(of("MEMORY_MB")), scaled(of("VCPU")), scaled(of("DISK_GB"))];
  const load = scaled((each) => Number(each.node.stats.io_workload ?? 0));
  const weight = (each: HostState) => memory(each) + cpus(each) + disk(each) - load(each) - 1_000_000 * failed(each);
  return hosts
    .map((each) => ({ id: each.node.id, weight: weight(each), lot: lots.get(each.node.id) ?? 0 }))
    .sort((left, right) => right.weight - left.weight || left.lot - right.lot)
    .map(({ id }) => id);
}

it("hosts come in the order of a complete sort, however many are read", () => {
  const aHost = fc.record({
    VCPU: fc.integer({ min: 0, max: 3 }),
    MEMORY_MB: fc.integer({ min: 0, max: 3 }),
    DISK_GB: fc.integer({ min: 0, max: 3 }),
    load: fc.integer({ min: 0, max: 2 }),
    failed: fc.integer({ min: 0, max: 1 }),
  });
  fc.assert(
    fc.property(fc.array(aHost, { maxLength: 40 }), fc.string(), fc.nat(40), (drawn, seed, requestedCount) => {
      const hosts = drawn.map(({ failed, load, ...free }, index) =>
        host(((index * 7) % 41) + 1, free, {
          io_workload: String(load),
          ...(failed === 0 ? {} : { failed_builds: "1" }),
        }),
      );
      const expected = plainOrder(hosts, seed);
      expect(order(hosts, seed)).toEqual(expected);
      const { random } = new VirtualWorld({ seed }).spawn();
      const first: number[] = [];
      for (const { node } of weighHosts(hosts, { group: null, multipliers: MULTIPLIERS, ofAggregates: NONE }, random)) {
        if (first.push(node.id) > requestedCount) {
          break;
        }
      }
      expect(first).toEqual(expected.slice(0, requestedCount + 1));
    }),
  );
});

it.each(["MEMORY_MB", "VCPU"])("a host without %s has the lowest weight for it", (name) => {
  for (const seed of ["a", "b", "c", "d", "e", "f"]) {
    expect(order([host(1, {}), host(2, { [name]: 1 })], seed)).toEqual([2, 1]);
  }
});

it("a host with 2,000 GB of disk precedes one with 100 GB and equal memory and CPUs", () => {
  const placed: number[] = [];
  for (let count = 0; count < 12; count += 1) {
    const on = (id: number) => placed.filter((each) => each === id).length;
    const free = (id: number, disk: number) => ({
      VCPU: 64 - on(id),
      MEMORY_MB: 65_536 - 512 * on(id),
      DISK_GB: disk - on(id),
    });
    placed.push(order([host(1, free(1, 100)), host(2, free(2, 2_000))])[0] ?? 0);
  }
  expect(placed).toEqual(Array.from({ length: 12 }, () => 2));
});

it("a host whose root has no disk of its own is weighed by the disk in its record", () => {
  const shared = (id: number, freeDiskGb: number, diskAvailableLeast: number | null) => {
    const each = host(id, { VCPU: 1 });
    return { ...each, node: { ...each.node, freeDiskGb, diskAvailableLeast } };
  };
  expect(order([shared(1, 10, null), shared(2, 20, null)])).toEqual([2, 1]);
  expect(order([shared(1, 10, 10), shared(2, 20, -5)]), "what the hypervisor has less than the records").toEqual([
    1, 2,
  ]);
});

it("a host whose disks are busy comes last among equals", () => {
  const equal = { VCPU: 1, MEMORY_MB: 1, DISK_GB: 1 };
  expect(order([host(1, equal, { io_workload: "3" }), host(2, equal, { io_workload: "1" })])).toEqual([2, 1]);
});

it("an aggregate's metadata overrides a multiplier for its hosts", () => {
  const hosts = [host(1, { MEMORY_MB: 1 }), host(2, { MEMORY_MB: 2 })];
  const named = hosts.map((each) => ({ ...each, node: { ...each.node, host: `h${each.node.id}` } }));
  const ofAggregate = (value: number) => new Map([["h2", { ram_weight_multiplier: value }]]);
  expect(order(named)).toEqual([2, 1]);
  expect(order(named, "lots", null, ofAggregate(-1))).toEqual([1, 2]);
  expect(order(named, "lots", null, ofAggregate(Number.NaN)), "a text that is no number").toEqual([2, 1]);
});

it("a failed build outweighs all other weighers", () => {
  const full = host(1, { VCPU: 0, MEMORY_MB: 0 });
  expect(order([full, host(2, { VCPU: 64, MEMORY_MB: 65_536 }, { failed_builds: "1" })])).toEqual([1, 2]);
});

it.each<[GroupState["policy"], readonly number[]]>([
  ["soft-affinity", [2, 3, 1]],
  ["soft-anti-affinity", [1, 3, 2]],
])("%s: by the other members that hosts have", (policy, expected) => {
  const hosts = [1, 2, 3].map((id) => host(id, { VCPU: 1 }));
  const members = new Map([
    ["h2", 2],
    ["h3", 1],
  ]);
  const named = hosts.map((each) => ({ ...each, node: { ...each.node, host: `h${each.node.id}` } }));
  const group = { policy, mostOnHost: 1, others: members, hosts: new Set<string>(), ownHost: null };
  for (const seed of ["a", "b", "c", "d"]) {
    expect(order(named, seed, group)).toEqual(expected);
  }
});
