import { describe, expect, test } from "vitest";
import type { ProviderConfig } from "../../../../src/agent/tracker/contract.js";
import { ProviderMerge } from "../../../../src/agent/tracker/provider-config.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { ProviderTree } from "../../../../src/virt/provider-tree.js";

const ROOT = "11111111-2222-4333-8444-555555555555";
const CHILD = "21111111-2222-4333-8444-555555555555";
const SHARER = "31111111-2222-4333-8444-555555555555";

function config(
  identification: ProviderConfig["identification"],
  changes: Partial<ProviderConfig> = {},
): ProviderConfig {
  return {
    file: "/etc/p.yaml",
    identification,
    inventories: { CUSTOM_RC: { total: 3 } },
    traits: ["CUSTOM_A"],
    ...changes,
  };
}

function aTree() {
  const tree = new ProviderTree();
  tree.newRoot("node", ROOT);
  tree.newChild("node_pci", "node", CHILD);
  tree.newRoot("share", SHARER);
  tree.updateTraits(ROOT, ["COMPUTE_NODE", "CUSTOM_OPERATOR"]);
  tree.updateInventory(ROOT, { VCPU: { total: 4 } });
  return tree;
}

function merge(...configs: ProviderConfig[]) {
  const runtime = new VirtualWorld().spawn();
  return { runtime, merge: new ProviderMerge(configs, runtime.logger) };
}

describe("4.9 merge", () => {
  test("adds inventory, traits and OWNER_NOVA, and leaves what is there", () => {
    const tree = aTree();
    merge(config({ name: "node" })).merge.apply(tree);
    expect(tree.data(ROOT).inventory).toEqual({ VCPU: { total: 4 }, CUSTOM_RC: { total: 3 } });
    expect([...tree.data(ROOT).traits].sort()).toEqual(["COMPUTE_NODE", "CUSTOM_A", "CUSTOM_OPERATOR", "OWNER_NOVA"]);
  });

  test("$COMPUTE_NODE is every root with trait COMPUTE_NODE that has no entry of its own", () => {
    const tree = aTree();
    const own = config({ uuid: SHARER }, { traits: ["CUSTOM_OWN"], inventories: {} });
    merge(config({ uuid: "$COMPUTE_NODE" }), own).merge.apply(tree);
    expect(tree.data(ROOT).traits).toContain("CUSTOM_A");
    expect(tree.data(CHILD).traits.size, "no root").toBe(0);
    expect([...tree.data(SHARER).traits]).toEqual(["CUSTOM_OWN", "OWNER_NOVA"]);
    const named = aTree();
    merge(config({ uuid: "$COMPUTE_NODE" }), config({ name: "node" }, { traits: ["CUSTOM_OWN"] })).merge.apply(named);
    expect(named.data(ROOT).traits).toContain("CUSTOM_OWN");
    expect(named.data(ROOT).traits).not.toContain("CUSTOM_A");
  });

  test("a provider named by uuid and by name is an error", () => {
    const both = merge(config({ name: "node" }), config({ uuid: ROOT }, { file: "/etc/q.yaml" })).merge;
    expect(() => both.apply(aTree())).toThrow(expect.objectContaining({ name: "ValueError" }));
    expect(() => both.apply(aTree())).toThrow("/etc/p.yaml and /etc/q.yaml");
  });

  test("an inventory class that the driver sets is an error", () => {
    const tree = aTree();
    tree.updateInventory(ROOT, { CUSTOM_RC: { total: 8 } });
    const clash = merge(config({ name: "node" })).merge;
    expect(() => clash.apply(tree)).toThrow(expect.objectContaining({ name: "ValueError" }));
    expect(() => clash.apply(tree)).toThrow("/etc/p.yaml adds inventory CUSTOM_RC to provider node");
  });

  test("what the last pass added to a provider that the driver does not rewrite is no clash", () => {
    const tree = aTree();
    const again = merge(config({ name: "share" })).merge;
    again.apply(tree);
    again.apply(tree);
    expect(tree.data(SHARER).inventory).toEqual({ CUSTOM_RC: { total: 3 } });
  });

  test("an unknown provider is warned of once, and again after it was there", () => {
    const { merge: merged, runtime } = merge(config({ name: "late" }));
    const pass = (tree: ProviderTree) => {
      merged.apply(tree);
      merged.endPass();
      return runtime.logs.filter(({ level }) => level === "warn").length;
    };
    const with_ = aTree();
    with_.newChild("late", "node", "41111111-2222-4333-8444-555555555555");
    expect([aTree(), aTree(), with_, aTree(), aTree()].map(pass)).toEqual([1, 1, 1, 2, 2]);
  });

  test("a provider of another node of the agent is not unknown", () => {
    const { merge: merged, runtime } = merge(config({ name: "node" }));
    const other = new ProviderTree();
    other.newRoot("node2", "51111111-2222-4333-8444-555555555555");
    merged.apply(other);
    merged.apply(aTree());
    merged.endPass();
    expect(runtime.logs).toEqual([]);
  });
});
