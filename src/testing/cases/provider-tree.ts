import type { InventoryRecord, ProviderData, ProviderTree, ReshapeAllocations } from "../../virt/index.js";
import { type ContractCase, failsWith, inSection, must, succeeds } from "../contract-case.js";
import type { CheckedHost, DriverHarness } from "../driver-harness.js";

const METHOD = "updateProviderTree";

const CLASS = /^[A-Z][A-Z0-9_]*$/;

/** Serialises everything in a tree that a driver may change. */
function pictureOf(tree: ProviderTree): string {
  return JSON.stringify(
    tree
      .providerUuids()
      .map((uuid) => tree.data(uuid))
      .map(({ uuid, name, parentUuid, inventory, traits, aggregates }) => [
        [uuid, name, parentUuid],
        Object.entries(inventory).sort(([one], [other]) => one.localeCompare(other)),
        [...traits].sort(),
        [...aggregates].sort(),
      ])
      .sort(([one], [other]) => String(one).localeCompare(String(other))),
  );
}

async function updated(harness: DriverHarness, on: CheckedHost): Promise<ProviderTree> {
  const tree = await harness.emptyTree(on);
  for (const node of await on.host.getAvailableNodes()) {
    await succeeds(on.host.updateProviderTree(tree, node), METHOD, "succeed for each available node");
  }
  return tree;
}

function providersOf(tree: ProviderTree): readonly ProviderData[] {
  return tree.providerUuids().map((uuid) => tree.data(uuid));
}

async function childrenOf(harness: DriverHarness, on: CheckedHost): Promise<readonly ProviderData[]> {
  return providersOf(await updated(harness, on)).filter(({ parentUuid }) => parentUuid !== null);
}

function brokenInventory(resourceClass: string, record: InventoryRecord): string | null {
  const { total, minUnit = 1, maxUnit = total, stepSize = 1, allocationRatio = 1, reserved = 0 } = record;
  if (!CLASS.test(resourceClass)) {
    return `${resourceClass} is not a resource class (upper case, digits, _)`;
  }
  if (!(Number.isInteger(total) && total >= 1)) {
    return `${resourceClass} has total ${total}: leave the class out`;
  }
  if (!(minUnit >= 1 && maxUnit >= minUnit && maxUnit <= total)) {
    return `${resourceClass} has min_unit ${minUnit}, max_unit ${maxUnit}, total ${total}`;
  }
  if (!(stepSize >= 1)) {
    return `${resourceClass} has step_size ${stepSize}`;
  }
  if (!(allocationRatio > 0)) {
    return `${resourceClass} has allocation_ratio ${allocationRatio}`;
  }
  if (!(reserved >= 0 && reserved <= total)) {
    return `${resourceClass} has reserved ${reserved} of ${total}`;
  }
  return null;
}

const SHARING = "77777777-7777-4777-8777-777777777777";

const AGGREGATE = "88888888-8888-4888-8888-888888888888";

