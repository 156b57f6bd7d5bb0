import { describe, expect, it } from "vitest";
import { agentPlans, groupsOf, type Sharing } from "../../../../src/cli/cluster/up-children.js";

const hosts = (count: number, name = "h") => Array.from({ length: count }, (_none, index) => `${name}${index + 1}`);
const group = (names: readonly string[], ...args: string[]) => ({ hosts: names, args, driver: null });

function sizes(groups: Parameters<typeof agentPlans>[0], sharing: Partial<Sharing> = {}) {
  const plans = agentPlans(groups, { cores: 2, ...sharing }, new Set());
  return plans.map(({ name, hosts: of }) => `${name}: ${of.length}`);
}

describe("the processes that serve hosts", () => {
  it("are one per host up to eight hosts, and one per core beyond", () => {
    expect(sizes([group(hosts(8))])).toHaveLength(8);
    expect(sizes([group(hosts(9))])).toEqual(["pool-1: 4", "pool-2: 5"]);
    expect(sizes([group(hosts(5000))], { cores: 4 })).toEqual([1, 2, 3, 4].map((pool) => `pool-${pool}: 1250`));
  });

  it("are as many as requested, or enough that none has more hosts than requested", () => {
    expect(sizes([group(hosts(6))], { processes: 2 })).toEqual(["pool-1: 3", "pool-2: 3"]);
    expect(sizes([group(hosts(9))], { processes: 20 })).toHaveLength(9);
    expect(sizes([group(hosts(7))], { hostsPerProcess: 3 })).toEqual(["pool-1: 2", "pool-2: 2", "pool-3: 3"]);
  });

  it("never serve hosts with different arguments", () => {
    const groups = [group(hosts(10)), group(hosts(10, "x"), "--config-file", "x.conf"), group(["ironic1"], "--i")];
    expect(sizes(groups, { cores: 2 })).toEqual(["pool-1: 10", "pool-2: 10", "ironic1: 1"]);
  });

  it("serve neighbouring hosts, each host once, with unique names", () => {
    const all = hosts(10);
    const plans = agentPlans([group(all)], { cores: 2 }, new Set(["pool-1"]));
    expect(plans.flatMap((plan) => plan.hosts)).toEqual(all);
    expect(plans.map(({ name }) => name)).toEqual(["pool-2", "pool-3"]);
  });
});

describe("groups of hosts", () => {
  it("have equal arguments, in the order of the hosts", () => {
    const start = (...args: string[]) => ({ args, driver: null });
    expect(groupsOf([["a", start("1")] as const, ["b", start("2")] as const, ["c", start("1")] as const])).toEqual([
      { hosts: ["a", "c"], args: ["1"], driver: null },
      { hosts: ["b"], args: ["2"], driver: null },
    ]);
  });
});
