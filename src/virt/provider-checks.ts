import type { ReshapeAllocations } from "./driver.js";
import { UUID_PATTERN } from "./patterns.js";
import type { ProviderData } from "./provider-data.js";
import type { ProviderTree } from "./provider-tree.js";
import { integerFrom, matching, RATIO, type Rule, type WrongValue } from "./value-rules.js";

/** Placement's limits of an inventory. */
const INVENTORY_RULES: Readonly<Record<string, Rule>> = {
  total: integerFrom(1),
  reserved: integerFrom(0),
  minUnit: integerFrom(1),
  maxUnit: integerFrom(1),
  stepSize: integerFrom(1),
  allocationRatio: RATIO,
};
const CLASS = matching("a resource class of capitals, digits and underscores", /^[A-Z0-9_]+$/);
const TRAIT = matching("a trait of capitals, digits and underscores", /^[A-Z0-9_]+$/);
const UUID = matching("a uuid in lower case with hyphens", UUID_PATTERN);
const NAME = matching("a name of 1 to 200 letters", /^[\s\S]+$/, 200);
const AMOUNT = integerFrom(1);

/** The tree of a node before a driver edits it: what it leaves alone is not looked at again. */
export function providersOf(tree: ProviderTree, node: string): ReadonlyMap<string, ProviderData> {
  const uuids = tree.exists(node) ? tree.providerUuidsInTree(node) : [];
  return new Map(uuids.map((uuid) => [uuid, tree.data(uuid)]));
}

/** The first value that the driver has set in the tree and that Placement cannot take. */
export function wrongInTree(
  tree: ProviderTree,
  node: string,
  before: ReadonlyMap<string, ProviderData>,
): WrongValue | undefined {
  for (const uuid of tree.exists(node) ? tree.providerUuidsInTree(node) : []) {
    const data = tree.data(uuid);
    if (data !== before.get(uuid)) {
      const wrong = wrongIn(data);
      if (wrong !== undefined) {
        return data.name === node ? wrong : { ...wrong, path: `${wrong.path} of provider ${data.name}` };
      }
    }
  }
  return undefined;
}

/** The first amount of a reshape that Placement cannot take. */
export function wrongInAllocations(allocations: ReshapeAllocations | undefined): WrongValue | undefined {
  for (const [consumer, byProvider] of allocations ?? []) {
    for (const [provider, amounts] of byProvider) {
      const of = `allocations of ${consumer} on ${provider}`;
      const wrong = Object.entries(amounts).flatMap(([name, amount]) =>
        broken(CLASS, `${of}: the class`, name).concat(broken(AMOUNT, `${of}: ${name}`, amount)),
      );
      if (wrong[0] !== undefined) {
        return wrong[0];
      }
    }
  }
  return undefined;
}

function wrongIn({ uuid, name, inventory, traits, aggregates }: ProviderData): WrongValue | undefined {
  const [first] = [
    ...broken(UUID, "the uuid", uuid),
    ...broken(NAME, "the name", name),
    ...Object.entries(inventory).flatMap(([resourceClass, record]) => wrongInInventory(resourceClass, record)),
    ...[...traits].flatMap((trait) => broken(TRAIT, "a trait", trait)),
    ...[...aggregates].flatMap((aggregate) => broken(UUID, "an aggregate", aggregate)),
  ];
  return first;
}

function wrongInInventory(resourceClass: string, record: unknown): readonly WrongValue[] {
  const path = `inventory ${resourceClass}`;
  if (typeof record !== "object" || record === null) {
    return [{ path, found: record, expected: "an object with the total" }];
  }
  const values: Readonly<Record<string, unknown>> = { total: undefined, ...record };
  const wrong = Object.entries(values)
    .filter(([key, value]) => value !== undefined || key === "total")
    .flatMap(([key, value]) => {
      const rule = INVENTORY_RULES[key];
      return rule === undefined
        ? [{ path: `${path}.${key}`, found: value, expected: `one of ${Object.keys(INVENTORY_RULES).join(", ")}` }]
        : broken(rule, `${path}.${key}`, value);
    });
  const units = wrong.length === 0 ? checkCombination(path, values) : [];
  return [...broken(CLASS, "a resource class", resourceClass), ...wrong, ...units];
}

/** What Placement refuses although each value is good. */
function checkCombination(path: string, { total, reserved }: Readonly<Record<string, unknown>>): readonly WrongValue[] {
  return broken(integerFrom(0, Number(total)), `${path}.reserved`, reserved ?? 0);
}

function broken([expected, holds]: Rule, path: string, found: unknown): WrongValue[] {
  return holds(found) ? [] : [{ path, found, expected }];
}
