import { PlacementError } from "../model/errors.js";
import type { ResourceClass, Trait } from "../model/records.js";
import type { Changing } from "./context.js";

/** Classes that are made by users have ids from here on. */
const FIRST_CUSTOM_CLASS = 10_000;
const CUSTOM = "CUSTOM_";

/** The name is taken. */
export class ResourceClassExists extends PlacementError {
  override readonly name = "ResourceClassExists";
}

/** A standard class or trait cannot be changed or deleted. */
export class CannotChangeStandard extends PlacementError {
  override readonly name = "CannotChangeStandard";
}

/** A class that an inventory is of, or a trait that a provider has. */
export class InUse extends PlacementError {
  override readonly name = "InUse";
}

/** @throws {ResourceClassExists} */
export function createClass({ state, unit }: Changing, name: string): ResourceClass {
  if (state.classes.has(name)) {
    throw new ResourceClassExists(name);
  }
  const id = state.nextId("classes", FIRST_CUSTOM_CLASS);
  const created: ResourceClass = { id, name, createdAt: unit.now, updatedAt: null, inventories: new Set() };
  unit.apply(
    () => state.classes.set(name, created),
    () => state.classes.delete(name),
  );
  const sql = "INSERT INTO placement_resource_classes (id, name, created_at) VALUES (?, ?, ?)";
  unit.write(sql, id, name, unit.now);
  return created;
}

/** @throws {ResourceClassExists | CannotChangeStandard} */
export function renameClass({ state, unit }: Changing, resourceClass: ResourceClass, name: string): void {
  if (resourceClass.id < FIRST_CUSTOM_CLASS) {
    throw new CannotChangeStandard(resourceClass.name);
  }
  const { name: before, updatedAt } = resourceClass;
  if (name === before) {
    return;
  }
  if (state.classes.has(name)) {
    throw new ResourceClassExists(name);
  }
  const set = (from: string, to: string, time: number | null) => {
    state.classes.delete(from);
    state.classes.set(to, resourceClass);
    resourceClass.name = to;
    resourceClass.updatedAt = time;
    for (const { provider } of resourceClass.inventories) {
      provider.fragments = null;
    }
  };
  unit.apply(
    () => set(before, name, unit.now),
    () => set(name, before, updatedAt),
  );
  const sql = "UPDATE placement_resource_classes SET name = ?, updated_at = ? WHERE id = ?";
  unit.write(sql, name, unit.now, resourceClass.id);
}

/** @throws {CannotChangeStandard | InUse} */
export function deleteClass({ state, unit }: Changing, resourceClass: ResourceClass): void {
  const { id, name, inventories } = resourceClass;
  if (id < FIRST_CUSTOM_CLASS) {
    throw new CannotChangeStandard(`Cannot delete standard resource class ${name}.`);
  }
  if (inventories.size > 0) {
    throw new InUse(`Cannot delete resource class ${name}. Class is in use in inventory.`);
  }
  unit.apply(
    () => state.classes.delete(name),
    () => state.classes.set(name, resourceClass),
  );
  unit.write("DELETE FROM placement_resource_classes WHERE id = ?", id);
}

export function createTrait({ state, unit }: Changing, name: string): Trait {
  const created: Trait = { id: state.nextId("traits"), name, createdAt: unit.now, providers: new Set() };
  unit.apply(
    () => state.traits.set(name, created),
    () => state.traits.delete(name),
  );
  unit.write("INSERT INTO placement_traits (id, name, created_at) VALUES (?, ?, ?)", created.id, name, unit.now);
  return created;
}

/** @throws {TraitNotFound | CannotChangeStandard | InUse} */
export function deleteTrait({ state, unit }: Changing, name: string): void {
  const trait = state.trait(name);
  if (!name.startsWith(CUSTOM)) {
    throw new CannotChangeStandard(`Cannot delete standard trait ${name}.`);
  }
  if (trait.providers.size > 0) {
    throw new InUse(`The trait ${name} is in use by a resource provider.`);
  }
  unit.apply(
    () => state.traits.delete(name),
    () => state.traits.set(name, trait),
  );
  unit.write("DELETE FROM placement_traits WHERE id = ?", trait.id);
}
