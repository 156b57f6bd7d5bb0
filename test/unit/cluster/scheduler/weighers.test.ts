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
  return { node: aComputeNode({ id, stats }), service: null, allocationRequests: [], resources };
}

/** Ids, best first. */
function order(hosts: readonly HostState[], seed = "lots", group: GroupState | null = null) {
  return weighHosts(hosts, { group, softWeights: SOFT_WEIGHTS }, new VirtualWorld({ seed }).spawn().random).map(
    ({ node }) => node.id,
  );
}

it("the same lots give the same order, in whatever order Placement answers", () => {
  const hosts = [1, 2, 3, 4, 5].map((id) => host(id, { VCPU: 1 }));
  expect(order(hosts.toReversed())).toEqual(order(hosts));
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
