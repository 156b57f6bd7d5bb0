import fc from "fast-check";
import { expect, it } from "vitest";
import type { GroupState } from "../../../../src/cluster/scheduler/group-placements.js";
import type { HostState } from "../../../../src/cluster/scheduler/host-state.js";
import { weighHosts } from "../../../../src/cluster/scheduler/weighers.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { aComputeNode } from "../../../fixtures/records.js";
import { SOFT_WEIGHTS } from "../../../fixtures/scheduler-rules.js";

/** @param free by class; as much again is in use */
function host(id: number, free: Readonly<Record<string, number>>, stats = {}): HostState {
  const resources = Object.fromEntries(
    Object.entries(free).map(([name, amount]) => [name, { capacity: 2 * amount, used: amount }]),
  );
  return { node: aComputeNode({ id, stats }), service: null, allocationRequest: { allocations: {} }, resources };
}

/** Ids, best first. */
function order(hosts: readonly HostState[], seed = "lots", group: GroupState | null = null) {
  const { random } = new VirtualWorld({ seed }).spawn();
  return [...weighHosts(hosts, { group, softWeights: SOFT_WEIGHTS }, random)].map(({ node }) => node.id);
}

it("the same lots give the same order, in whatever order Placement answers", () => {
  const hosts = [1, 2, 3, 4, 5].map((id) => host(id, { VCPU: 1 }));
  expect(order(hosts.toReversed())).toEqual(order(hosts));
});

/** All sorted at once, by the sum of what each weigher says. */
function plainOrder(hosts: readonly HostState[], seed: string): readonly number[] {
  const { random } = new VirtualWorld({ seed }).spawn();
  const byId = hosts.toSorted((left, right) => left.node.id - right.node.id);
  const lots = new Map(byId.map(({ node }) => [node.id, random.next()]));
  const scaled = (value: (host: HostState) => number) => {
    const all = hosts.map(value);
    const [least, most] = [Math.min(...all), Math.max(...all)];
    return (each: HostState) => (most > least ? (value(each) - least) / (most - least) : 0);
  };
  const of = (name: string) => (each: HostState) =>
    (each.resources[name]?.capacity ?? 0) - (each.resources[name]?.used ?? 0);
  const failed = scaled((each) => Number(each.node.stats.failed_builds ?? 0));
  const [memory, cpus] = [scaled(of("MEMORY_MB")), scaled(of("VCPU"))];
  const weight = (each: HostState) => memory(each) + cpus(each) - 1_000_000 * failed(each);
  return hosts
    .map((each) => ({ id: each.node.id, weight: weight(each), lot: lots.get(each.node.id) ?? 0 }))
    .sort((left, right) => right.weight - left.weight || left.lot - right.lot)
    .map(({ id }) => id);
}

it("hosts come in the order of all sorted at once, however many are asked for", () => {
  const aHost = fc.record({
    VCPU: fc.integer({ min: 0, max: 3 }),
    MEMORY_MB: fc.integer({ min: 0, max: 3 }),
    failed: fc.integer({ min: 0, max: 1 }),
  });
  fc.assert(
    fc.property(fc.array(aHost, { maxLength: 40 }), fc.string(), fc.nat(40), (drawn, seed, asked) => {
      const hosts = drawn.map(({ failed, ...free }, index) =>
        host(((index * 7) % 41) + 1, free, failed === 0 ? {} : { failed_builds: "1" }),
      );
      const expected = plainOrder(hosts, seed);
      expect(order(hosts, seed)).toEqual(expected);
      const { random } = new VirtualWorld({ seed }).spawn();
      const first: number[] = [];
      for (const { node } of weighHosts(hosts, { group: null, softWeights: SOFT_WEIGHTS }, random)) {
        if (first.push(node.id) > asked) {
          break;
        }
      }
      expect(first).toEqual(expected.slice(0, asked + 1));
    }),
  );
});

it.each(["MEMORY_MB", "VCPU"])("a host without %s has least of it", (name) => {
  for (const seed of ["a", "b", "c", "d", "e", "f"]) {
    expect(order([host(1, {}), host(2, { [name]: 1 })], seed)).toEqual([2, 1]);
  }
});

it("a failed build outweighs everything", () => {
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
