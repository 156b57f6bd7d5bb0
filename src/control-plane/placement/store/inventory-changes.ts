import { type Inventory, type InventoryAmounts, PlacementError, type Provider, type ResourceClass } from "../model.js";
import { inventoriesChange } from "./database.js";
import { incrementGeneration } from "./provider-changes.js";
import type { Changing } from "./state.js";

/** @throws {PlacementError} ResourceClassNotFound, Duplicate */
export function addInventory(
  changing: Changing,
  provider: Provider,
  className: string,
  amounts: InventoryAmounts,
): Inventory {
  const resourceClass = changing.state.resourceClass(className);
  if (provider.inventories.has(resourceClass)) {
    throw new PlacementError("Duplicate", "an inventory of this class exists");
  }
  const inventory = insert(changing, provider, resourceClass, amounts);
  write(changing.unit, [inventory]);
  incrementGeneration(changing.unit, provider);
  return inventory;
}

/** @throws {PlacementError} ResourceClassNotFound, InventoryWithResourceClassNotFound */
export function updateInventory(
  changing: Changing,
  provider: Provider,
  className: string,
  amounts: InventoryAmounts,
): Inventory {
  const inventory = provider.inventories.get(changing.state.resourceClass(className));
  if (inventory === undefined) {
    throw new PlacementError("InventoryWithResourceClassNotFound", `No inventory of class ${className} found.`);
  }
  change(changing, inventory, amounts);
  write(changing.unit, [inventory]);
  incrementGeneration(changing.unit, provider);
  return inventory;
}

/** @throws {PlacementError} ResourceClassNotFound, InventoryInUse, NotFound */
export function deleteInventory(changing: Changing, provider: Provider, className: string): void {
  const inventory = provider.inventories.get(changing.state.resourceClass(className));
  if (inventory === undefined) {
    throw new PlacementError("NotFound", `No inventory of class ${className} found for delete`);
  }
  if (inventory.used > 0) {
    throw inUse(className, provider);
  }
  remove(changing, inventory);
  incrementGeneration(changing.unit, provider);
}

/**
 * Replaces all inventories of a provider, by class name.
 * @throws {PlacementError} ResourceClassNotFound, InventoryInUse
 */
export function setInventories(
  changing: Changing,
  provider: Provider,
  inventories: ReadonlyMap<string, InventoryAmounts>,
): void {
  const requested = new Map<ResourceClass, InventoryAmounts>();
  for (const [name, amounts] of inventories) {
    requested.set(changing.state.resourceClass(name), amounts);
  }
  const unwanted = [...provider.inventories.values()].filter(({ resourceClass }) => !requested.has(resourceClass));
  const used = unwanted.filter((inventory) => inventory.used > 0);
  if (used.length > 0) {
    const classes = used.map(({ resourceClass }) => resourceClass).sort((a, b) => a.id - b.id);
    throw inUse(classes.map(({ name }) => name).join(", "), provider);
  }
  for (const inventory of unwanted) {
    remove(changing, inventory);
  }
  const written: Inventory[] = [];
  for (const [resourceClass, amounts] of requested) {
    const present = provider.inventories.get(resourceClass);
    if (present === undefined) {
      written.push(insert(changing, provider, resourceClass, amounts));
    } else {
      if (!hasAmounts(present, amounts)) {
        written.push(present);
      }
      change(changing, present, amounts);
    }
  }
  if (written.length < requested.size) {
    // For requested inventories with unchanged amounts, only the update time changes.
    changing.unit.write(
      "UPDATE placement_inventories SET updated_at = ? WHERE provider_id = ?",
      changing.unit.now,
      provider.id,
    );
  }
  if (written.length > 0) {
    write(changing.unit, written);
  }
  incrementGeneration(changing.unit, provider);
}

function inUse(classNames: string, { uuid }: Provider): PlacementError {
  return new PlacementError("InventoryInUse", `Inventory for '${classNames}' on resource provider '${uuid}' in use.`);
}

function hasAmounts({ amounts }: Inventory, expected: InventoryAmounts): boolean {
  return (
    amounts.total === expected.total &&
    amounts.reserved === expected.reserved &&
    amounts.min_unit === expected.min_unit &&
    amounts.max_unit === expected.max_unit &&
    amounts.step_size === expected.step_size &&
    amounts.allocation_ratio === expected.allocation_ratio
  );
}

function write(unit: Changing["unit"], inventories: readonly Inventory[]): void {
  const { sql, values } = inventoriesChange(inventories);
  unit.write(sql, ...values);
}

function insert(
  { unit }: Changing,
  provider: Provider,
  resourceClass: ResourceClass,
  amounts: InventoryAmounts,
): Inventory {
  const inventory: Inventory = { provider, resourceClass, amounts, used: 0, createdAt: unit.now, updatedAt: null };
  unit.apply(
    () => {
      provider.inventories.set(resourceClass, inventory);
      resourceClass.inventories.add(inventory);
    },
    () => {
      provider.inventories.delete(resourceClass);
      resourceClass.inventories.delete(inventory);
    },
  );
  return inventory;
}

function change({ unit }: Changing, inventory: Inventory, amounts: InventoryAmounts): void {
  const { amounts: before, updatedAt } = inventory;
  unit.apply(
    () => {
      inventory.amounts = amounts;
      inventory.updatedAt = unit.now;
    },
    () => {
      inventory.amounts = before;
      inventory.updatedAt = updatedAt;
    },
  );
}

function remove({ unit }: Changing, inventory: Inventory): void {
  const { provider, resourceClass } = inventory;
  unit.apply(
    () => {
      provider.inventories.delete(resourceClass);
      resourceClass.inventories.delete(inventory);
    },
    () => {
      provider.inventories.set(resourceClass, inventory);
      resourceClass.inventories.add(inventory);
    },
  );
  unit.write("DELETE FROM placement_inventories WHERE provider_id = ? AND class_id = ?", provider.id, resourceClass.id);
}