/** Section 8.7: a driver's duties for the provider tree. */
export const PROVIDER_TREE_CASES: readonly ContractCase[] = inSection("8.7", [
  {
    code: "tree-inventory",
    rule: "updateProviderTree sets complete and valid inventories, and omits classes with a total of 0",
    run: async (harness) => {
      const tree = await updated(harness, await harness.connect());
      const rule = "set total >= 1, 1 <= min_unit <= max_unit <= total, step_size >= 1, a ratio > 0, reserved <= total";
      for (const { name, inventory } of providersOf(tree)) {
        const broken = Object.entries(inventory)
          .map(([resourceClass, record]) => brokenInventory(resourceClass, record))
          .find((found) => found !== null);
        must(broken === undefined, METHOD, rule, `on ${name} ${broken}`);
      }
      const offers = providersOf(tree).some(({ inventory }) => Object.keys(inventory).length > 0);
      must(offers, METHOD, "give inventory to a provider of the node", "there is none at all");
    },
  },
  {
    code: "tree-idempotent",
    rule: "updateProviderTree changes nothing when it is called again",
    run: async (harness) => {
      const on = await harness.connect();
      const tree = await updated(harness, on);
      const before = pictureOf(tree);
      for (const node of await on.host.getAvailableNodes()) {
        await on.host.updateProviderTree(tree, node);
      }
      must(
        pictureOf(tree) === before,
        METHOD,
        "change nothing the second time",
        `found ${pictureOf(tree)} after ${before}`,
      );
    },
  },
  {
    code: "tree-after-restart",
    rule: "updateProviderTree of a restarted driver finds its child providers again, by name",
    run: async (harness) => {
      const first = await harness.connect();
      const tree = await updated(harness, first);
      const before = pictureOf(tree);
      await first.host.cleanupHost();
      const next = await harness.connect();
      for (const node of await next.host.getAvailableNodes()) {
        await next.host.updateProviderTree(tree, node);
      }
      must(
        pictureOf(tree) === before,
        METHOD,
        "change nothing after a restart",
        `found ${pictureOf(tree)} after ${before}`,
      );
    },
  },
  {
    code: "tree-while-used",
    rule: "updateProviderTree does not change totals while guests come and go: allocations count the usage",
    run: async (harness) => {
      const on = await harness.connect();
      const totals = async () =>
        JSON.stringify(
          providersOf(await updated(harness, on)).map(({ name, inventory }) => [
            name,
            Object.entries(inventory).map(([resourceClass, { total }]) => [resourceClass, total]),
          ]),
        );
      const before = await totals();
      await harness.spawned(on);
      const after = await totals();
      must(after === before, METHOD, "keep each total while a guest is there", `found ${after} after ${before}`);
    },
  },
  {
    code: "tree-foreign",
    rule: "updateProviderTree does not change sharing providers, and traits and aggregates that others have set",
    run: async (harness) => {
      const on = await harness.connect();
      const tree = await harness.emptyTree(on);
      tree.newRoot("check-shared-storage", SHARING, 3);
      tree.addTraits(SHARING, "MISC_SHARES_VIA_AGGREGATE", "CUSTOM_FAST");
      tree.addAggregates(SHARING, AGGREGATE);
      const nodes = await on.host.getAvailableNodes();
      for (const node of nodes) {
        tree.addAggregates(node, AGGREGATE);
        tree.addTraits(node, "CUSTOM_OPERATORS_OWN");
      }
      const before = pictureOf(tree.subtree(SHARING));
      for (const node of nodes) {
        await on.host.updateProviderTree(tree, node);
        const { traits, aggregates } = tree.data(node);
        must(
          traits.has("CUSTOM_OPERATORS_OWN"),
          METHOD,
          "preserve traits that others have set",
          "CUSTOM_OPERATORS_OWN is gone",
        );
        must(aggregates.has(AGGREGATE), METHOD, "preserve the node's aggregates", "one is gone");
      }
      must(tree.exists(SHARING), METHOD, "leave sharing providers alone", "one was removed");
      must(pictureOf(tree.subtree(SHARING)) === before, METHOD, "leave sharing providers alone", "one was changed");
    },
  },
  {
    code: "tree-children",
    rule: "child providers have a name that begins with the node's, a parent in the node's tree, and the trait OWNER_NOVA",
    run: async (harness) => {
      const on = await harness.connect();
      const tree = await updated(harness, on);
      for (const node of await on.host.getAvailableNodes()) {
        for (const child of tree
          .providerUuids(node)
          .slice(1)
          .map((uuid) => tree.data(uuid))) {
          const named = child.name !== node && child.name.startsWith(node);
          must(named, METHOD, `begin the names of its children with ${node}`, `found ${child.name}`);
          must(child.traits.has("OWNER_NOVA"), METHOD, "give its children OWNER_NOVA", `${child.name} lacks it`);
        }
      }
    },
  },
  {
    code: "tree-unknown-node",
    rule: "updateProviderTree of an unknown node throws, and edits nothing",
    run: async (harness) => {
      const on = await harness.connect();
      const tree = await harness.emptyTree(on);
      tree.newRoot("check-no-such-node", SHARING, 0);
      const before = pictureOf(tree);
      const isRejected = await on.host.updateProviderTree(tree, "check-no-such-node").then(
        () => false,
        () => true,
      );
      must(isRejected || pictureOf(tree) === before, METHOD, "throw for an unknown node", "it set an inventory");
      must(pictureOf(tree) === before, METHOD, "edit nothing for an unknown node", "it edited the tree");
    },
  },
  {
    code: "tree-root-stays",
    rule: "updateProviderTree never removes or renames the provider of a node",
    run: async (harness) => {
      const on = await harness.connect();
      const tree = await updated(harness, on);
      for (const [uuid, name] of await on.host.getNodenamesByUuid()) {
        if (!(await on.host.getAvailableNodes()).includes(name)) {
          continue;
        }
        const found = tree.find(uuid)?.name;
        must(found === name, METHOD, `keep the provider of ${name}`, `found ${found ?? "none"} by its uuid`);
      }
    },
  },
  {
    code: "tree-two-hosts",
    rule: "child providers of two hosts have neither a name nor a uuid in common",
    run: async (harness) => {
      const [one, other] = await harness.connectBoth();
      const [here, there] = [await childrenOf(harness, one), await childrenOf(harness, other)];
      for (const { uuid, name } of here) {
        const twin = there.find((child) => child.uuid === uuid || child.name === name);
        const rule = "give each child a name and a uuid that no other host uses";
        must(twin === undefined, METHOD, rule, `${name} (${uuid}) is on both`);
      }
    },
  },
]);

/** Section 8.7: inventory that moves to other providers. */
export const RESHAPE_CASES: readonly ContractCase[] = [
  {
    code: "tree-reshape",
    section: "8.7",
    rule: "updateProviderTree throws ReshapeNeeded before it edits, then moves inventory and allocations and preserves the sums",
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
        "preserve each consumer's sums",
        `found ${sumsOf(allocations)} after ${sums}`,
      );
      const astray = [...allocations.values()]
        .flatMap((held) => [...held])
        .find(([uuid, amounts]) => !has(tree, uuid, amounts));
      must(
        astray === undefined,
        METHOD,
        "move allocations where the inventory is",
        `${astray?.[0]} lacks a class that is allocated there`,
      );
      await succeeds(on.host.updateProviderTree(tree, node), METHOD, "need no second reshape");
    },
  },
];

/** Creates three consumers that each have one unit of each class of each provider of the node. */
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
