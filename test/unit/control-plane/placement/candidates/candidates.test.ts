import { describe, expect, it } from "vitest";
import { product, roundRobin } from "../../../../../src/control-plane/placement/candidates/group-requests.js";
import { aggregate, uuid, World } from "../world.js";

interface Found {
  readonly allocation_requests: readonly {
    readonly allocations: Readonly<Record<string, { readonly resources: Readonly<Record<string, number>> }>>;
    readonly mappings: Readonly<Record<string, readonly string[]>>;
  }[];
  readonly provider_summaries: Readonly<Record<string, unknown>>;
}

/** Abbreviates candidates: `1:VCPU=1 2:DISK_GB=5`. */
function short({ allocation_requests: requests }: Found): string[] {
  const numbers = (id: string) => Number(id[7]);
  return requests
    .map(({ allocations }) =>
      Object.entries(allocations)
        .map(
          ([id, { resources }]) =>
            `${numbers(id)}:${Object.entries(resources)
              .map((each) => each.join("="))
              .sort()
              .join(",")}`,
        )
        .sort()
        .join(" "),
    )
    .sort();
}

const search = (world: World, query: string) => world.json<Found>("GET", `/allocation_candidates?${query}`);

describe("product and roundRobin", () => {
  it("product takes one item of each list", () => {
    expect([...product([[1, 2], [3], [4, 5]])]).toEqual([
      [1, 3, 4],
      [1, 3, 5],
      [2, 3, 4],
      [2, 3, 5],
    ]);
    expect([...product([[1], []])]).toEqual([]);
    expect([...product([])]).toEqual([[]]);
  });

  it("roundRobin alternates between generators", () => {
    expect([...roundRobin([product([[1, 2, 3]]), product([[4]])])]).toEqual([[1], [4], [2], [3]]);
  });
});

