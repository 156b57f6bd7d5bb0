import type { ProviderTree, ReshapeAllocations } from "../../virt/index.js";
import { type ContractCase, failsWith, must, succeeds } from "../contract-case.js";
import { pictureOf, updated } from "./provider-tree.js";

const METHOD = "updateProviderTree";

/** Section 8.7: inventory that moves to other providers. */
export const RESHAPE_CASES: readonly ContractCase[] = [
  {
    code: "tree-reshape",
    section: "8.7",
    rule: "updateProviderTree throws ReshapeNeeded before it edits, then moves inventory and allocations and keeps the sums",
    option: "reshape",
    run: async (harness) => {
      const { reshape } = harness.options;
      if (!reshape) {
        return;
      }
      const old = await harness.connect("check-host-1", reshape.before);
      const tree = await updated(harness, old);
      await old.host.cleanupHost();
      const on = await harness.connect("check-host-1", reshape.after);
      const [node = ""] = await on.host.getAvailableNodes();
      const before = pictureOf(tree);
      await failsWith(on.host.updateProviderTree(tree, node), ["ReshapeNeeded"], METHOD, "when inventory must move");
      must(pictureOf(tree) === before, METHOD, "edit nothing before it throws ReshapeNeeded", "it edited the tree");
      const allocations = heldOn(tree, node);
      const sums = sumsOf(allocations);
      await succeeds(
        on.host.updateProviderTree(tree, node, { allocations }),
        METHOD,
        "reshape when it gets allocations",
      );
      must(
        sumsOf(allocations) === sums,
        METHOD,
        "keep each consumer's sums",
        `found ${sumsOf(allocations)} after ${sums}`,
      );
      const astray = [...allocations.values()]
        .flatMap((held) => [...held])
        .find(([uuid, amounts]) => !has(tree, uuid, amounts));
      must(
        astray === undefined,
        METHOD,
        "move allocations where the inventory is",
        `${astray?.[0]} lacks a class that is held there`,
      );
      await succeeds(on.host.updateProviderTree(tree, node), METHOD, "need no second reshape");
    },
  },
];

/** Three consumers that hold one unit of each class of each provider of the node. */
function heldOn(tree: ProviderTree, node: string): ReshapeAllocations {
  const consumers = [1, 2, 3].map((number) => `0000000${number}-0000-4000-8000-000000000000`);
  const held = () =>
    new Map(
      tree
        .providerUuids(node)
        .map((uuid) => tree.data(uuid))
        .map(
          ({ uuid, inventory }) => [uuid, Object.fromEntries(Object.keys(inventory).map((each) => [each, 1]))] as const,
        ),
    );
  return new Map(consumers.map((consumer) => [consumer, held()]));
}

function sumsOf(allocations: ReshapeAllocations): string {
  return JSON.stringify(
    [...allocations].map(([consumer, held]) => {
      const sums = new Map<string, number>();
      for (const amounts of held.values()) {
        for (const [resourceClass, amount] of Object.entries(amounts)) {
          sums.set(resourceClass, (sums.get(resourceClass) ?? 0) + amount);
        }
      }
      return [consumer, [...sums].sort(([one], [other]) => one.localeCompare(other))];
    }),
  );
}

function has(tree: ProviderTree, uuid: string, amounts: Readonly<Record<string, number>>): boolean {
  const inventory = tree.find(uuid)?.inventory ?? {};
  return Object.entries(amounts).every(([resourceClass, amount]) => amount === 0 || resourceClass in inventory);
}
