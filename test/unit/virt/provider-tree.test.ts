import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NoSuchProvider, ProviderExists, ProviderTree } from "../../../src/virt/provider-tree.js";
import { property } from "../../fixtures/property.js";

const VCPU = { total: 8, reserved: 0, minUnit: 1, maxUnit: 8, stepSize: 1, allocationRatio: 4 };

function sample(): ProviderTree {
  const tree = new ProviderTree();
  tree.newRoot("node1", "root-1", 3);
  tree.newChild("node1_numa0", "node1", "numa-0", 1);
  tree.newChild("node1_numa1", "root-1", "numa-1");
  tree.newChild("node1_gpu", "node1_numa0", "gpu", 0);
  tree.newRoot("node2", "root-2", 7);
  return tree;
}

describe("ProviderTree", () => {
  it("finds a provider by name and by uuid, with its place in the tree", () => {
    const tree = sample();
    expect(tree.data("node1_gpu")).toMatchObject({
      uuid: "gpu",
      parentUuid: "numa-0",
      rootUuid: "root-1",
      generation: 0,
    });
    expect(tree.data("gpu")).toBe(tree.data("node1_gpu"));
    expect(tree.exists("node3")).toBe(false);
    expect(tree.find("node3")).toBeUndefined();
  });

  it("lists parents before children, and children before parents", () => {
    const tree = sample();
    expect(tree.providerUuids("node1")).toEqual(["root-1", "numa-0", "numa-1", "gpu"]);
    expect(tree.providerUuidsBottomUp("node1")).toEqual(["gpu", "numa-1", "numa-0", "root-1"]);
    expect(tree.providerUuidsInTree("gpu")).toEqual(tree.providerUuids("root-1"));
    expect(tree.providerUuids()).toEqual(["root-1", "numa-0", "numa-1", "gpu", "root-2"]);
  });

  it("removes everything below with a provider", () => {
    const tree = sample();
    tree.remove("node1_numa0");
    expect(tree.providerUuids("node1")).toEqual(["root-1", "numa-1"]);
    expect(tree.exists("node1_gpu")).toBe(false);
    tree.remove("root-2");
    expect(tree.roots).toEqual(["root-1"]);
  });

  it("rejects a duplicate name or uuid and an unknown provider, and names it", () => {
    const tree = sample();
    expect(() => tree.newRoot("node1", "another")).toThrow(ProviderExists);
    expect(() => tree.newChild("another", "node2", "gpu")).toThrow(/gpu.*node1_gpu/);
    expect(() => tree.newChild("x", "node3", "x")).toThrow(NoSuchProvider);
    expect(() => tree.updateTraits("node3", [])).toThrow(/node3/);
    expect(() => tree.remove("node3")).toThrow(NoSuchProvider);
  });

  describe("5.1 inventory changed", () => {
    const tree = sample();
    tree.updateInventory("node1", { VCPU, MEMORY_MB: { total: 1024 } });

    it("is false for equal values and for keys that the new record omits", () => {
      expect(tree.hasInventoryChanged("node1", { VCPU: { ...VCPU }, MEMORY_MB: { total: 1024 } })).toBe(false);
      expect(tree.hasInventoryChanged("node1", { VCPU: { total: 8 }, MEMORY_MB: { total: 1024 } })).toBe(false);
    });

    it("is true for another set of classes, another value, and a new key", () => {
      expect(tree.hasInventoryChanged("node1", { VCPU })).toBe(true);
      expect(tree.hasInventoryChanged("node1", { VCPU, DISK_GB: { total: 1 } })).toBe(true);
      expect(tree.hasInventoryChanged("node1", { VCPU: { total: 9 }, MEMORY_MB: { total: 1024 } })).toBe(true);
      expect(tree.hasInventoryChanged("node1", { VCPU, MEMORY_MB: { total: 1024, reserved: 0 } })).toBe(true);
    });
  });

  it("returns whether an update changed anything, and stores the generation", () => {
    const tree = sample();
    expect(tree.updateTraits("node1", ["A", "B"], 4)).toBe(true);
    expect(tree.updateTraits("node1", ["B", "A"])).toBe(false);
    expect(tree.addTraits("node1", "A")).toBe(false);
    expect(tree.addTraits("node1", "C")).toBe(true);
    expect(tree.removeTraits("node1", "A", "X")).toBe(true);
    expect([...tree.data("node1").traits]).toEqual(["B", "C"]);
    expect(tree.data("node1").generation).toBe(4);
    expect(tree.addAggregates("node1", "agg")).toBe(true);
    expect(tree.removeAggregates("node1", "agg")).toBe(true);
    expect(tree.updateInventory("node1", { VCPU })).toBe(true);
    expect(tree.updateInventory("node1", { VCPU }, 5)).toBe(false);
    expect(tree.data("node1").generation).toBe(5);
  });

  it("copies all trees or one tree without sharing changes", () => {
    const tree = sample();
    const copy = tree.copy();
    const sub = tree.subtree("node1_gpu");
    expect(sub.providerUuids()).toEqual(["root-1", "numa-0", "numa-1", "gpu"]);
    expect(sub.data("gpu")).toBe(tree.data("gpu"));
    copy.addTraits("gpu", "A");
    sub.newChild("new", "node1", "new");
    sub.remove("numa-1");
    expect(tree.data("gpu").traits.size).toBe(0);
    expect(tree.providerUuids("node1")).toEqual(["root-1", "numa-0", "numa-1", "gpu"]);
    expect(copy.exists("new")).toBe(false);
  });

  it("adopts a listing of complete trees and preserves the data of the remaining providers", () => {
    const tree = sample();
    tree.updateInventory("numa-0", { VCPU });
    tree.populate([
      { uuid: "gpu2", name: "node1_gpu2", generation: 0, parentUuid: "numa-0" },
      { uuid: "numa-0", name: "node1_numa0", generation: 9, parentUuid: "root-1" },
      { uuid: "root-1", name: "node1", generation: 4, parentUuid: null },
    ]);
    expect(tree.providerUuids("node1")).toEqual(["root-1", "numa-0", "gpu2"]);
    expect(tree.data("numa-0")).toMatchObject({ generation: 9, inventory: { VCPU } });
    expect(tree.exists("gpu")).toBe(false);
    expect(tree.data("node2").generation).toBe(7);
  });

  it("assigns a name to the provider that Placement lists with it, even if another one had it", () => {
    const tree = sample();
    tree.populate([{ uuid: "root-3", name: "node2", generation: 0, parentUuid: null }]);
    expect(tree.data("node2").uuid).toBe("root-3");
    expect(tree.exists("root-2")).toBe(false);
  });

  const edits = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant("root" as const), of: fc.nat(9) }),
      fc.record({ kind: fc.constant("child" as const), of: fc.nat(9), parent: fc.nat(9) }),
      fc.record({ kind: fc.constant("remove" as const), of: fc.nat(9) }),
      fc.record({
        kind: fc.constant("traits" as const),
        of: fc.nat(9),
        traits: fc.array(fc.constantFrom("A", "B", "C")),
      }),
      fc.record({ kind: fc.constant("copy" as const) }),
    ),
    { maxLength: 60 },
  );

  property([edits])("agrees with a table of parents, and copies stay as they were", (steps) => {
    const tree = new ProviderTree();
    const model = new Map<string, { parent: string | null; traits: Set<string> }>();
    const copies: { readonly copy: ProviderTree; readonly expected: string }[] = [];
    const below = (uuid: string): string[] => [
      uuid,
      ...[...model].filter(([, { parent }]) => parent === uuid).flatMap(([child]) => below(child)),
    ];
    const depth = (uuid: string): number => {
      const parent = model.get(uuid)?.parent ?? null;
      return parent === null ? 0 : depth(parent) + 1;
    };

    for (const step of steps) {
      const uuid = "of" in step ? `u${step.of}` : "";
      if (step.kind === "copy") {
        copies.push({ copy: tree.copy(), expected: picture(tree) });
      } else if (step.kind === "remove") {
        if (!model.has(uuid)) {
          expect(() => tree.remove(uuid)).toThrow(NoSuchProvider);
        } else {
          tree.remove(`n-${uuid}`);
          for (const gone of below(uuid)) {
            model.delete(gone);
          }
        }
      } else if (step.kind === "traits") {
        const known = model.get(uuid);
        if (!known) {
          continue;
        }
        known.traits = new Set(step.traits);
        tree.updateTraits(uuid, step.traits);
      } else {
        const parent = step.kind === "child" ? `u${step.parent}` : null;
        const add = () =>
          parent === null ? tree.newRoot(`n-${uuid}`, uuid) : tree.newChild(`n-${uuid}`, parent, uuid);
        if (model.has(uuid) || (parent !== null && !model.has(parent))) {
          expect(add).toThrow();
        } else {
          add();
          model.set(uuid, { parent, traits: new Set() });
        }
      }
    }

    expect([...tree.providerUuids()].sort()).toEqual([...model.keys()].sort());
    for (const [uuid, { parent, traits }] of model) {
      expect(tree.data(`n-${uuid}`)).toMatchObject({ uuid, parentUuid: parent, traits });
      expect([...tree.providerUuids(uuid)].sort()).toEqual(below(uuid).sort());
    }
    const depths = tree.providerUuids().map(depth);
    const rootOf = tree.providerUuids().map((uuid) => tree.data(uuid).rootUuid);
    for (const root of tree.roots) {
      const own = depths.filter((_, index) => rootOf[index] === root);
      expect(own).toEqual([...own].sort((left, right) => left - right));
    }
    for (const { copy, expected } of copies) {
      expect(picture(copy)).toBe(expected);
    }
  });
});

function picture(tree: ProviderTree): string {
  return JSON.stringify(
    tree.providerUuids().map((uuid) => ({ ...tree.data(uuid), traits: [...tree.data(uuid).traits] })),
  );
}