describe("candidates", () => {
  it("come from single providers in a flat deployment", () => {
    const world = new World();
    world.provider(1, { VCPU: 4, DISK_GB: 10 }, { traits: ["COMPUTE_NODE"], aggregates: [aggregate(1)] });
    world.provider(2, { VCPU: 1, DISK_GB: 10 });
    world.provider(3, { VCPU: 4 });
    expect(short(search(world, "resources=VCPU:1,DISK_GB:5"))).toEqual(["1:DISK_GB=5,VCPU=1", "2:DISK_GB=5,VCPU=1"]);
    expect(short(search(world, "resources=VCPU:2,DISK_GB:5"))).toEqual(["1:DISK_GB=5,VCPU=2"]);
    expect(short(search(world, "resources=VCPU:1&required=COMPUTE_NODE"))).toEqual(["1:VCPU=1"]);
    expect(short(search(world, "resources=VCPU:1&required=!COMPUTE_NODE"))).toEqual(["2:VCPU=1", "3:VCPU=1"]);
    expect(short(search(world, `resources=VCPU:1&member_of=${aggregate(1)}`))).toEqual(["1:VCPU=1"]);
    expect(short(search(world, `resources=VCPU:1&member_of=!${aggregate(1)}`))).toEqual(["2:VCPU=1", "3:VCPU=1"]);
    expect(search(world, "resources=VCPU:1&limit=1").allocation_requests).toHaveLength(1);
  });

  it("depend on current usage", () => {
    const world = new World();
    world.provider(1, { VCPU: 4 });
    world.allocate(1, null, { 1: { VCPU: 3 } });
    expect(search(world, "resources=VCPU:1").provider_summaries).toMatchObject({
      [uuid(1)]: { resources: { VCPU: { capacity: 4, used: 3 } } },
    });
    expect(short(search(world, "resources=VCPU:2"))).toEqual([]);
  });

  it("combine the providers of a tree with sharing providers", () => {
    const world = new World();
    world.provider(1, { VCPU: 4 }, { aggregates: [aggregate(1)] });
    world.provider(2, { SRIOV_NET_VF: 4 }, { parent: 1 });
    world.provider(3, { SRIOV_NET_VF: 4 }, { parent: 1 });
    world.provider(4, { DISK_GB: 50 }, { traits: ["MISC_SHARES_VIA_AGGREGATE"], aggregates: [aggregate(1)] });
    world.provider(5, { VCPU: 4, DISK_GB: 5 });
    expect(short(search(world, "resources=VCPU:1,SRIOV_NET_VF:1,DISK_GB:5"))).toEqual([
      "1:VCPU=1 2:SRIOV_NET_VF=1 4:DISK_GB=5",
      "1:VCPU=1 3:SRIOV_NET_VF=1 4:DISK_GB=5",
    ]);
    expect(short(search(world, "resources=VCPU:1,DISK_GB:5"))).toEqual(["1:VCPU=1 4:DISK_GB=5", "5:DISK_GB=5,VCPU=1"]);
  });

  it("add up the amounts of groups that request the same class, with every group policy", () => {
    const world = new World();
    world.provider(1, {});
    for (const n of [2, 3]) {
      world.provider(n, { VCPU: 4 }, { parent: 1 });
    }
    const expected = ["2:VCPU=1 3:VCPU=2", "2:VCPU=2 3:VCPU=1"];
    expect(short(search(world, "resources1=VCPU:1&resources2=VCPU:2&group_policy=isolate"))).toEqual(expected);
    expect(short(search(world, "resources1=VCPU:1&resources2=VCPU:2&group_policy=none"))).toEqual(
      [...expected, "2:VCPU=3", "3:VCPU=3"].sort(),
    );
    expect(short(search(world, "resources=VCPU:1&resources1=VCPU:2"))).toEqual(
      [...expected, "2:VCPU=3", "3:VCPU=3"].sort(),
    );
  });

  it("that only sharing providers supply to the unsuffixed group belong to one tree, the oldest", () => {
    const world = new World();
    const shared = { aggregates: [aggregate(1)] };
    for (const n of [1, 2]) {
      world.provider(n, { VCPU: 4 }, shared);
    }
    world.provider(3, { VGPU: 4 }, { ...shared, traits: ["MISC_SHARES_VIA_AGGREGATE"] });
    for (const n of [4, 5]) {
      world.provider(n, { VGPU: 4 }, { parent: n - 3 });
    }
    const query = "resources=VGPU:2&resources1=VCPU:1&resources2=VGPU:1&group_policy=none";
    expect(short(search(world, query))).toEqual([
      "1:VCPU=1 3:VGPU=1 4:VGPU=2",
      "1:VCPU=1 3:VGPU=2 4:VGPU=1",
      "1:VCPU=1 3:VGPU=3",
      "1:VCPU=1 4:VGPU=3",
      "2:VCPU=1 3:VGPU=1 5:VGPU=2",
      "2:VCPU=1 5:VGPU=3",
    ]);
    // Requests that include resources of the tree itself differ between trees.
    expect(short(search(world, "resources=VGPU:3,VCPU:2&resources1=VCPU:1"))).toEqual([
      "1:VCPU=3 3:VGPU=3",
      "1:VCPU=3 4:VGPU=3",
      "2:VCPU=3 3:VGPU=3",
      "2:VCPU=3 5:VGPU=3",
    ]);
  });

  it("do not exceed the capacity in total", () => {
    const world = new World();
    world.provider(1, { VCPU: 3 });
    expect(short(search(world, "resources1=VCPU:2&resources2=VCPU:2&group_policy=none"))).toEqual([]);
  });

  it("satisfy same_subtree, including groups that only name traits", () => {
    const world = new World();
    world.provider(1, { VCPU: 8 });
    world.provider(2, {}, { parent: 1, traits: ["HW_NUMA_ROOT"] });
    world.provider(3, { SRIOV_NET_VF: 1 }, { parent: 2 });
    world.provider(4, { SRIOV_NET_VF: 1 }, { parent: 1 });
    const query = "resources_A=SRIOV_NET_VF:1&required_B=HW_NUMA_ROOT&same_subtree=_A,_B&group_policy=none";
    const found = search(world, query);
    expect(short(found)).toEqual(["3:SRIOV_NET_VF=1"]);
    expect(found.allocation_requests[0]?.mappings).toEqual({ _A: [uuid(3)], _B: [uuid(2)] });
    expect(Object.keys(found.provider_summaries).sort()).toEqual([1, 2, 3, 4].map(uuid));
  });

  it("can be limited, shuffled and generated breadth-first", () => {
    const some = (options: ConstructorParameters<typeof World>[0]) => {
      const world = new World(options);
      for (const n of [1, 2, 3]) {
        world.provider(n, { VCPU: 4 });
      }
      return short(search(world, "resources=VCPU:1"));
    };
    expect(some({ placement: { maxAllocationCandidates: 2 } })).toHaveLength(2);
    expect(some({ placement: { randomizeAllocationCandidates: true } })).toHaveLength(3);
    expect(some({ placement: { generationStrategy: "breadth-first" } })).toHaveLength(3);
  });
});
