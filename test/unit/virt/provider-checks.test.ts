import { expect, test } from "vitest";
import { createDriverHost } from "../../../src/virt/create-driver-host.js";
import { defineDriver, ProviderTree, type ReshapeAllocations } from "../../../src/virt/index.js";
import { driverWith, NODE_UUID, OTHER_UUID, UUID, virtualContext } from "./fixtures.js";

/** Returns the error after an edit by the driver; null if the edit is accepted. */
async function edited(
  edit: (tree: ProviderTree, allocations: ReshapeAllocations) => void,
  prepare: (tree: ProviderTree) => void = () => {},
): Promise<string | null> {
  const { context } = virtualContext();
  const updateProviderTree = async (
    tree: ProviderTree,
    _node: string,
    { allocations }: { readonly allocations: ReshapeAllocations },
  ) => edit(tree, allocations);
  const definition = defineDriver({
    name: "broken",
    apiVersion: "1.0",
    create: () => driverWith({ updateProviderTree }),
  });
  const host = await createDriverHost(definition, context);
  const tree = new ProviderTree();
  tree.newRoot("node", NODE_UUID, 1);
  prepare(tree);
  const allocations: ReshapeAllocations = new Map([[UUID, new Map([[NODE_UUID, { VCPU: 1 }]])]]);
  return host.updateProviderTree(tree, "node", { allocations }).then(
    () => null,
    (error: Error) => error.message,
  );
}

function set(record: unknown, resourceClass = "VCPU") {
  return (tree: ProviderTree) => void tree.updateInventory("node", { [resourceClass]: record as never });
}

const GOOD = { total: 8, reserved: 8, minUnit: 1, maxUnit: 8, stepSize: 1, allocationRatio: 0.5 };

test("8.7 an inventory that is valid in Placement is accepted: a fractional ratio, and everything reserved", async () => {
  expect(await edited(set(GOOD))).toBeNull();
  expect(await edited(set({ total: 8 }, "CUSTOM_GOLD"))).toBeNull();
});

test.each<[string, (tree: ProviderTree, allocations: ReshapeAllocations) => void, string]>([
  ["NaN", set({ ...GOOD, total: Number.NaN }), "inventory VCPU.total is NaN, expected an integer of at least 1"],
  ["no total", set({}), "inventory VCPU.total is undefined, expected an integer of at least 1"],
  ["zero", set({ total: 0 }), "inventory VCPU.total is 0, expected an integer of at least 1"],
  [
    "infinity",
    set({ ...GOOD, maxUnit: Infinity }),
    "inventory VCPU.maxUnit is Infinity, expected an integer of at least 1",
  ],
  ["a fraction", set({ ...GOOD, stepSize: 0.5 }), "inventory VCPU.stepSize is 0.5, expected an integer of at least 1"],
  ["a string", set({ ...GOOD, minUnit: "1" }), 'inventory VCPU.minUnit is "1", expected an integer of at least 1'],
  [
    "a negative one",
    set({ ...GOOD, reserved: -1 }),
    "inventory VCPU.reserved is -1, expected an integer of at least 0",
  ],
  [
    "more reserved than there is",
    set({ total: 8, reserved: 9 }),
    "inventory VCPU.reserved is 9, expected an integer of 0 to 8",
  ],
  [
    "more than Placement's integers",
    set({ total: 2 ** 31 }),
    "inventory VCPU.total is 2147483648, expected an integer of",
  ],
  [
    "a ratio of 0",
    set({ ...GOOD, allocationRatio: 0 }),
    "inventory VCPU.allocationRatio is 0, expected a number greater than 0",
  ],
  [
    "a ratio of infinity",
    set({ ...GOOD, allocationRatio: Infinity }),
    "inventory VCPU.allocationRatio is Infinity, expected",
  ],
  [
    "a name of Placement's",
    set({ total: 8, min_unit: 1 }),
    "inventory VCPU.min_unit is 1, expected one of total, reserved, minUnit",
  ],
  ["no inventory", set(null), "inventory VCPU is null, expected an object with the total"],
  [
    "a class in small letters",
    set({ total: 8 }, "vcpu"),
    'a resource class is "vcpu", expected a resource class of capitals',
  ],
  [
    "a trait with a space",
    (tree) => void tree.addTraits("node", "CUSTOM A"),
    'a trait is "CUSTOM A", expected a trait of',
  ],
  [
    "an aggregate by name",
    (tree) => void tree.addAggregates("node", "rack1"),
    'an aggregate is "rack1", expected a uuid',
  ],
  [
    "a child without a uuid",
    (tree) => tree.newChild("node_gpu", "node", "gpu"),
    'the uuid of provider node_gpu is "gpu", expected a uuid in lower case with hyphens',
  ],
  [
    "a child's inventory",
    (tree) => {
      tree.newChild("node_gpu", "node", OTHER_UUID);
      tree.updateInventory("node_gpu", { VGPU: { total: Number.NaN } });
    },
    "inventory VGPU.total of provider node_gpu is NaN, expected an integer of at least 1",
  ],
  [
    "an amount of a reshape",
    (_, allocations) => void allocations.get(UUID)?.set(NODE_UUID, { VCPU: Number.NaN }),
    `allocations of ${UUID} on ${NODE_UUID}: VCPU is NaN, expected an integer of at least 1`,
  ],
])("8.7 %s is rejected with its path, before any request to Placement", async (_, edit, message) => {
  expect(await edited(edit)).toContain(`driver broken: updateProviderTree: ${message}`);
});

test("8.7 earlier values that the driver does not change are not checked", async () => {
  const foreign = set({ total: 8, reserved: 9 });
  expect(await edited(() => {}, foreign)).toBeNull();
});
